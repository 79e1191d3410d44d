import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Programs for calls=inserted. usage: Calls shapes ROUNDS | overflow | link [MODULE] | virtual SECONDS | loaders CALLS [LIBRARY] | cost CALLS
 */
public class Calls {
	/** Names of all classes of a module, or of rt.jar where there are none. */
	static List<String> names(String module) throws Exception {
		Path rt = FileSystems.getDefault().getPath(System.getProperty("java.home"), "lib/rt.jar");
		if (Files.exists(rt)) {
			try (JarFile jar = new JarFile(rt.toFile())) {
				return jar.stream().map(JarEntry::getName).filter(n -> n.startsWith("java/") || n.startsWith("sun/"))
					.collect(Collectors.toList());
			}
		}
		Path root = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules", module);
		try (Stream<Path> all = Files.walk(root)) {
			return all.map(p -> root.relativize(p).toString()).collect(Collectors.toList());
		}
	}

	/** Links each: getDeclaredMethods() does. */
	static void link(String module) throws Exception {
		int linked = 0, absent = 0, bad = 0;
		for (String name : names(module)) {
			if (!name.endsWith(".class") || name.contains("-info"))
				continue;
			try {
				Class.forName(name.substring(0, name.length() - 6).replace('/', '.'), false, null).getDeclaredMethods();
				linked++;
			} catch (VerifyError | ClassFormatError e) {
				bad++;
				System.out.println("BAD " + name + ": " + e);
			} catch (ClassNotFoundException | LinkageError e) {
				absent++;
			}
		}
		System.out.println("linked " + linked + " absent " + absent + " bad " + bad);
	}

	static int calls;

	static void one() {
		calls++;
	}

	static long cpu() {
		return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
	}

	/** CPU time of each call, in ns: the best of five. */
	static void cost(int n) {
		long best = Long.MAX_VALUE;
		for (int round = 0; round < 5; round++) {
			long begin = cpu();
			for (int i = 0; i < n; i++)
				one();
			best = Math.min(best, cpu() - begin);
		}
		System.out.println("ns " + best / n);
	}

	static int sleeps(int depth) throws Exception {
		if (depth > 0)
			return 1 + sleeps(depth - 1);
		Thread.sleep(1);
		return 1;
	}

	/** Virtual threads that change their carriers, of JDK 21 and later. */
	static void virtual(int seconds) throws Exception {
		long end = System.nanoTime() + seconds * 1_000_000_000L;
		while (System.nanoTime() < end) {
			ExecutorService all = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
			for (int i = 0; i < 200; i++)
				all.submit(() -> sleeps(20));
			((AutoCloseable) all).close();
		}
	}

	static void shapes(int rounds) throws Exception {
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> Calls.one(), "caller " + i);
			threads[i].start();
			threads[i].join();
		}
		for (int i = 0; i < rounds; i++)
			Shapes.round();
	}

	/** Guests of three loaders: one that knows everything, two that do not; the last is made after the agent began. */
	static void loaders(int calls, String library) throws Exception {
		CallsLoader[] all = {new CallsLoader(true), new CallsLoader(false), null};
		Runnable[] guests = {all[0].make(), all[1].make(), null};
		if (library != null) {
			System.load(library);
			CallsLate.begin();
		}
		all[2] = new CallsLoader(false);
		guests[2] = all[2].make();
		for (int i = 0; i < all.length; i++) {
			for (int k = 0; k < calls; k++)
				guests[i].run();
			Integer extra = all[i].asked.remove("java.lang.JSamplerCalls");
			System.out.println("extra " + (extra == null ? 0 : extra));
			System.out.println("guest " + guests[i].getClass().getDeclaredField("sum").getInt(null) + " asked " + all[i].asked);
		}
	}

	public static void main(String[] args) throws Exception {
		switch (args[0]) {
		case "shapes": shapes(Integer.parseInt(args[1])); break;
		case "overflow":
			for (int i = 0; i < 20; i++)
				Shapes.overflow();
			break;
		case "link": link(args[1]); break;
		case "loaders": loaders(Integer.parseInt(args[1]), args.length > 2 ? args[2] : null); break;
		case "virtual": virtual(Integer.parseInt(args[1])); break;
		default: cost(Integer.parseInt(args[1]));
		}
		System.out.println("done");
	}
}
