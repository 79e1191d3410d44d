import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What makes the JVM's own threads wait for each other, all at once: class loaders come and go, threads start and end,
 * code is compiled and thrown away, the heap is collected. Prints a line of counts five times a second; when none comes
 * any more, the JVM stands still. usage: Churn SECONDS [return]; it ends under load, by System.exit(0) or with main().
 */
public final class Churn {
	static final AtomicLong classes = new AtomicLong(), threads = new AtomicLong(), collections = new AtomicLong();
	static volatile Object sink;

	/** Dropped by the hundred a second, some with code of their own. */
	public static class Dropped implements Runnable {
		int n;

		int one(int i) {
			return n + i * 7;
		}

		int two(int i) {
			return one(i) ^ one(i + 1);
		}

		public void run() {
			n += two(n);
		}
	}

	static final class Loader extends ClassLoader {
		Loader() {
			super(Churn.class.getClassLoader());
		}

		Class<?> define(byte[] b) {
			return defineClass(null, b, 0, b.length);
		}
	}

	static byte[] bytesOf(Class<?> c) throws IOException {
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		try (InputStream in = c.getResourceAsStream("/" + c.getName() + ".class")) {
			byte[] part = new byte[4096];
			for (int n; (n = in.read(part)) > 0;)
				all.write(part, 0, n);
		}
		return all.toByteArray();
	}

	static void loaders() throws Exception {
		byte[] dropped = bytesOf(Dropped.class);
		for (int i = 0;; i++) {
			Runnable r = (Runnable) new Loader().define(dropped).getDeclaredConstructor().newInstance();
			for (int k = 0; k < (i % 32 == 0 ? 3_000 : 1); k++)
				r.run();
			classes.incrementAndGet();
			if (i % 8 == 0)
				Thread.sleep(1);
		}
	}

	static void threads() throws Exception {
		for (;;) {
			Thread[] round = new Thread[8];
			for (int i = 0; i < round.length; i++) {
				round[i] = new Thread(() -> sink = new byte[1024], "short " + i);
				round[i].start();
			}
			for (Thread t : round)
				t.join();
			threads.addAndGet(round.length);
			Thread.sleep(1);
		}
	}

	static void garbage() throws Exception {
		List<byte[]> kept = new ArrayList<>();
		for (int i = 1;; i++) {
			kept.add(new byte[16 << 10]);
			if (kept.size() > 256)
				kept.clear();
			if (i % 512 == 0)
				Thread.sleep(1);
		}
	}

	/** Full ones, which unload classes. */
	static void collections() throws Exception {
		for (;;) {
			System.gc();
			collections.incrementAndGet();
			Thread.sleep(3);
		}
	}

	interface Work {
		void run() throws Exception;
	}

	static void start(String name, Work work) {
		Thread t = new Thread(() -> {
			try {
				work.run();
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(9);
			}
		}, name);
		t.setDaemon(true);
		t.start();
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
		System.out.println("ready");
		start("loaders", Churn::loaders);
		start("threads", Churn::threads);
		start("garbage", Churn::garbage);
		start("collections", Churn::collections);
		while (System.nanoTime() < end) {
			Thread.sleep(200);
			System.out.println("classes " + classes + " threads " + threads + " collections " + collections);
		}
		System.out.println("ending");
		if (args.length < 2)
			System.exit(0);
	}
}
