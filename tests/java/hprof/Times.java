import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** A thread that says how much CPU time it used for a known number of calls. */
public final class Times implements Runnable {
	static final int CALLS = 20000;
	static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
	static volatile long sink, used;

	static long step(long x) {
		for (int k = 0; k < 200; k++)
			x = x * 31 + k;
		return x;
	}

	static void deep(int n) {
		if (n > 0)
			deep(n - 1);
		else
			sink = step(sink);
	}

	/* All that the thread does is between the two looks at its clock. */
	public void run() {
		long begin = BEAN.getCurrentThreadCpuTime();
		for (int i = 0; i < CALLS; i++)
			deep(5);
		used = BEAN.getCurrentThreadCpuTime() - begin;
	}

	public static void main(String[] args) throws Exception {
		BEAN.getCurrentThreadCpuTime();
		Thread t = new Thread(new Times(), "timed");
		t.start();
		t.join();
		System.out.println("used " + used / 1000000);
	}
}
