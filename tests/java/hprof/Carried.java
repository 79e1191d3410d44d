import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that spend three times as much in often() as in rarely(), and give their carrier to others in between.
 * usage: Carried THREADS ROUNDS; prints the process's CPU time and the time that passed, ms.
 */
public final class Carried {
	static volatile long sink;

	static int often(int seed) {
		int a = seed;
		for (int i = 0; i < 100_000; i++)
			a = a * 31 + (i ^ a >>> 3);
		return a;
	}

	static int rarely(int seed) {
		int a = seed;
		for (int i = 0; i < 100_000; i++)
			a = a * 31 + (i ^ a >>> 3);
		return a;
	}

	static void work(int rounds) {
		for (int i = 0; i < rounds; i++) {
			for (int k = 0; k < 3; k++)
				sink += often(i + k);
			sink += rarely(i);
			LockSupport.parkNanos(1);
		}
	}

	static long cpu() {
		return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
	}

	public static void main(String[] args) throws Exception {
		int rounds = Integer.parseInt(args[1]);
		Thread[] threads = new Thread[Integer.parseInt(args[0])];
		long cpu = cpu(), wall = System.nanoTime();
		for (int i = 0; i < threads.length; i++) // by its name, since it is compiled by older JDKs, too
			threads[i] = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> work(rounds));
		for (Thread t : threads)
			t.join();
		System.out.println("cpu " + (cpu() - cpu) / 1_000_000 + " wall " + (System.nanoTime() - wall) / 1_000_000);
	}
}
