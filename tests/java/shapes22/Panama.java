import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Java calls C and C calls Java without JNI (JDK 22 on, in 21 on trial): qsort(3), whose comparator is Java,
 * which sorts again, LEVELS deep; then work in Java, and in C by a down-call that may not come back to Java
 * (critical).
 */
public final class Panama {
	static final int LEVELS = 3;
	static final MethodHandle QSORT = down("qsort", FunctionDescriptor.ofVoid(ValueLayout.ADDRESS,
		ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
	static final MethodHandle MEMCHR = down("memchr", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
		ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG), critical());
	static final MemorySegment BYTES = Arena.global().allocate(1 << 20);
	static volatile long sink;
	static int level; // one thread only
	static MemorySegment comparator, two;

	static MethodHandle down(String name, FunctionDescriptor type, Linker.Option... options) {
		Linker linker = Linker.nativeLinker();
		return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), type, options);
	}

	/** JDK 21 calls it otherwise. */
	static Linker.Option critical() {
		Class<Linker.Option> c = Linker.Option.class;
		try {
			return (Linker.Option) c.getMethod("critical", boolean.class).invoke(null, false);
		} catch (ReflectiveOperationException e) {
			try {
				return (Linker.Option) c.getMethod("isTrivial").invoke(null);
			} catch (ReflectiveOperationException f) {
				throw new ExceptionInInitializerError(f);
			}
		}
	}

	static long burn(int rounds) {
		long x = rounds;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 7;
		sink = x;
		return x;
	}

	static void sort() throws Throwable {
		QSORT.invokeExact(two, 2L, 4L, comparator);
	}

	/** An exception would end the program. */
	static int compare(MemorySegment a, MemorySegment b) {
		try {
			if (++level < LEVELS)
				sort();
			else
				work();
			level--;
			return 0;
		} catch (Throwable e) {
			throw new IllegalStateException(e);
		}
	}

	static void work() throws Throwable {
		burn(20_000);
		sink += (long) MEMCHR.invokeExact(BYTES, 1, 1L << 19);
	}

	static void run() {
		try {
			while (true)
				sort();
		} catch (Throwable e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		MethodHandle compare = MethodHandles.lookup().findStatic(Panama.class, "compare",
			MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
		comparator = Linker.nativeLinker().upcallStub(compare, FunctionDescriptor.of(ValueLayout.JAVA_INT,
			ValueLayout.ADDRESS, ValueLayout.ADDRESS), Arena.global());
		two = Arena.global().allocate(8);
		Thread t = new Thread(Panama::run, "shape-panama");
		t.setDaemon(true);
		t.start();
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) * 1000 : Long.MAX_VALUE);
	}
}
