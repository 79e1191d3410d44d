import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * A program that knows where its CPU time goes. Kernels (methods named kSomething, 50 to 500 us a
 * call when compiled) run in random order; the thread's own CPU clock is read before and after
 * every call. A profile is right when its share of each kernel is that of the clocks.
 *
 * A sample belongs to the kernel of its outermost frame that matches Truth\.k[A-Z]\w*.
 *
 * Usage: java [-XX:CompileCommand=quiet -XX:CompileCommand=exclude,Truth::kInterp] Truth
 *        [seconds=N] [warmup=N] [threads=N] [seed=N] [slow=PERCENT] [interactive=1]
 *
 * Prints "ready PID" after the warm-up, and a table at the end. With interactive=1 a line "mark" on
 * standard input prints the table so far, "quit" or the end of the input ends the program, and
 * seconds counts for nothing. slow=30, or a line "slow 30", makes kMatrix 30 % slower. A table:
 *
 *   mark N NANOTIME
 *   clock CPU_NS PAIRS                 two readings with nothing in between, now and then after a call
 *   thread NAME CPU_NS                 whole CPU time of a worker
 *   kernel NAME CPU_NS CALLS           over all workers
 *   end N
 */
public final class Truth implements Runnable {
	static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
	static final String[] NAMES = {
		"kInline", "kFloat", "kHash", "kInterp", "kRecurse", "kAlloc", "kMega", "kRegex", "kAes",
		"kCopy", "kFill", "kStream", "kReflect", "kZip", "kBuild", "kSort", "kMatrix", "kBig",
		"kMath", "kTime", "kDigest", "kCrc",
	};
	static final int INLINE = 0, FLOAT = 1, HASH = 2, INTERP = 3, RECURSE = 4, ALLOC = 5, MEGA = 6,
		REGEX = 7, AES = 8, COPY = 9, FILL = 10, STREAM = 11, REFLECT = 12, ZIP = 13, BUILD = 14,
		SORT = 15, MATRIX = 16, BIG = 17, MATH = 18, TIME = 19, DIGEST = 20, CRC = 21;
	/** What the two smaller containing methods draw from. */
	static final int[] TIGHT = {INLINE, FLOAT, COPY, FILL, AES, RECURSE, MATRIX, CRC, SORT};
	static final int[] OBJECTS = {HASH, ALLOC, MEGA, STREAM, REGEX, BUILD, INLINE, REFLECT};

	static volatile boolean stop;
	static volatile long sink;
	static volatile int slow;

	final int shape;
	final long[] cpu = new long[NAMES.length];
	final long[] calls = new long[NAMES.length];
	/** What two readings with nothing in between measure, among the calls and not before them: there
	 * caches, interrupts and other threads are what they are for the readings around kernels. */
	long clock, pairs;
	Thread thread;
	long seed;

	Truth(int shape, long seed) throws Exception {
		this.shape = shape;
		this.seed = seed * 0x9E3779B97F4A7C15L | 1;
		prepare();
	}

	// ---- the containing methods -------------------------------------------------------------

	public void run() {
		while (!stop) {
			switch (shape) {
			case 0: mixAll(64); break;
			case 1: mixTight(64); break;
			case 2: mixObjects(); break;
			default: mixAll(16); mixTight(16); break;
			}
		}
	}

	/** Every kernel, one switch; called often, so compiled from its entry. */
	void mixAll(int n) {
		long acc = 0;
		for (int i = 0; i < n && !stop; i++) {
			int kind = next(NAMES.length);
			long begin = BEAN.getCurrentThreadCpuTime();
			switch (kind) {
			case INLINE: acc += kInline(); break;
			case FLOAT: acc += kFloat(); break;
			case HASH: acc += kHash(); break;
			case INTERP: acc += kInterp(); break;
			case RECURSE: acc += kRecurse(); break;
			case ALLOC: acc += kAlloc(); break;
			case MEGA: acc += kMega(); break;
			case REGEX: acc += kRegex(); break;
			case AES: acc += kAes(); break;
			case COPY: acc += kCopy(); break;
			case FILL: acc += kFill(); break;
			case STREAM: acc += kStream(); break;
			case REFLECT: acc += kReflect(); break;
			case ZIP: acc += kZip(); break;
			case BUILD: acc += kBuild(); break;
			case SORT: acc += kSort(); break;
			case MATRIX: acc += kMatrix(); break;
			case BIG: acc += kBig(); break;
			case MATH: acc += kMath(); break;
			case TIME: acc += kTime(); break;
			case DIGEST: acc += kDigest(); break;
			default: acc += kCrc(); break;
			}
			acc += again(kind);
			note(kind, begin, BEAN.getCurrentThreadCpuTime());
		}
		sink += acc;
	}

