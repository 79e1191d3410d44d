import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** What the test agents of tests/jvmpi look at. usage: Jvmpi checks LIBRARY unload|no | leave | load SECONDS | flood CLASSES | drop | late | busy | carrier | many CLASSES | idle [exit] */
public class Jvmpi {
	static final Object monitor = new Object(), condition = new Object();
	static volatile boolean stop;
	static volatile long sink, rounds; // rounds: the spinner's

	static int line; // where functions() is called

	/** What is inherited is not the class's own. */
	static class Base {
		static int s0;
		int i0;
		Object i00;
	}

	/** Compared with CLASS_LOAD by reflection. */
	static class Sample extends Base implements Runnable, Cloneable {
		static int s1;
		static String s2 = "x";
		int i1;
		long i2;
		Object i3;

		public void run() {
			i1++;
		}

		int two(int a) {
			return a + i1;
		}

		int many(int a) {
			i1 = a;
			i2 = a;
			return a;
		}
	}

	static native void functions(Object object);

	static native void threads();

	static native boolean isTold(Class<?> c);

	/** Asks in the first of its methods. */
	static class Fresh {
		static final boolean told = isTold(Fresh.class);
	}

	static native void describe(Class<?> c, int interfaces, int methods, int statics, int instances, int line);

	static native int unloaded();

	static native int codeUnloaded();

	static native int dumped();

	static long spin(long n) {
		long x = n;
		for (int i = 0; i < 10_000; i++)
			x = step(x, i);
		return x;
	}

	static long step(long x, int i) {
		return x * 31 + i;
	}

	static Thread start(String name, Runnable r) {
		Thread t = new Thread(r, name);
		t.setDaemon(true);
		t.start();
		return t;
	}

	static void waitFor(Thread t, Thread.State state) throws Exception {
		for (int i = 0; i < 10_000 && t.getState() != state; i++)
			Thread.sleep(1);
	}

	/** Runs a virtual thread, where there are any. */
	static void virtual(Runnable r) throws Exception {
		try {
			Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
			Class<?> type = Class.forName("java.lang.Thread$Builder");
			type.getMethod("name", String.class).invoke(builder, "virtual");
			((Thread) type.getMethod("start", Runnable.class).invoke(builder, r)).join();
		} catch (NoSuchMethodException | UnsupportedOperationException e) {
			// before JDK 21
		}
	}

	static void states() throws Exception {
		ServerSocket socket = new ServerSocket(0);
		start("spinner", () -> {
			long x = 1; // in a register or on the stack wherever it is stopped
			while (!stop) {
				x = spin(x);
				rounds++;
			}
			sink = x;
		});
		Thread sleeper = start("sleeper", () -> {
			try {
				Thread.sleep(1_000_000);
			} catch (InterruptedException e) {
			}
		});
		Thread waiter = start("waiter", () -> {
			synchronized (condition) {
				try {
					condition.wait();
				} catch (InterruptedException e) {
				}
			}
		});
		Thread parked = start("parked", () -> {
			while (!stop)
				LockSupport.park();
		});
		start("acceptor", () -> {
			try {
				socket.accept();
			} catch (Exception e) {
			}
		});
		Thread blocked;
		synchronized (monitor) {
			blocked = start("blocked", () -> {
				synchronized (monitor) {
					sink++;
				}
			});
			waitFor(sleeper, Thread.State.TIMED_WAITING);
			waitFor(waiter, Thread.State.WAITING);
			waitFor(parked, Thread.State.WAITING);
			waitFor(blocked, Thread.State.BLOCKED);
			virtual(() -> sink = spin(sink));
			Thread.sleep(100); // the acceptor reaches its system call
			threads();
		}
		stop = true;
		LockSupport.unpark(parked);
		blocked.join();
		socket.close();
	}

	static void describeSample() throws Exception {
		new Sample().run();
		int statics = 0, instances = 0;
		for (Field f : Sample.class.getDeclaredFields())
			if (Modifier.isStatic(f.getModifiers()))
				statics++;
			else
				instances++;
		// Reflection leaves the class initializer out.
		int methods = Sample.class.getDeclaredMethods().length + Sample.class.getDeclaredConstructors().length + 1;
		describe(Sample.class, Sample.class.getInterfaces().length, methods, statics, instances, 13);
	}

	/** Loads a class, has its code compiled, drops it. */
	static void throwAway() throws Exception {
		URL here = Jvmpi.class.getProtectionDomain().getCodeSource().getLocation();
		URLClassLoader loader = new URLClassLoader(new URL[] {here}, null);
		Runnable r = (Runnable) Class.forName("Throwaway", true, loader).getDeclaredConstructor().newInstance();
		for (int i = 0; i < 3; i++)
			r.run();
		loader.close();
	}

	static volatile boolean unloadedEnough;

	/** Threads that come and go: their events would fall into GC windows. */
	static void churn() {
		try {
			while (!unloadedEnough) {
				start("churned", () -> {}).join();
				Thread.sleep(1);
			}
		} catch (InterruptedException e) {
		}
	}

	static void unload() throws Exception {
		long end = System.nanoTime() + 60_000_000_000L;
		Thread churner = start("churner", Jvmpi::churn);
		while ((unloaded() == 0 || codeUnloaded() == 0) && System.nanoTime() < end) {
			throwAway();
			for (int i = 0; i < 3; i++) {
				System.gc();
				Thread.sleep(20);
			}
		}
		unloadedEnough = true;
		churner.join();
	}

