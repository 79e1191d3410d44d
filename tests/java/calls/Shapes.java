import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Methods of every shape that javac makes: each result is checked, and what throws is counted. For Java 8 and later. */
public class Shapes {
	static int thrown;

	static int branches(int a, long b, double c, String d) {
		int n = a > 0 ? 1 : 2;
		while (n < a)
			n += b > n ? 3 : 5;
		do {
			n--;
			if (n == 7)
				continue;
			if (d == null || n % 11 == 3)
				break;
		} while (n > 0 && c < n);
		return n;
	}

	static int tables(int a) {
		switch (a) {
		case -1: return 5;
		case 0:
		case 1: a += 2;
		case 2: return a * 3;
		case 4: throw new IllegalArgumentException();
		default: return -a;
		}
	}

	static String lookups(String s, int a) {
		switch (s) {
		case "one": return s + a;
		case "two":
			switch (a) {
			case -1000: return "low";
			case 1000000: return "high";
			default: return "none";
			}
		default: return null;
		}
	}

	static int finals(int a) {
		try {
			try {
				if (a == 1)
					throw new IllegalStateException();
				if (a == 2)
					return 20;
				a += 10;
			} finally {
				thrown++;
			}
		} catch (IllegalStateException e) {
			return 1;
		} finally {
			a++;
		}
		return a;
	}

	synchronized int locked(Object other, int a) {
		synchronized (other) {
			synchronized (this) {
				if (a < 0)
					throw new IllegalStateException();
				return a;
			}
		}
	}

	static final class Made {
		final int n;

		Made(int a, boolean b, Object... rest) {
			this(b ? a + new int[] {1, 2}[1] : check(a), new Made(3));
			thrown += rest.length;
		}

		Made(int a, Made other) {
			super();
			n = a + other.n;
			if (n == 100)
				throw new IllegalStateException();
		}

		Made(int a) {
			n = a;
		}
	}

	static class Fails {
		Fails(int a) {
			if (a == 0)
				throw new IllegalStateException();
		}
	}

	/** Its own constructor is left before super() has returned. */
	static class FailsToo extends Fails {
		FailsToo(int a) {
			super(check(a));
		}
	}

	static class FailsThree extends FailsToo {
		FailsThree() {
			super(0);
		}
	}

	static int check(int a) {
		if (a == -1)
			throw new IllegalArgumentException();
		return a;
	}

	interface Shape {
		default int area() {
			return side() * side();
		}

		int side();

		static Shape of(int a) {
			return () -> a;
		}
	}

	enum Kind implements Shape {
		SMALL {
			@Override public int side() {
				return 1;
			}
		},
		LARGE {
			@Override public int side() {
				return 10;
			}
		};
	}

	static <T extends Comparable<T>> List<T> sorted(List<T> in) {
		List<T> out = new ArrayList<>(in);
		out.sort((a, b) -> b.compareTo(a));
		return out;
	}

	static long sum(long[] a, float... more) {
		long n = 0;
		for (long v : a)
			n += v;
		for (float f : more)
			n += (long) f;
		return n;
	}

	static int deep(int n) {
		return n == 0 ? 0 : 1 + deep(n - 1);
	}

	static int endless(int n) {
		return endless(n + 1) + 1;
	}

	static void is(Object got, Object wanted) {
		if (!got.equals(wanted))
			throw new AssertionError(got + ", not " + wanted);
	}

	static void fails(Runnable r) {
		int before = thrown;
		try {
			r.run();
		} catch (IllegalStateException | IllegalArgumentException e) {
			thrown++;
		}
		is(thrown, before + 1);
	}

	static void round() {
		is(branches(100, 5, 2.0, "x") + branches(3, 2, 1e9, null), 94);
		is(tables(-1) + tables(0) + tables(2) + tables(9), 8);
		fails(() -> tables(4));
		is(lookups("one", 1) + lookups("two", -1000) + lookups("two", 2) + lookups("x", 1), "one1lownonenull");
		is(finals(1) + finals(2) + finals(3), 35);
		is(new Shapes().locked("", 5), 5);
		fails(() -> new Shapes().locked("", -5));
		is(new Made(5, true).n + new Made(6, false, 1, 2).n, 19);
		fails(() -> new Made(97, false));
		fails(() -> new Made(-1, false));
		for (int i = 0; i < 5; i++) {
			fails(FailsThree::new);
			fails(() -> new FailsToo(-1));
		}
		is(Shape.of(4).area() + Kind.SMALL.area() + Kind.LARGE.area(), 117);
		is(sorted(Arrays.asList("a", "c", "b")).toString(), "[c, b, a]");
		is(sum(new long[] {1, 2, 3}, 4, 5.5f), 15L);
		is(deep(5000), 5000);
	}

	static void overflow() {
		try {
			endless(0);
		} catch (StackOverflowError e) {
			thrown++;
		}
	}
}
