import java.lang.invoke.CallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.util.function.IntUnaryOperator;

/** Method handles: direct, bound, filtered, guarded, spread, a call site that changes, lambdas. */
public final class Handles {
	static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
	static final MethodHandle DIRECT = find("work");
	static final MethodHandle BOUND = MethodHandles.insertArguments(find("two"), 0, 5);
	static final MethodHandle FILTERED = MethodHandles.filterReturnValue(DIRECT, find("work"));
	static final MethodHandle GUARDED = MethodHandles.guardWithTest(find("even"), DIRECT, FILTERED);
	static final MethodHandle SPREAD = find("two").asSpreader(Object[].class, 2);
	static final MutableCallSite SITE = new MutableCallSite(DIRECT);
	static final MethodHandle DYNAMIC = ((CallSite) SITE).dynamicInvoker();
	static MethodHandle changing = DIRECT; // not constant: through the linker's stubs

	static MethodHandle find(String name) {
		try {
			Class<?> result = name.equals("even") ? boolean.class : int.class;
			MethodType type = name.equals("two") ? MethodType.methodType(result, int.class, int.class)
				: MethodType.methodType(result, int.class);
			return LOOKUP.findStatic(Handles.class, name, type);
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	static int work(int x) {
		return (int) Shape.burn(200 + (x & 7));
	}

	static int two(int a, int b) {
		return work(a) + b;
	}

	static boolean even(int x) {
		return (x & 1) == 0;
	}

	static int once(int x) throws Throwable {
		int r = (int) DIRECT.invokeExact(x);
		r += (int) BOUND.invokeExact(x);
		r += (int) GUARDED.invokeExact(x);
		r += (int) SPREAD.invoke(new Object[] {x, 3});
		r += (int) DYNAMIC.invokeExact(x);
		r += (int) changing.invokeExact(x);
		IntUnaryOperator f = y -> work(y) + x;
		r += f.andThen(y -> y ^ 5).applyAsInt(x);
		return r;
	}

	static void run() {
		try {
			MethodHandle[] all = {DIRECT, BOUND, FILTERED, GUARDED};
			for (int i = 0;; i++) {
				Shape.sink += once(i);
				changing = all[i & 3];
				if (i % 20_000 == 0)
					SITE.setTarget(all[i / 20_000 & 3]);
			}
		} catch (Throwable e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-handles", Handles::run);
		Shape.stay(args);
	}
}
