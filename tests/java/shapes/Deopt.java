/**
 * A compiled frame is deoptimised while it is on the stack: outer() is compiled for the only
 * subclass of Base; inner(), which is not inlined, loads a second one and burns CPU time under the
 * frame whose return address is now the deoptimisation handler. Each round has classes of its own.
 *
 * Run with -XX:CompileCommand=dontinline,Deopt$Round::inner
 */
public final class Deopt {
	public abstract static class Base {
		public abstract int f(int x);
	}

	public static final class One extends Base {
		public int f(int x) { return x * 31; }
	}

	public static final class Two extends Base {
		public int f(int x) { return x + 17; }
	}

	public static final class Round {
		public static long outer(Base b, boolean last) throws Exception {
			long r = b.f(1);
			r += inner(last);
			return r + b.f(2);
		}

		static long inner(boolean last) throws Exception {
			if (!last)
				return 1;
			Class.forName("Deopt$Two", true, Round.class.getClassLoader());
			return spin();
		}

		static long spin() {
			long r = 0;
			for (int i = 0; i < 200; i++)
				r += Shape.burn(100_000);
			return r;
		}

		public static void run() throws Exception {
			Base one = new One();
			for (int i = 0; i < 60_000; i++)
				outer(one, false);
			outer(one, true);
		}
	}

	/** For ever. */
	static void rounds() {
		try {
			while (true)
				new Copies(Deopt.class).loadClass("Deopt$Round").getMethod("run").invoke(null);
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-deopt", Deopt::rounds);
		Shape.stay(args);
	}
}
