/**
 * Three methods that stay interpreted, each for its own reason, and one that is compiled.
 *
 * Run with -XX:CompileCommand=exclude,Why::excluded
 */
public final class Why {
	static final byte[] FROM = new byte[16 << 20], TO = new byte[16 << 20];
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

	/** Called once; a turn of its loop takes milliseconds, and 60,000 turns are many minutes. */
	static void rare() {
		for (int i = 0; i < Integer.MAX_VALUE; i++)
			System.arraycopy(FROM, 0, TO, 0, FROM.length);
	}

	static int compiled(int x) {
		for (int i = 0; i < 1000; i++)
			x = x * 31 + i;
		return x;
	}

	public static void main(String[] args) {
		Thread t = new Thread(Why::rare, "rare");
		t.setDaemon(true);
		t.start();
		System.out.println("ready");
		for (int x = 1; ; x++) {
			sink += huge(x);
			sink += excluded(x);
			for (int i = 0; i < 20; i++)
				sink += compiled(x + i);
		}
	}
}
