/**
 * A storm of deoptimisations: each round's classes are new, get compiled for what they have seen, and then see
 * what they have not, one kind after the other: a branch never taken, another class, null, an index out of
 * bounds. Some of it at the bottom of frames that were compiled together.
 */
public final class Storm {
	public interface Shape2 {
		int area(int x);
	}

	public static final class Square implements Shape2 {
		public int area(int x) { return x * x; }
	}

	public static final class Circle implements Shape2 {
		public int area(int x) { return 3 * x * x; }
	}

	public static final class Round {
		static final int[] NUMBERS = new int[16];
		static volatile int sink;

		static int bottom(Shape2 s, Integer boxed, int index, int x) {
			int r = s.area(x);
			if (x == 7_777_777)
				r += rare(x);
			r += boxed;
			return r + NUMBERS[index];
		}

		static int rare(int x) {
			return (int) Shape.burn(2_000) + x;
		}

		static int middle(Shape2 s, Integer boxed, int index, int x) {
			int r = 0;
			for (int i = 0; i < 4; i++)
				r += bottom(s, boxed, index, x);
			return r;
		}

		static int top(Shape2 s, Integer boxed, int index, int x) {
			try {
				return middle(s, boxed, index, x) + 1;
			} catch (NullPointerException | ArrayIndexOutOfBoundsException e) {
				return (int) Shape.burn(2_000);
			}
		}

		public static void run() {
			Shape2 square = new Square(), circle = new Circle();
			int r = 0;
			for (int i = 0; i < 30_000; i++)
				r += top(square, 1, i & 15, i);
			for (int i = 0; i < 200; i++) {
				r += top(square, 1, 3, i % 4 == 0 ? 7_777_777 : i);
				r += top(circle, 1, 3, i);
				r += top(square, i % 8 == 0 ? null : 1, 3, i);
				r += top(square, 1, i % 16 == 0 ? 16 : 3, i);
			}
			sink = r;
		}
	}

	static void run() {
		try {
			while (true)
				new Copies(Storm.class).loadClass("Storm$Round").getMethod("run").invoke(null);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-storm-1", Storm::run);
		Shape.start("shape-storm-2", Storm::run);
		Shape.stay(args);
	}
}