	static void load(double seconds) throws Exception {
		long end = System.nanoTime() + (long) (seconds * 1e9);
		long round = 0, worst = 0;
		while (System.nanoTime() < end) {
			long begin = System.nanoTime();
			sink = spin(sink);
			worst = Math.max(worst, System.nanoTime() - begin);
			if (++round % 50 == 0) {
				throwAway();
				if (round % 1000 == 0)
					System.gc(); // unloads them
				Thread t = start("worker-" + round, () -> sink = spin(sink));
				t.join();
			}
			byte[][] garbage = new byte[16][];
			for (int i = 0; i < garbage.length; i++)
				garbage[i] = new byte[4096];
			sink += garbage.length;
		}
		System.out.println("rounds " + round + " worst " + worst / 1000);
	}

	static volatile boolean dropping = true;

	/** Until there is something on stdin: threads that load classes which nothing keeps, and collections. */
	static void drop() throws Exception {
		URL here = Jvmpi.class.getProtectionDomain().getCodeSource().getLocation();
		for (int n = 0; n < 2; n++)
			start("dropper-" + n, () -> {
				for (int i = 0; dropping; i++) {
					try (URLClassLoader loader = new URLClassLoader(new URL[] {here}, null)) {
						Class.forName("Throwaway", true, loader);
						if (i % 20 == 0)
							System.gc();
					} catch (Exception e) {
						throw new RuntimeException(e);
					}
				}
			});
		System.in.read();
	}

	/** An interface with many methods: its CLASS_LOAD has some 100 kB. */
	static byte[] wide(String name, int methods) throws Exception {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		DataOutputStream out = new DataOutputStream(bytes);
		out.writeInt(0xcafebabe);
		out.writeInt(52);
		out.writeShort(6 + methods);
		String[] texts = {name, "java/lang/Object", "()V"};
		for (String t : texts) {
			out.writeByte(1);
			out.writeUTF(t);
		}
		for (int i = 1; i <= 2; i++) {
			out.writeByte(7);
			out.writeShort(i);
		}
		for (int i = 0; i < methods; i++) {
			out.writeByte(1);
			out.writeUTF("aMethodWithALongNameWhoseNumberIs" + i);
		}
		out.writeShort(0x0601); // public interface abstract
		out.writeShort(4);
		out.writeShort(5);
		out.writeShort(0);
		out.writeShort(0);
		out.writeShort(methods);
		for (int i = 0; i < methods; i++) {
			out.writeShort(0x0401);
			out.writeShort(6 + i);
			out.writeShort(3);
			out.writeShort(0);
		}
		out.writeShort(0);
		return bytes.toByteArray();
	}

	/** Loaded before it is linked. */
	static class Late {
		static void busy() throws InterruptedException {
			long end = System.nanoTime() + 20_000_000;
			while (System.nanoTime() < end)
				sink = spin(sink);
		}
	}

	static void late() throws Exception {
		Class<?> c = Class.forName("Jvmpi$Late", false, Jvmpi.class.getClassLoader());
		System.out.println("ready");
		System.in.read();
		Class.forName(c.getName());
		System.in.read();
	}

	/** Until there is something on stdin. */
	static void busy() {
		try {
			System.out.println("ready");
			while (System.in.available() == 0)
				Late.busy();
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
	}

	/** Loads and links that many classes, and keeps them. */
	static List<Class<?>> many(int n) throws Exception {
		List<Class<?>> kept = new ArrayList<>();
		Loader loader = new Loader();
		for (int i = 0; i < n; i++) {
			kept.add(loader.define("Many" + i, wide("Many" + i, 1)));
			Class.forName("Many" + i, true, loader);
		}
		return kept;
	}

	static class Loader extends ClassLoader {
		Class<?> define(String name, byte[] b) {
			return defineClass(name, b, 0, b.length);
		}
	}

	/** For each line on stdin: loads that many wide classes and keeps half of them. */
	static void flood(int n) throws Exception {
		List<Class<?>> kept = new ArrayList<>();
		for (int round = 1; System.in.read() >= 0; round++) {
			long worst = 0;
			for (int i = 0; i < n; i++) {
				String name = "Wide" + round + "_" + i;
				byte[] bytes = wide(name, 1500);
				long begin = System.nanoTime();
				Class<?> c = new Loader().define(name, bytes);
				Class.forName(name, true, c.getClassLoader()).getMethods();
				worst = Math.max(worst, System.nanoTime() - begin);
				if (i % 2 == 0)
					kept.add(c);
			}
			System.out.println("flooded " + round + " worst " + worst / 1000);
		}
	}

	public static void main(String[] args) throws Exception {
		switch (args[0]) {
		case "checks":
			System.load(args[1]);
			for (int i = 0; i < 3000; i++)
				sink = spin(sink);
			line = new Throwable().getStackTrace()[0].getLineNumber() + 1;
			functions(new Object());
			sink += Fresh.told ? 1 : 0;
			describeSample();
			states();
			if (args[2].equals("unload"))
				unload();
			System.out.println("ready");
			System.in.read();
			for (int i = 0; i < 30_000 && dumped() == 0; i++)
				Thread.sleep(1);
			break;
		case "leave":
			Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
			new Sample().run();
			break;
		case "load":
			System.out.println("ready");
			load(Double.parseDouble(args[1]));
			break;
		case "drop":
			System.out.println("ready");
			drop();
			break;
		case "late":
			late();
			break;
		case "busy":
			busy();
			break;
		case "carrier":
			virtual(Jvmpi::busy);
			break;
		case "many":
			sink += many(Integer.parseInt(args[1])).size();
			System.out.println("ready");
			System.in.read();
			break;
		case "flood":
			System.out.println("ready");
			flood(Integer.parseInt(args[1]));
			break;
		default:
			System.out.println("ready");
			System.in.read();
		}
		System.out.println("done");
		if (args[args.length - 1].equals("exit"))
			System.exit(3);
	}
}
