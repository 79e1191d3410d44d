/**
 * Makes a copy of itself (fork) below a few Java frames of several kinds. The copy stays in native
 * code and writes nonsense over its own memory; see tests/native/garbage.c. Prints "ready" and the
 * copy's PID.
 */
public final class Garbage {
	static native int copy(int quietMillis, int seed);

	static int sum;

	static int work(int n) {
		int s = n;
		for (int i = 0; i < 2_000; i++)
			s = s * 31 + (i ^ s >>> 3);
		return s;
	}

	static int descend(int depth, int quietMillis, int seed) {
		sum += work(depth);
		if (depth > 0)
			return descend(depth - 1, quietMillis, seed) + 1;
		return seed == 0 ? 0 : copy(quietMillis, seed);
	}

	public static void main(String[] args) throws Exception {
		System.load(args[0]);
		for (int i = 0; i < 3_000; i++)
			descend(20, 0, 0);
		int pid = descend(20, Integer.parseInt(args[1]), Integer.parseInt(args[2]));
		System.out.println("ready " + (pid - 20));
		System.out.flush();
		System.in.read();
	}
}
