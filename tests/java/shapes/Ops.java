import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/**
 * Loads for scripts/bench.
 *
 *   Ops cost FILE THREADS   operations of some 20 us at the end of 60 frames; the first thread keeps
 *                           {sequence, operations, System.nanoTime, own CPU ns} in FILE, 8 bytes each
 *   Ops diverse THREADS     60 frames, left or right by chance: hardly two stacks alike
 *   Ops threads ALL BUSY    that many threads, some of them busy at the end of 60 frames
 *   Ops methods N           a busy thread, and N compiled methods
 *
 * Run with -XX:CompileCommand=dontinline,Ops::left -XX:CompileCommand=dontinline,Ops::right
 */
public final class Ops {
	static final int FRAMES = 60;
	static final int BATCH = 32;
	static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();

	static long left(int depth, long path, int work) {
		if (depth == 0)
			return work(work);
		return (path & 1) == 0 ? left(depth - 1, path >>> 1, work) + 1 : right(depth - 1, path >>> 1, work);
	}

	static long right(int depth, long path, int work) {
		if (depth == 0)
			return work(work);
		return (path & 1) == 0 ? left(depth - 1, path >>> 1, work) : right(depth - 1, path >>> 1, work) + 2;
	}

	static long work(int rounds) {
		return Shape.burn(rounds);
	}

	static void cost(MappedByteBuffer out) {
		long operations = 0, sequence = 0;
		while (true) {
			for (int i = 0; i < BATCH; i++)
				Shape.sink += left(FRAMES - 4, 0x5555_5555_5555_5555L, 12_000);
			operations += BATCH;
			if (out == null)
				continue;
			out.putLong(0, ++sequence); // odd: being written
			out.putLong(8, operations);
			out.putLong(16, System.nanoTime());
			out.putLong(24, BEAN.getCurrentThreadCpuTime());
			out.putLong(0, ++sequence);
		}
	}

	static void diverse(long seed) {
		Random random = new Random(seed);
		while (true)
			Shape.sink += left(FRAMES - 4, random.nextLong(), 20_000);
	}

	static void busy() {
		while (true)
			Shape.sink += left(FRAMES - 4, 0x3333_3333_3333_3333L, 20_000);
	}

	static void park() {
		while (true)
			LockSupport.park();
	}

	/** Classes of 100 methods each, called until C1 has them all. */
	static void methods(int n) throws ReflectiveOperationException {
		for (int c = 0; c < n / 100; c++) {
			ClassFile f = new ClassFile("Many" + c);
			for (int m = 0; m < 99; m++)
				f.forwarder("m" + m, "Many" + c, "m" + (m + 1), 1);
			f.method("m99", "(I)I", 1, 1, new byte[] {0x1a, (byte) 0xac});
			java.lang.reflect.Method first = new ClassFile.Loader().define(f.bytes()).getMethod("m0", int.class);
			for (int i = 0; i < 3_000; i++)
				Shape.sink += (Integer) first.invoke(null, i);
		}
	}

	static MappedByteBuffer map(String file) throws java.io.IOException {
		try (RandomAccessFile f = new RandomAccessFile(file, "rw")) {
			f.setLength(4096);
			MappedByteBuffer b = f.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4096);
			b.order(ByteOrder.nativeOrder());
			return b;
		}
	}

	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[args[0].equals("cost") ? 2 : 1]);
		switch (args[0]) {
		case "cost":
			MappedByteBuffer out = map(args[1]);
			for (int i = 0; i < n; i++) {
				MappedByteBuffer mine = i == 0 ? out : null;
				Shape.start("shape-cost-" + i, () -> cost(mine));
			}
			break;
		case "diverse":
			for (int i = 0; i < n; i++) {
				long seed = i;
				Shape.start("shape-diverse-" + i, () -> diverse(seed));
			}
			break;
		case "threads":
			int busy = Integer.parseInt(args[2]);
			for (int i = 0; i < n; i++)
				Shape.start("shape-thread-" + i, 128 << 10, i < busy ? Ops::busy : Ops::park);
			break;
		case "methods":
			methods(n);
			Shape.start("shape-busy", Ops::busy);
			break;
		default:
			throw new IllegalArgumentException(args[0]);
		}
		Thread.sleep(2_000);
		Shape.stay(new String[0]);
	}
}
