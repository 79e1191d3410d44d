import java.lang.reflect.Constructor;
import java.math.BigInteger;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** What tests/jvmpi/events.c counts. usage: Events LIBRARY WHAT */
public class Events {
	static native void begin();

	static native void end();

	static native void nothing();

	static native void watch(Object o);

	static native void allocate(Class<?> c, int n);

	static native void references(Object o, int n);

	static native void raw();

	static native void dump();

	static native void redefine();

	static native int freed();

	static int depth;

	// methods

	static void deep(int n) {
		if (n > 0)
			deep(n - 1);
	}

	static void thrower(int n) {
		if (n == 0)
			throw new IllegalStateException();
		thrower(n - 1);
	}

	void me() {
		depth++;
	}

	static void methods() {
		Events one = new Events();
		watch(one);
		begin();
		deep(5000);
		for (int i = 0; i < 100; i++)
			try {
				thrower(3);
			} catch (IllegalStateException e) {
				depth++;
			}
		for (int i = 0; i < 1000; i++) {
			nothing();
			one.me();
		}
		end();
	}

	// monitors

	static final Object lock = new Object();
	static volatile boolean stop;

	static Thread start(String name, Runnable r) {
		Thread t = new Thread(r, name);
		t.setDaemon(true);
		t.start();
		return t;
	}

	static void until(Thread t, Thread.State state) throws Exception {
		for (int i = 0; i < 30_000 && t.getState() != state; i++)
			Thread.sleep(1);
	}

	static void enter() {
		synchronized (lock) {
			depth++;
		}
	}

	static void sleepIn() {
		synchronized (lock) {
			try {
				lock.wait();
			} catch (InterruptedException e) {
			}
		}
	}

	static void monitors() throws Exception {
		watch(lock);
		begin();
		for (int i = 0; i < 3; i++) {
			Thread t;
			synchronized (lock) {
				t = start("contender", Events::enter);
				until(t, Thread.State.BLOCKED);
				Thread.sleep(200);
			}
			t.join();
		}
		synchronized (lock) {
			lock.wait(300);
		}
		Thread sleeper = start("sleeper", Events::sleepIn);
		until(sleeper, Thread.State.WAITING);
		Thread.sleep(100);
		synchronized (lock) {
			lock.notify();
		}
		sleeper.join();
		raw();
		end();
	}

	// deadlock

	static class Left {
	}

	static class Right {
	}

	static class Quiet {
	}

	static final Object left = new Left(), right = new Right(), quiet = new Quiet();

	static void both(Object first, Object second, Object go) {
		synchronized (first) {
			synchronized (go) {
				depth++;
			}
			synchronized (second) {
				depth++;
			}
		}
	}

	static void waits() {
		synchronized (quiet) {
			synchronized (quiet) {
				try {
					quiet.wait();
				} catch (InterruptedException e) {
				}
			}
		}
	}

	static void deadlock() throws Exception {
		Object go = new Object();
		watch(left);
		watch(right);
		watch(quiet);
		Thread a, b, c = start("waits", Events::waits);
		synchronized (go) {
			a = start("left", () -> both(left, right, go));
			b = start("right", () -> both(right, left, go));
			until(a, Thread.State.BLOCKED);
			until(b, Thread.State.BLOCKED);
		}
		for (boolean passed = false; !passed; Thread.sleep(1))
			synchronized (go) {
				passed = depth == 2;
			}
		until(a, Thread.State.BLOCKED);
		until(b, Thread.State.BLOCKED);
		until(c, Thread.State.WAITING);
		begin();
		dump();
		end();
	}

	// alloc

	static class Plain implements Cloneable {
		int a;

		Plain copy() throws CloneNotSupportedException {
			return (Plain) clone();
		}
	}

	static Object kept;

	static void plain() {
		kept = new Plain();
	}

	static final char[] WIDE = new char[11_111];
	static final BigInteger ONES = new BigInteger(1, ones(61)), MORE_ONES = new BigInteger(1, ones(62));

	static byte[] ones(int n) {
		byte[] all = new byte[4 * n];
		Arrays.fill(all, (byte) -1);
		return all;
	}

	/** Both are made by methods that C2 has its own way for. */
	static void wide(int n) {
		kept = new String(WIDE, 0, n);
	}

	static void product(BigInteger by) {
		kept = ONES.multiply(by);
	}

	/** Called by an OBJECT_ALLOC handler: loads a class, and makes what is not reported. */
	static void nested(int n) {
		Deeper.kept = new Plain();
	}

	static class Deeper {
		static Plain kept;
	}

	static void alloc() throws Exception {
		Arrays.fill(WIDE, '\u2014');
		for (int i = 0; i < 50_000; i++) {
			wide(3);
			product(MORE_ONES);
		}
		Constructor<Plain> constructor = Plain.class.getDeclaredConstructor();
		Plain one = new Plain();
		for (int i = 0; i < 20; i++)
			kept = constructor.newInstance();
		for (int i = 0; i < 20_000; i++)
			plain(); // compiled from here on
		watch(Plain.class);
		begin();
		for (int i = 0; i < 30_000; i++)
			plain();
		for (int i = 0; i < 30; i++)
			kept = constructor.newInstance();
		for (int i = 0; i < 40; i++)
			kept = one.copy();
		allocate(Plain.class, 50);
		for (int i = 0; i < 60; i++)
			kept = new int[12_345];
		for (int i = 0; i < 70; i++)
			kept = new Plain[7_777];
		for (int i = 0; i < 80; i++)
			kept = new byte[1][2][33_333];
		for (int i = 0; i < 90; i++)
			wide(WIDE.length);
		for (int i = 0; i < 110; i++)
			product(MORE_ONES);
		kept = null;
		end();
		for (int i = 0; i < 1000 && freed() < 30_120; i++) {
			System.gc();
			Thread.sleep(20);
		}
	}

