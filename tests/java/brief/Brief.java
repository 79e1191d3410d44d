import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads that live for a given CPU time, a given number of them at once, beside one that never ends. All spend it in
 * burn(), by way of brief() or lasting(), and count the rounds: the shares of the two kinds are known.
 *
 * Brief platform|virtual|both LIFE_US AT_ONCE LASTING [DEPTH [IDLE]]: LASTING threads that last, 0 or 1; the brief ones work
 * below DEPTH calls more; IDLE threads sleep. "mark" on standard input: prints "rounds BRIEF LASTING LIVES".
 */
public final class Brief {
	static final int CHUNK = 20_000; /* rounds, some 20 us */
	static final AtomicLong briefRounds = new AtomicLong(), lastingRounds = new AtomicLong(), lives = new AtomicLong();
	static volatile long sink;

	static long burn(int rounds) {
		long x = rounds;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 7;
		return x;
	}

	static void brief(int chunks) {
		for (int i = 0; i < chunks; i++)
			sink += burn(CHUNK);
		briefRounds.addAndGet((long)chunks * CHUNK);
	}

	static void deep(int depth, int chunks) {
		if (depth > 0)
			deep(depth - 1, chunks);
		else
			brief(chunks);
		sink++;
	}

	static void lasting() {
		for (;;) {
			sink += burn(CHUNK);
			lastingRounds.addAndGet(CHUNK);
		}
	}

	/** Chunks in so many us of CPU time; burn() is compiled afterwards. */
	static int calibrate(int lifeUs) {
		ThreadMXBean bean = ManagementFactory.getThreadMXBean();
		double best = Double.MAX_VALUE;
		for (int i = 0; i < 40; i++) {
			long begin = bean.getCurrentThreadCpuTime();
			for (int j = 0; j < 50; j++)
				sink += burn(CHUNK);
			best = Math.min(best, (bean.getCurrentThreadCpuTime() - begin) / 50.0);
		}
		return (int)Math.max(1, Math.round(lifeUs * 1000.0 / best));
	}

	static void start(boolean virtual, Runnable body, Method startVirtual) throws Exception {
		if (virtual)
			startVirtual.invoke(null, body);
		else
			new Thread(body, "brief").start();
	}

	static void spawn(String kind, int chunks, int atOnce, int depth) {
		Semaphore room = new Semaphore(atOnce);
		Runnable body = () -> {
			try {
				deep(depth, chunks);
			} finally {
				lives.incrementAndGet();
				room.release();
			}
		};
		try {
			/* Not in JDK 17. */
			Method startVirtual = kind.equals("platform") ? null
				: Thread.class.getMethod("startVirtualThread", Runnable.class);
			for (long n = 0;; n++) {
				room.acquire();
				start(kind.equals("virtual") || kind.equals("both") && n % 2 == 0, body, startVirtual);
			}
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	static void sleep() {
		try {
			Thread.sleep(Long.MAX_VALUE);
		} catch (InterruptedException e) {
			/* ends */
		}
	}

	public static void main(String[] args) throws Exception {
		String kind = args[0];
		int chunks = calibrate(Integer.parseInt(args[1])), atOnce = Integer.parseInt(args[2]);
		int depth = args.length > 4 ? Integer.parseInt(args[4]) : 0;
		int idle = args.length > 5 ? Integer.parseInt(args[5]) : 0;

		for (int i = 0; i < idle; i++) {
			Thread t = new Thread(Brief::sleep, "idle");
			t.setDaemon(true);
			t.start();
		}
		for (int i = 0; i < Integer.parseInt(args[3]); i++)
			new Thread(Brief::lasting, "lasting").start();
		new Thread(() -> spawn(kind, chunks, atOnce, depth), "spawner").start();
		Thread.sleep(1500);
		System.out.println("ready " + chunks);
		for (;;) {
			int c = System.in.read();
			if (c < 0)
				System.exit(0);
			if (c == '\n') {
				System.out.println("rounds " + briefRounds.get() + " " + lastingRounds.get() + " " + lives.get());
				System.out.flush();
			}
		}
	}
}
