/** Known numbers of calls on two threads, some of which an exception ends. With an argument, so many seconds of others before. */
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

	static void spin(double seconds) {
		long end = System.nanoTime() + (long)(seconds * 1e9);
		while (System.nanoTime() < end)
			sink += end;
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		if (args.length > 0)
			spin(Double.parseDouble(args[0]));
		Thread t = new Thread(new Calls());
		t.start();
		new Calls().run();
		t.join();
	}
}
