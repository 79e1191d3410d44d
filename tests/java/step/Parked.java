import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.net.ServerSocket;
import java.nio.channels.Selector;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

/** Threads that stand still in many ways; stack_dump.py compares their stacks with the JVM's own dump. */
public final class Parked {
	static final Object NEVER = new Object(), HELD = new Object();
	static final CountDownLatch LATCH = new CountDownLatch(1);
	static final ReentrantLock LOCK = new ReentrantLock();
	static int warm = 1;
	static long sink;

	interface Body {
		void run() throws Throwable;
	}

	static Thread start(String name, Body body) {
		Thread t = new Thread(null, () -> {
			try {
				body.run();
			} catch (Throwable e) {
				e.printStackTrace();
				Runtime.getRuntime().halt(1);
			}
		}, "p-" + name, 64L << 20);
		t.setDaemon(true);
		t.start();
		return t;
	}

	/** Parks unless it is only warming up. */
	static void stand() {
		if (warm == 0)
			while (true)
				LockSupport.park(NEVER);
	}

	static int deep(int n) {
		if (n == 0) {
			stand();
			return 1;
		}
		return deep(n - 1) + 1;
	}

	static long many(int a, long b, double c, Object d, int e, int f, int g, int h, long i) {
		stand();
		return a + b + (long) c + e + f + g + h + i;
	}

	static long middle(int x) {
		long s = 0;
		for (int k = 0; k < 3; k++)
			s += many(x, k, 1.5, NEVER, 1, 2, 3, 4, 5);
		return s;
	}

	static class Item implements Comparable<Item> {
		final int n;

		Item(int n) {
			this.n = n;
		}

		public int compareTo(Item other) {
			stand();
			return Integer.compare(n, other.n);
		}
	}

	static void sort() {
		Item[] items = new Item[40];
		for (int i = 0; i < items.length; i++)
			items[i] = new Item(i * 7919 % 41);
		Arrays.sort(items);
		sink += items[3].n;
	}

	static void streams() {
		sink += IntStream.range(0, 5).boxed().map(x -> x + 1).filter(x -> {
			stand();
			return x > 2;
		}).mapToLong(x -> x).sum();
	}

	public static int reflected(int x) {
		stand();
		return x;
	}

	static class Initialised {
		static int value = 1;
		static {
			stand();
		}
	}

	static class PinnedInitialiser {
		static int value = 1;
		static {
			stand();
		}
	}

	static void synchronisedDeep(int n) {
		synchronized (new Object()) {
			if (n > 0)
				synchronisedDeep(n - 1);
			else
				stand();
		}
	}

	static void throughProxy() {
		Runnable r = (Runnable) Proxy.newProxyInstance(Parked.class.getClassLoader(),
			new Class<?>[] {Runnable.class}, (p, m, a) -> {
				stand();
				return null;
			});
		r.run();
	}

	static void throughHandle() throws Throwable {
		MethodHandle h = MethodHandles.lookup().findStatic(
			Parked.class, "reflected", MethodType.methodType(int.class, int.class));
		h = MethodHandles.insertArguments(h, 0, 3);
		sink += (int) h.invokeExact();
	}

	static void throughReflection() throws Throwable {
		sink += (Integer) Parked.class.getMethod("reflected", int.class).invoke(null, 3);
	}

	static long osr(int n) {
		long s = 0;
		for (int i = 0; i < n; i++) {
			s += i ^ s;
			if (i == n - 1)
				stand();
		}
		return s;
	}

	static void warmUp() throws Throwable {
		for (int i = 0; i < 20000; i++) {
			deep(5);
			middle(i);
			if (i % 20 == 0) {
				sort();
				streams();
				synchronisedDeep(3);
			}
		}
		throughReflection();
		throughHandle();
		sink += osr(10);
	}

	/** 21 and later; compiled on older JDKs too. */
	static void startVirtual() throws Throwable {
		try {
			Thread.class.getMethod("startVirtualThread", Runnable.class);
		} catch (NoSuchMethodException e) {
			return;
		}
		Runnable pinned = () -> sink += PinnedInitialiser.value;
		Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, pinned);
		Runnable yielded = () -> {
			try {
				Thread.sleep(50); /* frames go to the heap and come back */
			} catch (InterruptedException e) {
				return;
			}
			sink += yieldedDeep(8);
		};
		Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, yielded);
		Runnable frozen = () -> sink += frozenDeep(20);
		Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, frozen);
	}

	static class FrozenInitialiser {
		static int value = 1;
		static {
			stand();
		}
	}

	/** Yields deep down, and stands there: the outer frames are still in the heap. */
	static int frozenDeep(int n) {
		if (n > 0)
			return frozenDeep(n - 1) + 1;
		try {
			Thread.sleep(50);
		} catch (InterruptedException e) {
			return 0;
		}
		return FrozenInitialiser.value;
	}

	static class YieldedInitialiser {
		static int value = 1;
		static {
			stand();
		}
	}

	static int yieldedDeep(int n) {
		return n > 0 ? yieldedDeep(n - 1) + 1 : YieldedInitialiser.value;
	}

	public static void main(String[] args) throws Throwable {
		warmUp();
		warm = 0;
		LOCK.lock();
		start("park", Parked::stand);
		start("sleep", () -> Thread.sleep(1L << 40));
		start("wait", () -> {
			synchronized (NEVER) {
				NEVER.wait();
			}
		});
		start("waitTimed", () -> {
			Object o = new Object();
			synchronized (o) {
				o.wait(1L << 40);
			}
		});
		start("held", () -> {
			synchronized (HELD) {
				stand();
			}
		});
		Thread.sleep(100);
		start("monitor", () -> {
			synchronized (HELD) {
				sink++;
			}
		});
		start("latch", LATCH::await);
		start("lock", LOCK::lock);
		ServerSocket server = new ServerSocket(0);
		start("accept", server::accept);
		start("select", () -> Selector.open().select());
		InputStream stdin = System.in;
		start("read", stdin::read);
		PipedInputStream pipe = new PipedInputStream(new PipedOutputStream());
		start("pipe", pipe::read);
		start("deep", () -> deep(1000));
		start("deepest", () -> deep(8000));
		start("compiled", () -> middle(3));
		start("sort", Parked::sort);
		start("stream", Parked::streams);
		start("reflection", Parked::throughReflection);
		start("handle", Parked::throughHandle);
		start("proxy", Parked::throughProxy);
		start("initialiser", () -> sink += Initialised.value);
		start("initialiserWaits", () -> {
			Thread.sleep(300);
			sink += Initialised.value;
		});
		start("synchronised", () -> synchronisedDeep(30));
		start("osr", () -> osr(300000));
		Callable<Integer> call = () -> deep(3);
		start("callable", () -> call.call());
		Thread joined = start("joined", Parked::stand);
		start("join", joined::join);
		startVirtual();
		Thread.sleep(1500);
		System.out.println("ready");
		stand();
	}
}
