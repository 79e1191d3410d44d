/** Known numbers of calls on two threads, some of which an exception ends. */
public final class Calls implements Runnable {
	static volatile long sink;

	static long leaf(int i) {
		long x = i;
		for (int k = 0; k < 200; k++)
			x = x * 31 + k;
		return x;
	}

	static void thrower(int i) {
		if (i % 2 == 0)
			throw new IllegalStateException();
		sink += i;
	}

	public void run() {
		for (int i = 0; i < 1000; i++) {
			sink += leaf(i);
			try {
				thrower(i);
			} catch (IllegalStateException e) {
				sink++;
			}
		}
	}

	public static void main(String[] args) throws Exception {
		Thread t = new Thread(new Calls());
		t.start();
		new Calls().run();
		t.join();
	}
}
