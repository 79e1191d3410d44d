import java.util.concurrent.locks.LockSupport;

/**
 * As many virtual threads as the second argument says (default: 100,000), all alive and parked most of the
 * time, on a few carriers. Each is of one of four kinds, which go down by different calls: where the leaf says
 * the kind, every frame between Many.run and it is known. They work at the bottom, after a park that left all
 * outer frames in the heap, and on the way back, where these come back one by one.
 */
public final class Many {
	static final int[] DEPTHS = {5, 12, 23, 40};
	static volatile long sink;

	static long burn(int rounds) {
		long x = rounds;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 7;
		sink = x;
		return x;
	}

	/** Every third level of kind k is odd(), the others are even(). */
	static long call(int kind, int level, long pause) {
		if (level == DEPTHS[kind])
			return bottom(kind, pause);
		long r = level % 3 == kind % 3 ? odd(kind, level + 1, pause, 1, 2, 3, 4, 5, 6, 7)
			: even(kind, level + 1, pause);
		return r + (level % 5 == 0 ? back(kind) : 0);
	}

	static long even(int kind, int level, long pause) {
		return call(kind, level, pause) + 1;
	}

	/** More arguments than registers: some are passed on the stack. */
	static long odd(int kind, int level, long pause, int a, int b, int c, int d, int e, int f, long g) {
		return call(kind, level, pause) + a + b + c + d + e + f + g;
	}

	static long bottom(int kind, long pause) {
		LockSupport.parkNanos(pause);
		switch (kind) {
		case 0: return bottom0();
		case 1: return bottom1();
		case 2: return bottom2();
		default: return bottom3();
		}
	}

	static long bottom0() { return burn(40_000); }

	static long bottom1() { return burn(40_000); }

	static long bottom2() { return burn(40_000); }

	static long bottom3() { return burn(40_000); }

	/** On the way back. */
	static long back(int kind) {
		return burn(4_000 + kind);
	}

	static void run(int number, int threads) {
		int kind = number & 3;
		long pause = 1_000 + number % 100 * (threads * 400L); // 100,000 threads: up to 4 s
		while (true)
			sink += call(kind, 0, pause);
	}

	public static void main(String[] args) throws Exception {
		int threads = args.length > 1 ? Integer.parseInt(args[1]) : 100_000;
		for (int i = 0; i < threads; i++) {
			int number = i;
			Thread.Builder b = Thread.ofVirtual();
			if (i % 2 == 0)
				b = b.name("many-" + i);
			b.start(() -> run(number, threads));
		}
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) * 1000 : Long.MAX_VALUE);
	}
}