	/** Loops and stubs, chosen by comparisons, each with a clock pair of its own. */
	void mixTight(int n) {
		long acc = 0;
		int i = 0;
		while (i++ < n && !stop) {
			int kind = TIGHT[next(TIGHT.length)];
			long begin = BEAN.getCurrentThreadCpuTime();
			if (kind == COPY)
				acc ^= kCopy();
			else if (kind == INLINE)
				acc ^= kInline();
			else if (kind == AES)
				acc ^= kAes();
			else if (kind == MATRIX)
				acc ^= kMatrix();
			else if (kind == FILL)
				acc ^= kFill();
			else if (kind == CRC)
				acc ^= kCrc();
			else if (kind == FLOAT)
				acc ^= kFloat();
			else if (kind == SORT)
				acc ^= kSort();
			else
				acc ^= kRecurse();
			acc += again(kind);
			note(kind, begin, BEAN.getCurrentThreadCpuTime());
		}
		sink += acc;
	}

	/** Never returns while the program runs: compiled on the stack (OSR). */
	void mixObjects() {
		long acc = 0;
		while (!stop) {
			int kind = OBJECTS[next(OBJECTS.length)];
			long begin = BEAN.getCurrentThreadCpuTime();
			switch (kind) {
			case MEGA: acc -= kMega(); break;
			case HASH: acc -= kHash(); break;
			case BUILD: acc -= kBuild(); break;
			case ALLOC: acc -= kAlloc(); break;
			case REGEX: acc -= kRegex(); break;
			case STREAM: acc -= kStream(); break;
			case REFLECT: acc -= kReflect(); break;
			default: acc -= kInline(); break;
			}
			acc += again(kind);
			note(kind, begin, BEAN.getCurrentThreadCpuTime());
			if ((acc & 63) == 0)
				sink = acc;
		}
	}

	void note(int kind, long begin, long end) {
		cpu[kind] += end - begin;
		if ((++calls[kind] & 3) != 0)
			return;
		/* A reading after a long time is where Linux takes the CPU away (update_curr() ends the time
		 * slice): not counted. The two behind it are compared. */
		BEAN.getCurrentThreadCpuTime();
		long first = BEAN.getCurrentThreadCpuTime();
		clock += BEAN.getCurrentThreadCpuTime() - first;
		pairs++;
	}

	/** kMatrix once more in so many of 100 calls: as if a change had made it slower. */
	long again(int kind) {
		long acc = 0;
		for (int left = kind == MATRIX ? slow : 0; left > 0; left -= 100)
			if (left >= 100 || next(100) < left)
				acc += kMatrix();
		return acc;
	}

	int next(int bound) {
		seed ^= seed << 13;
		seed ^= seed >>> 7;
		seed ^= seed << 17;
		return (int) ((seed >>> 33) % bound);
	}

	// ---- the kernels ------------------------------------------------------------------------

	/** Pure arithmetic in a counted loop: no call, no allocation, no null check, no trap. */
	long kInline() {
		int a = (int) seed, b = 7;
		for (int i = 0; i < 120_000; i++) {
			a = a * 31 + (i ^ b);
			b = (b << 5 | b >>> 27) ^ a >>> 3;
		}
		return a ^ b;
	}

	/** The same in floating point, with a helper that leaves no record when it is inlined. */
	long kFloat() {
		double x = 1 + (seed & 7), sum = 0;
		for (int i = 1; i < 40_000; i++)
			sum += step(x, i);
		return (long) sum;
	}

	static double step(double x, int i) {
		double y = x / i;
		return y * y - 0.5 * y + 0.25;
	}

	Map<Integer, Integer> map;

