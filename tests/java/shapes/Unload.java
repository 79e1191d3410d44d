import java.lang.reflect.Method;

/**
 * Classes that come, get compiled, and go: throwaway loaders, each with a class GenN whose methods
 * aN, bN, cN call each other. A stack in which two numbers meet has a wrong name in it.
 *
 * Run with -XX:ReservedCodeCacheSize=12m, so that the code cache is swept as well.
 */
public final class Unload {
	static byte[] generation(int n) {
		ClassFile c = new ClassFile("Gen" + n);
		c.forwarder("a" + n, "Gen" + n, "b" + n, 1);
		c.forwarder("b" + n, "Gen" + n, "c" + n, 1);
		c.forwarder("c" + n, "Leaf", "leaf", 1);
		return c.bytes();
	}

	static void run(int first, int step) {
		try {
			for (int n = first;; n += step) {
				Method a = new ClassFile.Loader().define(generation(n)).getMethod("a" + n, int.class);
				for (int i = 0; i < 3_000; i++)
					a.invoke(null, 300);
				if (n % 64 == 0)
					System.gc();
			}
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-unload-1", () -> run(0, 2));
		Shape.start("shape-unload-2", () -> run(1, 2));
		Shape.stay(args);
	}
}
