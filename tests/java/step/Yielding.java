/** Virtual threads on one carrier that yield at many depths: frames freeze, thaw, and lie in the heap. */
public final class Yielding implements Runnable {
	static long sink;

	static int deep(int n) {
		if (n > 0)
			return deep(n - 1) + 1;
		Thread.yield();
		return 1;
	}

	public void run() {
		for (int i = 0;; i = i + 1 & 0xffffff) {
			sink += deep(i % 12);
			if (i == 20000)
				System.out.println("ready");
		}
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 2; i++)
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, new Yielding());
		Thread.sleep(Long.MAX_VALUE);
	}
}
