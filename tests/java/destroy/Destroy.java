import java.io.File;

/**
 * The first thread works, then another one for more than two seconds, and at last the first one again: by then its name is
 * DestroyJavaVM, and it looks for FILES files that are to be deleted and are not there.
 */
public final class Destroy {
	static final int FILES = 60_000;
	static volatile long sink;

	static void burn(long ms) {
		for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end;)
			for (int i = 0; i < 10_000; i++)
				sink += i * sink;
	}

	static void firstWork() {
		burn(500);
	}

	static void otherWork() {
		burn(3000);
	}

	public static void main(String[] args) {
		firstWork();
		for (int i = 0; i < FILES; i++)
			new File("/proc/self/no-such-file-" + i).deleteOnExit();
		new Thread(Destroy::otherWork, "other").start();
	}
}