	long kHash() {
		int n = 0, key = (int) (seed >>> 20);
		for (int i = 0; i < 2_500; i++) {
			key = key * 1103515245 + 12345;
			Integer k = key >>> 8 & 4095;
			Integer old = map.get(k);
			if (old == null)
				map.put(k, 1);
			else if (old > 5)
				map.remove(k);
			else
				map.put(k, old + 1);
			n += map.size();
		}
		return n;
	}

	/** Kept in the interpreter by -XX:CompileCommand=exclude,Truth::kInterp. */
	long kInterp() {
		int a = (int) seed;
		for (int i = 0; i < 6_000; i++)
			a = (a ^ i) * 17 + (a >>> 5) + table[a & 255];
		return a;
	}

	int[] table;

	long kRecurse() {
		long r = 0;
		for (int i = 0; i < 8; i++)
			r += deep(1_000, (int) seed + i);
		return r;
	}

	static int deep(int left, int x) {
		if (left == 0) {
			for (int i = 0; i < 8_000; i++)
				x = x * 31 + i >>> 1 ^ x;
			return x;
		}
		return deep(left - 1, x + left) * 31 ^ left;
	}

	Object[] ring;
	int ringAt;

	static final class Node {
		final Node next;
		final long[] data;

		Node(Node next, int size) {
			this.next = next;
			this.data = new long[size];
		}
	}

	long kAlloc() {
		Node head = null;
		for (int i = 0; i < 5_000; i++) {
			head = new Node((i & 15) == 0 ? null : head, 1 + (i & 31));
			ring[ringAt++ & 1023] = head;
		}
		return head.data.length;
	}

	interface Op {
		int apply(int x);
	}

	static final class Add implements Op { public int apply(int x) { return x + 17; } }
	static final class Mul implements Op { public int apply(int x) { return x * 31; } }
	static final class Xor implements Op { public int apply(int x) { return x ^ x >>> 7; } }
	static final class Rot implements Op { public int apply(int x) { return x << 3 | x >>> 29; } }
	static final class Neg implements Op { public int apply(int x) { return ~x; } }
	static final class Sub implements Op { public int apply(int x) { return x - 12345; } }

	abstract static class Base {
		abstract int apply(int x);
	}

	static final class B0 extends Base { int apply(int x) { return x + 3; } }
	static final class B1 extends Base { int apply(int x) { return x * 5; } }
	static final class B2 extends Base { int apply(int x) { return x ^ 0x55aa; } }
	static final class B3 extends Base { int apply(int x) { return x >>> 1; } }

	Op[] ops;
	Base[] bases;

	long kMega() {
		int x = (int) seed;
		for (int i = 0; i < 6_000; i++) {
			x = ops[i * 7 + (x & 3) & 63].apply(x);
			x += bases[i + (x & 1) & 63].apply(x);
		}
		return x;
	}

	static final Pattern WORD = Pattern.compile("(\\w+)@(\\w+)\\.(com|org|net)\\b.*?(\\d{2,4})-(\\d+)");
	String text;

	long kRegex() {
		long n = 0;
		Matcher m = WORD.matcher(text);
		while (m.find())
			n += m.end(5) - m.start(1);
		return n;
	}

	Cipher cipher;
	byte[] plain, coded;

