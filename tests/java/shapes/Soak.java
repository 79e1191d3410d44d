/**
 * All that comes and goes, for hours: classes with their code, threads, code that is thrown away and compiled
 * again. What is alive at once is bounded.
 */
public final class Soak {
	private static void threads(String name) {
		try {
			for (int i = 0;; i++) {
				Thread[] round = new Thread[4];
				for (int k = 0; k < round.length; k++)
					round[k] = Shape.start(name + k, () -> Leaf.leaf(500_000));
				for (Thread t : round)
					t.join();
			}
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-unload", () -> Unload.run(0, 1));
		Shape.start("shape-deopt", Deopt::rounds);
		Shape.start("shape-threads", () -> threads("shape-short-"));
		Shape.stay(args);
	}
}
