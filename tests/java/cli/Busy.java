import java.io.FileInputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that computes, one that is in the kernel, some that wait; until its input ends. "sometimes": the first two rest most of
 * the time, so that they leave the CPUs to others; "idle": without these two.
 */
public class Busy {
	static final int ROUNDS = 4, REST_MS = 96;
	static volatile long sink;

	static void compute() {
		long sum = 0;
		for (int i = 0; i < 1_000_000; i++)
			sum += Long.rotateLeft(sum ^ i, 7);
		sink = sum;
	}

	static void read() {
		byte[] block = new byte[1 << 16];
		try (FileInputStream in = new FileInputStream("/dev/zero")) {
			for (int i = 0; i < 100 && in.read(block) > 0; i++)
				sink++;
		} catch (java.io.IOException e) {
			throw new IllegalStateException(e);
		}
	}

	static void repeat(Runnable body, boolean rests) {
		while (true) {
			for (int i = 0; i < ROUNDS; i++)
				body.run();
			if (rests)
				LockSupport.parkNanos(REST_MS * 1_000_000L);
		}
	}

	static void start(String name, Runnable body) {
		Thread t = new Thread(body, name);
		t.setDaemon(true);
		t.start();
	}

	static void waitDeep(int depth, CountDownLatch waiting) {
		if (depth > 0) {
			waitDeep(depth - 1, waiting);
		} else {
			waiting.countDown();
			while (true)
				LockSupport.park();
		}
	}

	public static void main(String[] args) throws Exception {
		CountDownLatch waiting = new CountDownLatch(3);
		boolean rests = args.length > 0 && args[0].equals("sometimes");
		if (args.length == 0 || rests) {
			start("computes", () -> repeat(Busy::compute, rests));
			start("reads", () -> repeat(Busy::read, rests));
		}
		for (int i = 0; i < 3; i++) {
			int depth = 10 * i;
			start("waits-" + i, () -> waitDeep(depth, waiting));
		}
		waiting.await();
		Thread.sleep(200);
		System.out.println("ready");
		System.out.flush();
		while (System.in.read() >= 0)
			sink++;
	}
}
