import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/**
 * Does a piece of work for each line of its input, and tells what it took; between them it sleeps. So that two
 * programs can be compared window by window.
 *
 *     work N      N units: lookups, strings, sorting, calls of interfaces, garbage; little enough memory for the
 *                 caches that a core has for itself, so that a window takes as long as the one before
 *     threads N   N threads, one after the other
 *     classes N   N classes that it defines; the last number: the longest that it was kept waiting for one, ns
 *     jit         nothing; the last number: ms that compilers worked so far
 *
 * Each prints: WALL_NS THREAD_CPU_NS NUMBER, where nothing else is said the number of collections so far.
 */
public final class Windows {
	static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
	static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
	static final int WORDS_MAX = 128;
	static final Map<Integer, String> WORDS = new HashMap<>();
	static final int[] NUMBERS = new int[64];
	static final List<IntUnaryOperator> CALLS = Arrays.asList(i -> i + 1, i -> i ^ 85, i -> Integer.rotateLeft(i, 3), i -> -i);
	/** So that thousands of names are megabytes. */
	static final String LONG = new String(new char[1000]).replace('\0', 'E');
	static volatile long sink;

	static long collections() {
		long n = 0;
		for (GarbageCollectorMXBean b : COLLECTORS)
			n += b.getCollectionCount();
		return n;
	}

	/** ms; 0 with -Xint, which has no compiler. */
	static long compiling() {
		CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
		return compilers == null ? 0 : compilers.getTotalCompilationTime();
	}

	static long unit(int seed) {
		int[] numbers = NUMBERS;
		int x = seed, letters = 0;

		for (int i = 0; i < numbers.length; i++) {
			x = CALLS.get(i & 3).applyAsInt(x * 1_103_515_245 + 12_345);
			numbers[i] = x;
			letters += WORDS.get(x & (WORDS_MAX - 1)).length();
		}
		Arrays.sort(numbers);
		return letters + numbers[7] + ((seed & 7) == 0 ? text(x) : 0);
	}

	static int text(int x) {
		StringBuilder b = new StringBuilder();

		for (int i = 0; i < 8; i++)
			b.append(WORDS.get(x >>> i & (WORDS_MAX - 1))).append(' ');
		return b.toString().hashCode();
	}

	static void work(int n) {
		long sum = 0;
		for (int i = 0; i < n; i++)
			sum += unit(i);
		sink = sum;
	}

	static void threads(int n) throws InterruptedException {
		for (int i = 0; i < n; i++) {
			Thread t = new Thread(() -> sink++);
			t.start();
			t.join();
		}
	}

	static final class Loader extends ClassLoader {
		Class<?> define(String name, byte[] b) {
			return defineClass(name, b, 0, b.length);
		}
	}

	/** An empty interface. */
	static byte[] empty(String name) throws java.io.IOException {
		java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
		java.io.DataOutputStream out = new java.io.DataOutputStream(bytes);
		out.writeInt(0xcafebabe);
		out.writeInt(52);
		out.writeShort(5);
		for (String text : new String[] {name, "java/lang/Object"}) {
			out.writeByte(1);
			out.writeUTF(text);
		}
		for (int i = 1; i <= 2; i++) {
			out.writeByte(7);
			out.writeShort(i);
		}
		for (int v : new int[] {0x0601, 3, 4, 0, 0, 0, 0})
			out.writeShort(v);
		return bytes.toByteArray();
	}

	/** ns that this thread was runnable and had no CPU (the kernel's Documentation/scheduler/sched-stats.rst). */
	static long waitedForCpu(RandomAccessFile f, byte[] text) throws java.io.IOException {
		f.seek(0);
		return Long.parseLong(new String(text, 0, f.read(text)).split(" ")[1]);
	}

	/** What is neither CPU time nor waiting for a CPU is waiting for somebody. */
	static long classes(int n, List<Class<?>> kept) throws Exception {
		byte[] text = new byte[128];
		long worst = 0;

		kept.clear();
		try (RandomAccessFile f = new RandomAccessFile("/proc/thread-self/schedstat", "r")) {
			for (int i = 0; i < n; i++) {
				String name = LONG + i;
				byte[] bytes = empty(name);
				long delay = waitedForCpu(f, text), cpu = BEAN.getCurrentThreadCpuTime(), begin = System.nanoTime();
				Class<?> c = new Loader().define(name, bytes);
				Class.forName(name, true, c.getClassLoader()).getMethods();
				long wall = System.nanoTime() - begin;
				cpu = BEAN.getCurrentThreadCpuTime() - cpu;
				delay = waitedForCpu(f, text) - delay;
				worst = Math.max(worst, wall - cpu - delay);
				kept.add(c);
			}
		}
		return worst;
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		List<Class<?>> kept = new ArrayList<>();

		for (int i = 0; i < WORDS_MAX; i++)
			WORDS.put(i, "word" + i * 7);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			String[] w = line.split(" ");
			long begin = System.nanoTime(), cpu = BEAN.getCurrentThreadCpuTime(), number = 0;

			switch (w[0]) {
			case "work":
				work(Integer.parseInt(w[1]));
				number = collections();
				break;
			case "threads":
				threads(Integer.parseInt(w[1]));
				number = collections();
				break;
			case "classes":
				number = classes(Integer.parseInt(w[1]), kept);
				break;
			default:
				number = compiling();
			}
			cpu = BEAN.getCurrentThreadCpuTime() - cpu;
			System.out.println((System.nanoTime() - begin) + " " + cpu + " " + number);
		}
	}
}
