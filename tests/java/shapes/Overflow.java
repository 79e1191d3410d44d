/** Runs into StackOverflowError all the time, from compiled and interpreted frames. */
public final class Overflow {
	static int depth;

	static int fall(int x) {
		depth = x;
		return fall(x + 1) + x;
	}

	static void run() {
		while (true) {
			try {
				fall(0);
			} catch (StackOverflowError e) {
				Shape.sink += depth;
			}
			Shape.burn(100_000);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-overflow", 512 << 10, Overflow::run);
		Shape.stay(args);
	}
}
