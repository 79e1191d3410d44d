/**
 * Java and C take turns on one stack: rounds * (Java down, C step, Java up), then work in Java or
 * in C. Another thread is the library's own, attached by AttachCurrentThread.
 *
 * Run with -Dshapes.library=FILE, made of jni_shapes.c beside this file
 */
public final class Jni {
	static native long step(int left);

	static native long nativeBurn(int rounds);

	/** Starts a thread that attaches itself and calls attached() for ever. */
	static native void startAttached();

	static long down(int left) {
		return step(left) + 1;
	}

	static long up(int left) {
		if (left > 0)
			return down(left - 1) + 1;
		return Shape.burn(200_000) + nativeBurn(200_000);
	}

	static void attached() {
		Shape.sink += down(2);
	}

	static void run() {
		while (true)
			Shape.sink += down(5);
	}

	public static void main(String[] args) throws Exception {
		System.load(System.getProperty("shapes.library"));
		Shape.start("shape-jni", Jni::run);
		startAttached();
		Shape.stay(args);
	}
}
