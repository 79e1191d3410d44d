import java.util.concurrent.CountDownLatch;

/** Two threads that take turns in a monitor; prints the milliseconds that it waited by its own clock. */
public final class Contend {
	static final class Lock {}

	static final Lock lock = new Lock();
	static long waited;

	static void hold(long ms, CountDownLatch held) throws Exception {
		synchronized (lock) {
			held.countDown();
			Thread.sleep(ms);
		}
	}

	static void enter() {
		synchronized (lock) {
		}
	}

	static void turn(long ms) throws Exception {
		CountDownLatch held = new CountDownLatch(1);
		Thread t = new Thread(() -> {
			try {
				hold(ms, held);
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		});
		t.start();
		held.await();
		long begin = System.nanoTime();
		enter();
		waited += System.nanoTime() - begin;
		t.join();
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 5; i++)
			turn(100);
		synchronized (lock) {
			lock.wait(50);
		}
		System.out.println("waited " + waited / 1000000);
		if (args.length > 0)
			deadlock();
	}

	/* For ever: the JVM has to be ended. */
	static void deadlock() throws Exception {
		Object other = new Object();
		CountDownLatch both = new CountDownLatch(2);
		locker("first", lock, other, both);
		locker("second", other, lock, both);
		both.await();
		Thread.sleep(200);
		System.out.println("locked");
		System.out.flush();
		System.in.read();
		System.exit(0);
	}

	static void locker(String name, Object a, Object b, CountDownLatch both) {
		Thread t = new Thread(() -> {
			synchronized (a) {
				both.countDown();
				try {
					both.await();
				} catch (InterruptedException e) {
					return;
				}
				synchronized (b) {
				}
			}
		}, name);
		t.setDaemon(true);
		t.start();
	}
}
