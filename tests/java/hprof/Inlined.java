import java.lang.management.ManagementFactory;
import java.util.zip.CRC32;

/** Computes for as many seconds of CPU time as it is told in a loop that is inlined, and has no record of its own. */
public final class Inlined {
	static final CRC32 crc = new CRC32();
	static byte[] data = new byte[4096];
	static volatile long sink;

	static long inlined() {
		crc.reset();
		for (int i = 0; i < 100; i++)
			crc.update(data, 0, data.length);
		return crc.getValue();
	}

	static long called(long v) {
		return sink + v;
	}

	static void caller() {
		sink = called(inlined());
	}

	public static void main(String[] args) {
		long end = Long.parseLong(args[0]) * 1_000_000_000L;
		while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < end)
			caller();
	}
}