	// eliminated

	static volatile long nanos = 1;
	static final AtomicInteger loops = new AtomicInteger();

	/** The compiler removes the object, which is alive while the thread is parked. */
	static int parked(int i) {
		Plain one = new Plain();
		one.a = i;
		LockSupport.parkNanos(nanos);
		return one.a;
	}

	static void parks() {
		int sum = 0;
		for (int i = 0; !stop; i++) {
			sum += parked(i);
			loops.incrementAndGet();
		}
		depth = sum;
	}

	static void eliminated() throws Exception {
		watch(Plain.class);
		for (int i = 0; i < 3; i++)
			start("parks-" + i, Events::parks);
		while (loops.get() < 60_000)
			Thread.sleep(10);
		nanos = 5_000_000;
		begin();
		dump();
		end();
		stop = true;
	}

	// attach

	static void contends() {
		while (!stop)
			synchronized (lock) {
				LockSupport.parkNanos(1_000_000);
			}
	}

	static void attach() {
		for (int i = 0; i < 3; i++)
			start("contends-" + i, Events::contends);
		begin();
		dump();
		end();
		stop = true;
	}

	// steps

	static int branches(int a) {
		if (a > 2)
			return 1;
		return 0;
	}

	static int table(int a) {
		switch (a) {
		case 1:
			return 10;
		case 2:
			return 20;
		case 3:
			return 30;
		default:
			return 0;
		}
	}

	static int lookup(int a) {
		switch (a) {
		case 10:
			return 1;
		case 1000:
			return 2;
		case 100_000:
			return 3;
		default:
			return 0;
		}
	}

	/** The native method has calls inserted into this one, and calls it again with 1. */
	static int changed(int a) {
		if (a == 0)
			redefine();
		return a;
	}

	static void steps() {
		redefine(); // to link it, which runs Java code
		begin();
		int x = branches(5) + branches(1);
		for (int i = 1; i < 5; i++)
			x += table(i);
		x += lookup(10) + lookup(1000) + lookup(100_000) + lookup(7);
		depth = x;
		changed(0);
		end();
	}

	// hook

	static class Hooked {
		static String text() {
			return "text before";
		}
	}

	static class Hooked2 {
		static String text() {
			return "text before";
		}
	}

	// heap

	interface Constants {
		int ONE = 1;
		Object TWO = new Object();
	}

	interface More extends Constants {
		long THREE = 3;
	}

	static class Top implements Constants {
		byte top = 7;
		Object topObject = "top";
	}

	static class Node extends Top implements More {
		static long count = 0x1122334455667788L;
		static Node head;
		static boolean yes = true;
		Node next;
		int number;
		double half;
		char c = 'x';
	}

	static final int[] numbers = {1, -2, 0x01020304};
	static final Object[] objects = {numbers, null, "text"};
	static final byte[] ballast = new byte[4 << 20]; // more than the limit

	static void heap() throws Exception {
		for (int i = 0; i < 1000; i++) {
			Node n = new Node();
			n.next = Node.head;
			n.number = i;
			n.half = i + 0.5;
			Node.head = n;
		}
		System.gc();
		watch(Node.class);
		watch(Node.head);
		watch(numbers);
		watch(objects);
		watch(Node.head.next);
		begin();
		dump();
		end();
	}

	// storm

	static Object load() {
		URL here = Events.class.getProtectionDomain().getCodeSource().getLocation();
		try (URLClassLoader loader = new URLClassLoader(new URL[] {here}, null)) {
			return Class.forName("Throwaway", true, loader).getDeclaredConstructor().newInstance();
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
	}

	static void work() {
		for (int i = 0; !stop; i++) {
			enter();
			kept = new Object[i % 100];
			try {
				thrower(i % 10);
			} catch (IllegalStateException e) {
				kept = e;
			}
			if (i % 50 == 0)
				load();
			if (i % 100 == 0)
				start("short", Events::enter);
			synchronized (lock) {
				try {
					lock.wait(0, 100_000);
				} catch (InterruptedException e) {
				}
			}
		}
	}

	/** Everything at once. */
	static void storm() throws Exception {
		begin();
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < 4; i++)
			threads.add(start("worker-" + i, Events::work));
		Thread.sleep(4000);
		end();
		stop = true;
		for (Thread t : threads)
			t.join();
	}

	// unload

	static void loads() {
		Object[] some = new Object[20];
		for (int i = 0; !stop; i++)
			some[i % some.length] = load();
	}

	static void unload() throws Exception {
		Thread t = start("loads", Events::loads);
		begin();
		dump();
		end();
		stop = true;
		t.join();
	}

	public static void main(String[] args) throws Exception {
		System.load(args[0]);
		switch (args[1]) {
		case "methods":
			methods();
			break;
		case "monitors":
			monitors();
			break;
		case "deadlock":
			deadlock();
			break;
		case "alloc":
			alloc();
			break;
		case "refs":
			watch(lock);
			begin();
			references(lock, 1000);
			end();
			break;
		case "eliminated":
			eliminated();
			break;
		case "attach":
			attach();
			break;
		case "steps":
			steps();
			break;
		case "hook":
			begin();
			System.out.println(Hooked.text() + ", " + Hooked2.text());
			end();
			break;
		case "heap":
			heap();
			break;
		case "storm":
			storm();
			break;
		case "unload":
			unload();
			break;
		default:
			begin();
			end();
		}
		System.out.println("done");
	}
}
