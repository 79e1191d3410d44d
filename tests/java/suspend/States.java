import java.util.concurrent.Semaphore;

/**
 * A thread that computes 40 ms, waits for a monitor 30 ms and sleeps 30 ms, again and again; a line on the
 * input is answered with the ns that it spent so, up to now. Others wait in Object.wait(), park and read.
 */
public class States {
	static final Object lock = new Object(), never = new Object();
	static final Semaphore wanted = new Semaphore(0), held = new Semaphore(0);
	static final int RUNS = 0, WAITS = 1, SLEEPS = 2;
	static final long[] spent = new long[3];
	static int phase = RUNS;
	static long since = System.nanoTime();
	static volatile long sink;

	static void begin(int next) {
		synchronized (spent) {
			long now = System.nanoTime();
			spent[phase] += now - since;
			since = now;
			phase = next;
		}
	}

	static void compute(long until) {
		long x = 1;
		while (System.nanoTime() < until)
			for (int i = 0; i < 1000; i++)
				x = x * 31 + i;
		sink = x;
	}

	static void enter() {
		synchronized (lock) {
			sink++;
		}
	}

	static void mixed() throws InterruptedException {
		while (true) {
			begin(RUNS);
			compute(System.nanoTime() + 40_000_000);
			wanted.release();
			held.acquire();
			begin(WAITS);
			enter();
			begin(SLEEPS);
			Thread.sleep(30);
		}
	}

	static void hold() throws InterruptedException {
		while (true) {
			wanted.acquire();
			synchronized (lock) {
				held.release();
				Thread.sleep(30);
			}
		}
	}

	static void waitForever() throws InterruptedException {
		synchronized (never) {
			while (true)
				never.wait();
		}
	}

	interface Body {
		void run() throws InterruptedException;
	}

	static void start(String name, Body body) {
		Thread t = new Thread(() -> {
			try {
				body.run();
			} catch (InterruptedException e) {
				throw new IllegalStateException(e);
			}
		}, name);
		t.setDaemon(true);
		t.start();
	}

	public static void main(String[] args) throws Exception {
		start("mixed", States::mixed);
		start("holder", States::hold);
		start("waits", States::waitForever);
		start("parks", () -> { while (true) java.util.concurrent.locks.LockSupport.park(); });
		start("sleeps", () -> { while (true) Thread.sleep(1_000_000); });
		Thread.sleep(500);
		System.out.println("ready");
		for (int c = System.in.read(); c >= 0; c = System.in.read()) {
			if (c != '\n')
				continue;
			synchronized (spent) {
				begin(phase);
				System.out.println("spent " + spent[0] + " " + spent[1] + " " + spent[2]);
			}
		}
	}
}
