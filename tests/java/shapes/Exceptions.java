/**
 * Exceptions of every origin, caught many frames up: thrown, implicit (null, division, array
 * bounds, cast: by signal or stub), with and without a filled stack trace; uncommon traps.
 */
public final class Exceptions {
	static final RuntimeException CHEAP = new RuntimeException("cheap", null, false, false) {
		private static final long serialVersionUID = 1;
	};
	static Object[] objects = {"text", null, 5, new int[0]};

	static int throwing(int depth, int kind) {
		if (depth > 0)
			return throwing(depth - 1, kind) + 1;
		Object o = objects[kind & 3];
		switch (kind % 6) {
		case 0: throw CHEAP;
		case 1: throw new IllegalStateException("dear");
		case 2: return objects[1].hashCode();
		case 3: return 7 / (kind - kind);
		case 4: return ((String) objects[2]).length();
		default: return ((int[]) objects[3])[kind] + o.hashCode();
		}
	}

	static int caught(int kind) {
		try {
			return throwing(30, kind);
		} catch (RuntimeException e) {
			return e.getStackTrace().length;
		}
	}

	static void run() {
		int kind = 0;
		while (true) {
			Shape.sink += caught(kind++);
			Shape.burn(2_000);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-exceptions", Exceptions::run);
		Shape.stay(args);
	}
}
