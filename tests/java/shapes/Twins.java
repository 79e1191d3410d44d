/**
 * The same recursion under two different callers in turn: its frames are alike to the last byte, so
 * that outer frames of another moment fit. What runs at the bottom tells which caller is right.
 * Arguments: seconds, depth, rounds of work at the bottom.
 */
public final class Twins {
	static int depth = 1_500, rounds = 2_000;
	static volatile boolean left;

	static long down(int n) {
		if (n > 0)
			return down(n - 1) + 1;
		return left ? bottomOfLeft() : bottomOfRight();
	}

	static long bottomOfLeft() {
		return Shape.burn(rounds);
	}

	static long bottomOfRight() {
		return Shape.burn(rounds);
	}

	static long callLeft() {
		left = true;
		return down(depth);
	}

	static long callRight() {
		left = false;
		return down(depth);
	}

	static void run() {
		while (true) {
			Shape.sink = callLeft();
			Shape.sink = callRight();
		}
	}

	public static void main(String[] args) throws Exception {
		if (args.length > 2) {
			depth = Integer.parseInt(args[1]);
			rounds = Integer.parseInt(args[2]);
		}
		Shape.start("shape-twins", 64 << 20, Twins::run);
		Shape.stay(args);
	}
}
