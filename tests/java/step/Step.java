import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;
import java.util.zip.CRC32;

/**
 * A thread whose call sequences are known: single_step.c steps it through its instructions and
 * checks every stack against the table of calls there. Methods named n_* are compiled but never
 * inlined, x_* are always interpreted (CompileCommand in single_step.py); everything else is the
 * compilers' choice.
 */
public final class Step implements Runnable {
	static int sink;
	static long lsink;
	static Object osink;

	interface Shape {
		int area(int x);
	}

	static final class Square implements Shape {
		public int area(int x) {
			return x * x;
		}
	}

	static final class Circle implements Shape {
		public int area(int x) {
			return 3 * x * x;
		}
	}

	static final class Line implements Shape {
		public int area(int x) {
			return n_leaf(x, 1, 2);
		}
	}

	static final class Point implements Shape {
		public int area(int x) {
			return x_cold(x, 2);
		}
	}

	abstract static class Base {
		abstract int value(int x);
	}

	static final class One extends Base {
		int value(int x) {
			return x + 1;
		}
	}

	static final class Two extends Base {
		int value(int x) {
			return n_leaf(x, 2, 3);
		}
	}

	static final class Three extends Base {
		int value(int x) {
			return x ^ 3;
		}
	}

	static final Shape[] SHAPES = {new Square(), new Circle(), new Line(), new Point()};
	static final Base[] BASES = {new One(), new Two(), new Three()};
	static final Object LOCK = new Object();

	static int n_leaf(int a, int b, int c) {
		return a * b + c;
	}

	static int n_many(int a, long b, int c, double d, int e, long f, int g, Object h, int i, int j) {
		return (int) (a + b + c + d + e + f + g + i + j) + (h == null ? 0 : 1);
	}

	static int x_cold(int a, int b) {
		return a - b;
	}

	static int x_many(int a, long b, int c, double d, int e, long f, int g, Object h, int i, int j) {
		return n_many(a, b, c, d, e, f, g, h, i, j) + n_leaf(a, c, e);
	}

	static synchronized int x_locked(int a) {
		return n_leaf(a, a, a);
	}

	static int n_even(int n) {
		return n <= 0 ? 0 : n_odd(n - 1) + 1;
	}

	static int n_odd(int n) {
		return n <= 0 ? 1 : n_even(n - 1) + 2;
	}

	static int x_ping(int n) {
		return n <= 0 ? 0 : n_pong(n - 1) + 1;
	}

	static int n_pong(int n) {
		return n <= 0 ? 0 : x_ping(n - 1) + 1;
	}

	static int leaves(int i) {
		int s = 0;
		for (int k = 0; k < 20; k++)
			s += n_leaf(i, k, s);
		return s;
	}

	static int recursion(int i) {
		return n_even(14) + n_odd(9) + x_ping(12) + i;
	}

	static int shapes(int i) {
		int s = 0;
		for (int k = 0; k < 12; k++)
			s += SHAPES[(i + k) & 3].area(k);
		return s;
	}

	static int bases(int i) {
		int s = 0;
		for (int k = 0; k < 12; k++)
			s += BASES[(i + k) % 3].value(k);
		return s;
	}

	static int adapters(int i) {
		return x_many(i, 2L, 3, 4.0, 5, 6L, 7, LOCK, 8, 9) + x_cold(i, 3) + x_locked(i)
			+ n_many(i, 2L, 3, 4.0, 5, 6L, 7, null, 8, 9);
	}

	static int natives(int i) {
		lsink += System.nanoTime() + System.currentTimeMillis();
		int s = System.identityHashCode(LOCK) + new Object().hashCode();
		s += Array.getLength(INTS) + Array.getInt(INTS, i & 7);
		s += Thread.holdsLock(LOCK) ? 1 : 0;
		s += Runtime.getRuntime().availableProcessors();
		return s + (int) StrictMath.sin(i);
	}

	static final int[] INTS = new int[300];
	static final byte[] BYTES = new byte[5000], MORE_BYTES = new byte[5000];
	static final Object[] OBJECTS = new Object[64], MORE_OBJECTS = new Object[64];

	static int copies(int i) {
		System.arraycopy(BYTES, i & 15, MORE_BYTES, 3, 100 + (i & 1023));
		System.arraycopy(BYTES, 0, BYTES, 1 + (i & 3), 200);
		System.arraycopy(INTS, 0, INTS, 1, 100);
		System.arraycopy(OBJECTS, 0, MORE_OBJECTS, i & 7, 40);
		Arrays.fill(INTS, i & 63, 200, i);
		int s = Arrays.equals(BYTES, MORE_BYTES) ? 1 : 2;
		return s + n_check(i);
	}

