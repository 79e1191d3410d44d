import java.lang.reflect.Method;

/**
 * Frames of unusual size: one with 60,000 local slots (480,000 bytes in the interpreter), one with
 * 3,000 values that live across a call (24,000 bytes when compiled).
 *
 * Run with -XX:-DontCompileHugeMethods
 */
public final class Huge {
	static final int LIVE = 3_000;

	static byte[] wide() {
		ClassFile c = new ClassFile("HugeLocals");
		c.forwarder("wide", "Leaf", "leaf", 60_000);
		return c.bytes();
	}

	/** static int many(int x): LIVE times leaf(1), then leaf(x), then the sum of them all. */
	static byte[] live() {
		ClassFile c = new ClassFile("HugeLive");
		int ref = c.methodRef("Leaf", "leaf", "(I)I");
		java.nio.ByteBuffer b = java.nio.ByteBuffer.allocate(LIVE * 20);
		for (int i = 1; i <= LIVE; i++)
			b.put((byte) 0x04).put((byte) 0xb8).putShort((short) ref) // iconst_1, invokestatic
				.put((byte) 0xc4).put((byte) 0x36).putShort((short) i); // wide istore
		b.put((byte) 0x1a).put((byte) 0xb8).putShort((short) ref);
		for (int i = 1; i <= LIVE; i++)
			b.put((byte) 0xc4).put((byte) 0x15).putShort((short) i).put((byte) 0x60); // wide iload, iadd
		b.put((byte) 0xac);
		c.method("many", "(I)I", 2, LIVE + 1, java.util.Arrays.copyOf(b.array(), b.position()));
		return c.bytes();
	}

	static void run() {
		try {
			ClassFile.Loader loader = new ClassFile.Loader();
			Method wide = loader.define(wide()).getMethod("wide", int.class);
			Method many = loader.define(live()).getMethod("many", int.class);
			while (true) {
				wide.invoke(null, 3_000_000);
				many.invoke(null, 3_000_000);
			}
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-huge", 64 << 20, Huge::run);
		Shape.stay(args);
	}
}