	long kAes() {
		try {
			long n = 0;
			for (int i = 0; i < 8; i++)
				n += cipher.update(plain, 0, plain.length, coded, 0) + coded[5];
			return n;
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	byte[] bytesFrom, bytesTo;
	Object[] objectsFrom, objectsTo;

	long kCopy() {
		for (int i = 0; i < 200; i++) {
			System.arraycopy(bytesFrom, i & 31, bytesTo, 3, bytesFrom.length - 64);
			System.arraycopy(objectsFrom, 0, objectsTo, 0, objectsFrom.length);
		}
		return bytesTo[100] + objectsTo.length;
	}

	int[] ints;
	byte[] bytes;

	long kFill() {
		for (int i = 0; i < 100; i++) {
			Arrays.fill(ints, i);
			Arrays.fill(bytes, (byte) i);
		}
		return ints[9] + bytes[9];
	}

	List<String> words;

	long kStream() {
		long sum = 0;
		for (int i = 1; i < 4; i++) {
			int least = i;
			sum += words.stream()
				.filter(w -> w.length() > least)
				.map(w -> w.charAt(0) + w.length())
				.filter(n -> (n & 1) == 0)
				.mapToLong(Integer::longValue)
				.sum();
		}
		return sum;
	}

	static final Method TARGET = target();

	static Method target() {
		try {
			return Truth.class.getDeclaredMethod("reflected", int.class, String.class);
		} catch (NoSuchMethodException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	static int reflected(int x, String s) {
		return x * 31 + s.length();
	}

	long kReflect() {
		try {
			int x = 1;
			for (int i = 0; i < 12_000; i++)
				x = (Integer) TARGET.invoke(null, x, "abc");
			return x;
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	Deflater deflater;
	byte[] zipFrom, zipTo;

	long kZip() {
		deflater.reset();
		deflater.setInput(zipFrom);
		deflater.finish();
		long n = 0;
		while (!deflater.finished())
			n += deflater.deflate(zipTo);
		return n;
	}

	long kBuild() {
		StringBuilder sb = new StringBuilder();
		for (int i = 0; i < 1_500; i++)
			sb.append("key").append(i).append('=').append((long) i * 77).append(", ");
		return sb.toString().hashCode();
	}

	static final Comparator<String> BY_LENGTH =
		Comparator.comparingInt(String::length).thenComparing(Comparator.reverseOrder());
	String[] sorted;

	long kSort() {
		String[] a = sorted.clone();
		Arrays.sort(a, BY_LENGTH);
		return a[0].length() + a[a.length - 1].length();
	}

	double[][] left, right, product;

	long kMatrix() {
		int n = left.length;
		for (int i = 0; i < n; i++) {
			double[] row = product[i];
			Arrays.fill(row, 0);
			for (int k = 0; k < n; k++) {
				double f = left[i][k];
				double[] other = right[k];
				for (int j = 0; j < n; j++)
					row[j] += f * other[j];
			}
		}
		return (long) product[n - 1][n / 2];
	}

	BigInteger base, exponent, modulus;

	long kBig() {
		BigInteger r = base;
		for (int i = 0; i < 3; i++)
			r = r.add(BigInteger.ONE).modPow(exponent, modulus);
		return r.intValue();
	}

	long kMath() {
		double s = 0;
		for (int i = 1; i < 3_000; i++)
			s += Math.pow(i, 0.37) + Math.sin(i) * Math.exp(-i * 1e-3) + Math.log(i);
		return (long) s;
	}

	/** Clock readings end in the vDSO. */
	long kTime() {
		long n = 0;
		for (int i = 0; i < 2_000; i++)
			n ^= System.nanoTime() + System.currentTimeMillis();
		return n;
	}

	MessageDigest digest;

	long kDigest() {
		for (int i = 0; i < 8; i++)
			digest.update(plain);
		return digest.digest()[0];
	}

	CRC32 crc;

	long kCrc() {
		crc.reset();
		for (int i = 0; i < 100; i++)
			crc.update(bytesFrom, 0, bytesFrom.length);
		return crc.getValue();
	}

	// ---- data -------------------------------------------------------------------------------

	void prepare() throws Exception {
		map = new HashMap<>();
		table = new int[256];
		for (int i = 0; i < 256; i++)
			table[i] = i * 2654435 ^ i << 9;
		ring = new Object[1024];
		Op[] kinds = {new Add(), new Mul(), new Xor(), new Rot(), new Neg(), new Sub()};
		Base[] more = {new B0(), new B1(), new B2(), new B3()};
		ops = new Op[64];
		bases = new Base[64];
		for (int i = 0; i < 64; i++) {
			ops[i] = kinds[next(kinds.length)];
			bases[i] = more[next(more.length)];
		}
		prepareText();
		prepareBytes();
		left = matrix(72);
		right = matrix(72);
		product = new double[72][72];
		base = new BigInteger("123456789012345678901234567890123456789012345678901234567890");
		exponent = BigInteger.ONE.shiftLeft(191).add(BigInteger.valueOf(0x5555_5555L));
		modulus = BigInteger.ONE.shiftLeft(512).subtract(BigInteger.valueOf(569));
	}

	void prepareText() {
		StringBuilder sb = new StringBuilder();
		words = new ArrayList<>();
		for (int i = 0; i < 4_000; i++) {
			String word = Integer.toString(next(1 << 24), 36);
			words.add(word);
			if (i < 300)
				sb.append(word).append(i % 5 == 0 ? "@host.org " : " ").append(i).append('-').append(i * 3)
					.append(' ');
		}
		text = sb.toString();
		sorted = words.subList(0, 500).toArray(new String[0]);
		zipFrom = text.getBytes(StandardCharsets.UTF_8);
		zipTo = new byte[zipFrom.length];
	}

	void prepareBytes() throws Exception {
		plain = new byte[16 * 1024];
		coded = new byte[plain.length + 64];
		bytesFrom = new byte[24 * 1024];
		bytesTo = new byte[bytesFrom.length];
		for (int i = 0; i < plain.length; i++)
			plain[i] = bytesFrom[i] = (byte) next(256);
		objectsFrom = new Object[1_500];
		Arrays.fill(objectsFrom, "x");
		objectsTo = new Object[objectsFrom.length];
		ints = new int[16 * 1024];
		bytes = new byte[32 * 1024 + 5];
		cipher = Cipher.getInstance("AES/CBC/NoPadding");
		cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"),
			new IvParameterSpec(new byte[16]));
		digest = MessageDigest.getInstance("SHA-256");
		crc = new CRC32();
		deflater = new Deflater(6);
	}

	double[][] matrix(int n) {
		double[][] m = new double[n][n];
		for (double[] row : m)
			for (int j = 0; j < n; j++)
				row[j] = next(1000) / 1000.0;
		return m;
	}

	// ---- clocks, tables, arguments ----------------------------------------------------------

	static void table(int n, List<Truth> workers) {
		StringBuilder sb = new StringBuilder();
		long clock = 0, pairs = 0;
		sb.append("mark ").append(n).append(' ').append(System.nanoTime()).append('\n');
		for (Truth w : workers)
			sb.append("thread ").append(w.thread.getName()).append(' ')
				.append(BEAN.getThreadCpuTime(w.thread.getId())).append('\n');
		for (Truth w : workers) {
			clock += w.clock;
			pairs += w.pairs;
		}
		sb.append("clock ").append(clock).append(' ').append(pairs).append('\n');
		for (int k = 0; k < NAMES.length; k++) {
			long cpu = 0, calls = 0;
			for (Truth w : workers) {
				cpu += w.cpu[k];
				calls += w.calls[k];
			}
			sb.append("kernel ").append(NAMES[k]).append(' ').append(cpu).append(' ').append(calls)
				.append('\n');
		}
		sb.append("end ").append(n).append('\n');
		System.out.print(sb);
		System.out.flush();
	}

	static long option(String[] args, String name, long value) {
		for (String a : args)
			if (a.startsWith(name + "="))
				return Long.parseLong(a.substring(name.length() + 1));
		return value;
	}

	static void obey(List<Truth> workers) throws IOException {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		int marks = 0;
		for (String line; (line = in.readLine()) != null && !line.equals("quit");)
			if (line.equals("mark"))
				table(++marks, workers);
			else if (line.startsWith("slow "))
				slow = Integer.parseInt(line.substring(5));
	}

	public static void main(String[] args) throws Exception {
		int threads = (int) option(args, "threads", 3);
		long seed = option(args, "seed", 42);
		slow = (int) option(args, "slow", 0);
		List<Truth> workers = new ArrayList<>();
		for (int i = 0; i < threads; i++) {
			Truth w = new Truth(i % 4, seed + i);
			w.thread = new Thread(w, "truth-worker-with-a-long-name-" + (i + 1));
			w.thread.setDaemon(true);
			w.thread.setUncaughtExceptionHandler((t, e) -> {
				e.printStackTrace();
				Runtime.getRuntime().halt(1);
			});
			workers.add(w);
		}
		for (Truth w : workers)
			w.thread.start();
		Thread.sleep(option(args, "warmup", 10) * 1000);
		System.out.println("ready");
		System.out.flush();
		if (option(args, "interactive", 0) != 0)
			obey(workers);
		else
			Thread.sleep(option(args, "seconds", 30) * 1000);
		table(0, workers); // before the stop: an ended thread has no clock
		stop = true;
	}
}
