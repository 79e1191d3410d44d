/** A class that is loaded by a class loader of its own, compiled and dropped. */
public class Throwaway implements Runnable {
	int n;

	int work(int i) {
		return n + i * 7;
	}

	public void run() {
		for (int i = 0; i < 60_000; i++)
			n = work(i);
	}
}
