import java.lang.reflect.Method;

/**
 * Classes and methods whose names javac would refuse. With -XX:+UnlockDiagnosticVMOptions
 * -XX:-BytecodeVerificationRemote (and the second argument "forbidden") the JVM
 * takes names that no specification allows, such as those with ';' and '.'.
 */
public final class HostileNames {
	static final String[] NAMES = {
		"new\nline 17", "with blank 3", "quote\"'</script><b>&", "esc\u001bc", "bidi\u202egnp",
		"\u65e5\u672c\u8a9e\ud83d\ude00", "lone\ud83dsurrogate", "tab\tcr\rnul\u0000", "Bad%s%n$$Lambda",
	};
	static final String[] FORBIDDEN = {"semi;colon", "not/lang/Thread;main 12", "a[0]b", "plain_[j]", "[unknown] 7"};

	static Method define(ClassFile.Loader loader, String name) throws ReflectiveOperationException {
		ClassFile c = new ClassFile(name);
		// A method's name must be free of what stands for packages and initialisers.
		c.forwarder(name.replaceAll("[<>/]", ""), "Leaf", "leaf", 1);
		Class<?> type = loader.define(c.bytes());
		for (Method m : type.getDeclaredMethods())
			if (m.getParameterCount() == 1)
				return m;
		throw new NoSuchMethodException(name);
	}

	static String longName() {
		StringBuilder sb = new StringBuilder("Long");
		while (sb.length() < 65_000)
			sb.append("name").append(sb.length());
		return sb.substring(0, 65_000);
	}

	static void run(boolean forbidden) {
		try {
			ClassFile.Loader loader = new ClassFile.Loader();
			java.util.List<Method> all = new java.util.ArrayList<>();
			for (String n : NAMES)
				all.add(define(loader, n));
			all.add(define(loader, longName()));
			if (forbidden)
				for (String n : FORBIDDEN)
					all.add(define(loader, n));
			while (true)
				for (Method m : all)
					m.invoke(null, 20_000);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		boolean forbidden = args.length > 1 && args[1].equals("forbidden");
		Shape.start("shape-hostile", () -> run(forbidden));
		Shape.stay(args);
	}
}
