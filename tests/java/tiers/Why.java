/**
 * Three methods that stay interpreted, each for its own reason, one that is compiled, and one that is
 * compiled again and again.
 *
 * Run with -XX:CompileCommand=exclude,Why::excluded, -XX:CompileCommand=dontinline,Why::thrown, and -XX:Tier3BackEdgeThreshold=1000000000, which rare()
 * takes longer to reach than anybody looks.
 */
public final class Why {
	static volatile int sink;

	/** The compiler writes each finally block twice: 10 of them in each other are over 8,000 bytecodes. */
	static int huge(int x) {
		for (int i = 0; i < 100; i++)
			try { x += i; } finally { try { x ^= i; } finally { try { x += 3; } finally {
			try { x ^= 5; } finally { try { x += 7; } finally { try { x ^= x >> 3; } finally {
			try { x += i; } finally { try { x ^= i; } finally { try { x += 3; } finally {
			try { x ^= 9; } finally { x = x * 31 + i; } } } } } } } } } }
		return x;
	}

	static int excluded(int x) {
		for (int i = 0; i < 1000; i++)
			x = x * 31 + i;
		return x;
	}

	/** Called once, and it never ends: its loop has to be entered compiled, or not at all. */
	static int rare(int x) {
		for (int i = 0; ; i++)
			if ((x = x * 31 + (x >>> 7) ^ i) == i && i < 0)
				return x;
	}

	static int compiled(int x) {
		for (int i = 0; i < 1000; i++)
			x = x * 31 + i;
		return x;
	}

	/** A branch that was never taken is not in the compiled code, which is thrown away when it is met. */
	static int thrown(int mode, int x) {
		for (int i = 0; i < 500; i++)
			if (mode == 0)
				x += i;
			else if (mode == 1)
				x ^= i * 3;
			else if (mode == 2)
				x -= x >> 5;
			else
				x = x * 31 + i;
		return x;
	}

	public static void main(String[] args) {
		Thread t = new Thread(() -> sink += rare(1), "rare");
		t.setDaemon(true);
		t.start();
		System.out.println("ready");
		long start = System.nanoTime();
		for (int x = 1; ; x++) {
			long mode = (System.nanoTime() - start) / 500_000_000;
			for (int i = 0; i < 20; i++)
				sink += thrown((int) Math.min(mode, 3), x);
			sink += huge(x);
			sink += excluded(x);
			for (int i = 0; i < 20; i++)
				sink += compiled(x + i);
		}
	}
}
