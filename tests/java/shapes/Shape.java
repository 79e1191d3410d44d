import java.io.InputStream;

/** What the shapes share. Threads to look at are called "shape-" and something. */
public final class Shape {
	static volatile long sink;

	private Shape() {
	}

	/** Some CPU time, about 2 ns a round when compiled; never inlined away, no calls. */
	public static long burn(int rounds) {
		long x = rounds;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 7;
		sink = x;
		return x;
	}

	static Thread start(String name, long stackSize, Runnable body) {
		Thread t = new Thread(null, body, name, stackSize);
		t.setDaemon(true);
		t.setUncaughtExceptionHandler((thread, e) -> {
			e.printStackTrace();
			Runtime.getRuntime().halt(1);
		});
		t.start();
		return t;
	}

	static Thread start(String name, Runnable body) {
		return start(name, 0, body);
	}

	/** Says "ready" and stays for as many seconds as the first argument says, else until killed. */
	static void stay(String[] args) throws InterruptedException {
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) * 1000 : Long.MAX_VALUE);
	}

	/** The bytes of a class on the class path. */
	static byte[] bytes(String name) throws java.io.IOException {
		try (InputStream in = Shape.class.getResourceAsStream("/" + name + ".class")) {
			java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
			byte[] part = new byte[8192];
			for (int n; (n = in.read(part)) > 0;)
				out.write(part, 0, n);
			return out.toByteArray();
		}
	}
}
