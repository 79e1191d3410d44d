/** 10,000 frames of one method, the work at the bottom. */
public final class Deep {
	static final int DEPTH = 10_000;

	static long down(int left) {
		if (left == 0)
			return bottom();
		return down(left - 1) * 31 + left;
	}

	static long bottom() {
		long r = 0;
		for (int i = 0; i < 300; i++)
			r += Shape.burn(100_000);
		return r;
	}

	static void run() {
		while (true)
			Shape.sink = down(DEPTH);
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-deep", 256 << 20, Deep::run);
		Shape.stay(args);
	}
}
