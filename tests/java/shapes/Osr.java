/** A method that is entered once and loops for ever: interpreted, then C1, then C2, on the stack. */
public final class Osr {
	static int[] data = new int[4096];

	static void once() {
		long sum = 0;
		for (long round = 0;; round++) {
			for (int i = 0; i < data.length; i++) {
				data[i] += (int) round ^ i;
				sum += data[i];
			}
			if ((round & 1023) == 0)
				sum += step(round);
			Shape.sink = sum;
		}
	}

	static long step(long round) {
		return Shape.burn(200_000) + round;
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-osr", Osr::once);
		Shape.stay(args);
	}
}
