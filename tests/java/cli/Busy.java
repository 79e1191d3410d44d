import java.io.FileInputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** A thread that computes, one that is in the kernel, some that wait; until its input ends. */
public class Busy {
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
			while (in.read(block) > 0)
				sink++;
		} catch (java.io.IOException e) {
			throw new IllegalStateException(e);
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
		if (args.length == 0) {
			start("computes", () -> { while (true) compute(); });
			start("reads", Busy::read);
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
