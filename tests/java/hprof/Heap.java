
/** Known numbers of objects that stay, and of some that go. Arguments: ms to wait; anything: until a line is read. */
public final class Heap {
	static final int KEPT = 3000, GONE = 5000;

	static class Base {
		int i = 0x01020304;
		long l = 0x1122334455667788L;
		Object ref;
	}

	static final class Kept extends Base {
		byte b = 7;
		double d = 1.5;
		boolean z = true;
		char c = 'x';
		Kept next;
	}

	static final class Gone {
		int i;
	}

	static final int ANSWER = 42;
	static long statics = 0x0a0b0c0d0e0f1011L;
	static Kept[] kept;
	static int[][] grid;
	static volatile Object sink;

	static void make() {
		kept = new Kept[KEPT];
		for (int i = 0; i < KEPT; i++) {
			kept[i] = new Kept();
			if (i > 0)
				kept[i].next = kept[i - 1];
		}
		grid = new int[10][100];
		for (int i = 0; i < GONE; i++)
			sink = new Gone();
		sink = null;
	}

	public static void main(String[] args) throws Exception {
		make();
		System.gc();
		Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) : 300); /* until the freed ones are told */
		System.gc();
		Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) : 300);
		System.out.println("ready");
		System.out.flush();
		if (args.length > 1)
			System.in.read();
	}
}
