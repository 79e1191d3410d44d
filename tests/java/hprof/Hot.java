import java.lang.management.ManagementFactory;

/** Computes for as many seconds of CPU time as it is told in a loop that has no safepoint when it is compiled. */
public final class Hot {
	static volatile long sink;

	static int counted(int seed) {
		int a = seed;
		for (int i = 0; i < 200_000; i++)
			a = a * 31 + (i ^ a >>> 3);
		return a;
	}

	static void round(int i) {
		sink += counted(i);
	}

	public static void main(String[] args) {
		Thread asleep = new Thread(() -> {
			try {
				Thread.sleep(1_000_000);
			} catch (InterruptedException e) {
				return;
			}
		}, "asleep");
		asleep.setDaemon(true);
		asleep.start();
		long end = Long.parseLong(args[0]) * 1_000_000_000L;
		for (int i = 0; ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < end; i++)
			round(i);
	}
}
