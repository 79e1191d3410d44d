import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads (JDK 21 on): one that never yielded, some that yield with frames below (the outer
 * frames stay in the heap, behind the return barrier), one pinned by a monitor, nested starts.
 */
public final class Virtual {
	static volatile long sink;
	static final Object MONITOR = new Object();
	static final ReentrantLock LOCK = new ReentrantLock();

	static long burn(int rounds) {
		long x = rounds;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 7;
		sink = x;
		return x;
	}

	static void fresh() {
		while (true)
			burn(1_000_000);
	}

	/** Yields at the bottom of some frames, then works there: returns go through the barrier. */
	static long yielding(int depth) {
		if (depth > 0)
			return yielding(depth - 1) + 1;
		LockSupport.parkNanos(1);
		return work();
	}

	static long work() {
		return burn(300_000);
	}

	static void yields() {
		while (true)
			sink += yielding(20);
	}

	static void pinned() {
		synchronized (MONITOR) {
			while (true) {
				burn(300_000);
				Thread.yield();
			}
		}
	}

	static void nested() {
		try {
			while (true)
				Thread.ofVirtual().name("nested").start(() -> sink += yielding(3)).join();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	static void locking() {
		while (true) {
			LOCK.lock();
			try {
				work();
			} finally {
				LOCK.unlock();
			}
			Thread.yield();
		}
	}

	public static void main(String[] args) throws Exception {
		Thread.ofVirtual().name("fresh").start(Virtual::fresh);
		Thread.ofVirtual().name("yields").start(Virtual::yields);
		Thread.ofVirtual().start(Virtual::yields);
		Thread.ofVirtual().name("pinned").start(Virtual::pinned);
		Thread.ofVirtual().name("locking-1").start(Virtual::locking);
		Thread.ofVirtual().name("locking-2").start(Virtual::locking);
		Thread.ofVirtual().name("nested").start(Virtual::nested);
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) * 1000 : Long.MAX_VALUE);
	}
}
