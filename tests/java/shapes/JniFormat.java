/**
 * Two ways down to one native method that formats text below a frame larger than any copy of a stack. Each call takes
 * microseconds: what is read of a stack a moment later may be the other way's.
 *
 * Run with -Dshapes.library=FILE, made of jni_shapes.c beside this file
 */
public final class JniFormat {
	static native int format(boolean left);

	static int left() {
		return belowLeft() + 1;
	}

	static int belowLeft() {
		return format(true) + 1;
	}

	static int right() {
		return belowRight() + 1;
	}

	static int belowRight() {
		return format(false) + 1;
	}

	static void run() {
		while (true)
			Shape.sink += left() + right();
	}

	public static void main(String[] args) throws Exception {
		System.load(System.getProperty("shapes.library"));
		Shape.start("shape-format", JniFormat::run);
		Shape.stay(args);
	}
}
