/*
 * The first thread works and returns from main; the other one goes on for longer. What the first thread is called then is
 * DestroyJavaVM, and it still has something to do: it runs what is to be done at the end.
 *
 * java Leftover MILLISECONDS-OF-MAIN MILLISECONDS-OF-THE-OTHER
 */
public class Leftover {
	static volatile long sink;

	static void spin(long ms) {
		long end = System.nanoTime() + ms * 1000000;

		while (System.nanoTime() < end)
			for (int i = 0; i < 1000; i++)
				sink += i;
	}

	static void work(long ms) {
		spin(ms);
	}

	static void goOn(long ms) {
		spin(ms);
	}

	public static void main(String[] args) {
		long other = Long.parseLong(args[1]);

		new Thread(() -> goOn(other), "goes on").start();
		work(Long.parseLong(args[0]));
	}
}