	static int n_check(int i) {
		CRC32 crc = new CRC32();
		crc.update(BYTES, 0, 100 + (i & 255));
		return (int) crc.getValue();
	}

	static int n_throw(int i) {
		if (i >= 0)
			throw new IllegalStateException();
		return i;
	}

	static int n_pass(int i) {
		return n_throw(i) + 1;
	}

	static int x_pass(int i) {
		return n_pass(i) + 1;
	}

	static int n_null(int[] a) {
		return a.length;
	}

	static int exceptions(int i) {
		int s = 0;
		try {
			s = x_pass(i & 7);
		} catch (IllegalStateException e) {
			s++;
		}
		try {
			s += n_pass(i & 7);
		} catch (IllegalStateException e) {
			s++;
		}
		try {
			s += n_null((i & 3) == 0 ? null : INTS);
		} catch (NullPointerException e) {
			s++;
		}
		return s;
	}

	static int n_sync(int i) {
		synchronized (LOCK) {
			return n_leaf(i, 1, 1);
		}
	}

	synchronized int n_syncMethod(int i) {
		return n_leaf(i, 1, 1);
	}

	int locks(int i) {
		return n_sync(i) + n_syncMethod(i) + x_locked(i);
	}

	static int n_apply(IntUnaryOperator f, int i) {
		return f.applyAsInt(i);
	}

	static int target(int a, int b) {
		return n_leaf(a, b, 1);
	}

	static final MethodHandle TARGET;
	static final Method REFLECTED;
	static MethodHandle variable;

	static {
		try {
			MethodType type = MethodType.methodType(int.class, int.class, int.class);
			TARGET = MethodHandles.lookup().findStatic(Step.class, "target", type);
			variable = MethodHandles.insertArguments(TARGET, 1, 5);
			REFLECTED = Step.class.getDeclaredMethod("target", int.class, int.class);
		} catch (ReflectiveOperationException e) {
			throw new Error(e);
		}
	}

	static int lambdas(int i) throws Throwable {
		int s = n_apply(x -> n_leaf(x, i, 1), i) + n_apply(Step::twice, i);
		s += (int) TARGET.invokeExact(i, 3);
		s += (int) variable.invokeExact(i);
		return s + (Integer) REFLECTED.invoke(null, i, 4);
	}

	static int twice(int x) {
		return x_cold(x, -x);
	}

	static int allocate(int i) {
		Object[] a = new Object[20 + (i & 31)];
		for (int k = 0; k < a.length; k++)
			a[k] = new int[k * 4];
		osink = a;
		osink = a.clone();
		return a.length;
	}

	static int strings(int i) {
		String s = "step" + i + ":" + (i * 7L);
		return s.indexOf(":") + s.hashCode() + (s.equals("step1") ? 1 : 0) + s.lastIndexOf('s');
	}

	static int arithmetic(int i) {
		double d = Math.pow(i, 1.5) + Math.exp(i & 7) + Math.sin(i);
		long l = Math.multiplyExact(i * 977L, 31337L) + Long.divideUnsigned(i, 7) + i % 13;
		return (int) (d + l + Math.floorMod(i, 5));
	}

	/** Long enough a loop to be entered in the middle; short enough to come round again. */
	static int loop(int i) {
		int s = i;
		for (int k = 0; k < 150; k++)
			s = s * 31 + (k & i);
		return s;
	}

	int round(int i) throws Throwable {
		switch (i % 15) {
		case 0:
			return leaves(i);
		case 1:
			return recursion(i);
		case 2:
			return shapes(i);
		case 3:
			return bases(i);
		case 4:
			return adapters(i);
		case 5:
			return natives(i);
		case 6:
			return copies(i);
		case 7:
			return exceptions(i);
		case 8:
			return locks(i);
		case 9:
			return lambdas(i);
		case 10:
			return allocate(i);
		case 11:
			return strings(i);
		case 12:
			return arithmetic(i);
		case 13:
			return x_ping(6);
		default:
			return loop(i);
		}
	}

	public void run() {
		try {
			for (int i = 0;; i = i + 1 & 0xffffff) {
				sink += round(i);
				if (i == 200000 || i == 3000 && slow)
					System.out.println("ready");
			}
		} catch (Throwable t) {
			t.printStackTrace();
			System.exit(1);
		}
	}

	static boolean slow;

	public static void main(String[] args) throws Exception {
		slow = args.length > 0 && args[0].equals("slow");
		Arrays.fill(OBJECTS, "x");
		Thread t = new Thread(new Step(), "step");
		t.start();
		t.join();
	}
}
