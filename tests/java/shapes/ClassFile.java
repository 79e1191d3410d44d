import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes class files with any names (JVMS chapter 4). Version 49: no StackMapTable is asked for. A
 * loader of its own defines them, see Loader.
 */
final class ClassFile {
	static final int PUBLIC_STATIC = 9;

	private final Map<String, Integer> index = new LinkedHashMap<>();
	private final ByteArrayOutputStream pool = new ByteArrayOutputStream();
	private final ByteArrayOutputStream methods = new ByteArrayOutputStream();
	private final String name;
	private int poolSize = 1, methodCount;

	ClassFile(String name) {
		this.name = name;
	}

	static final class Loader extends ClassLoader {
		Loader() {
			super(Shape.class.getClassLoader());
		}

		Class<?> define(byte[] b) {
			return defineClass(null, b, 0, b.length);
		}
	}

	private interface Part {
		void to(DataOutputStream out) throws IOException;
	}

	private int entry(String key, Part part) {
		Integer old = index.get(key);
		if (old != null)
			return old;
		append(pool, part);
		index.put(key, poolSize);
		return poolSize++;
	}

	private static void append(ByteArrayOutputStream to, Part part) {
		try {
			part.to(new DataOutputStream(to));
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	int utf8(String s) {
		return entry("u" + s, out -> {
			out.writeByte(1);
			out.writeUTF(s);
		});
	}

	int type(String s) {
		int u = utf8(s);
		return entry("c" + s, out -> {
			out.writeByte(7);
			out.writeShort(u);
		});
	}

	int methodRef(String owner, String method, String descriptor) {
		int c = type(owner), n = utf8(method), d = utf8(descriptor);
		int nameAndType = entry("n" + n + "," + d, out -> {
			out.writeByte(12);
			out.writeShort(n);
			out.writeShort(d);
		});
		return entry("m" + c + "," + nameAndType, out -> {
			out.writeByte(10);
			out.writeShort(c);
			out.writeShort(nameAndType);
		});
	}

	void method(String method, String descriptor, int maxStack, int maxLocals, byte[] code) {
		int n = utf8(method), d = utf8(descriptor), attribute = utf8("Code");
		methodCount++;
		append(methods, out -> {
			out.writeShort(PUBLIC_STATIC);
			out.writeShort(n);
			out.writeShort(d);
			out.writeShort(1);
			out.writeShort(attribute);
			out.writeInt(12 + code.length);
			out.writeShort(maxStack);
			out.writeShort(maxLocals);
			out.writeInt(code.length);
			out.write(code);
			out.writeShort(0); // exceptions
			out.writeShort(0); // attributes
		});
	}

	/** static int NAME(int x): calls that method of that class with x and adds 1. */
	void forwarder(String method, String toClass, String toMethod, int maxLocals) {
		int ref = methodRef(toClass, toMethod, "(I)I");
		method(method, "(I)I", 2, maxLocals, new byte[] {
			0x1a, (byte) 0xb8, (byte) (ref >> 8), (byte) ref, // iload_0, invokestatic
			0x04, 0x60, (byte) 0xac, // iconst_1, iadd, ireturn
		});
	}

	byte[] bytes() {
		int self = type(name), parent = type("java/lang/Object");
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		append(all, out -> {
			out.writeInt(0xCAFEBABE);
			out.writeInt(49);
			out.writeShort(poolSize);
			pool.writeTo(out);
			out.writeShort(0x21); // public, super
			out.writeShort(self);
			out.writeShort(parent);
			out.writeShort(0);
			out.writeShort(0);
			out.writeShort(methodCount);
			methods.writeTo(out);
			out.writeShort(0);
		});
		return all.toByteArray();
	}
}
