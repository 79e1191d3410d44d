import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;

/**
 * A class is redefined (with its own bytes) 20 times a second while its methods run.
 *
 * Run with -javaagent:JAR whose manifest says Premain-Class: Redefine, Can-Redefine-Classes: true
 */
public final class Redefine {
	static Instrumentation instrumentation;

	public static void premain(String args, Instrumentation i) {
		instrumentation = i;
	}

	public static final class Body {
		static long outer(int x) {
			return inner(x) + 1;
		}

		static long inner(int x) {
			return Shape.burn(x) + x;
		}
	}

	static void run() {
		while (true)
			Shape.sink += Body.outer(20_000);
	}

	static void redefine() {
		try {
			byte[] b = Shape.bytes("Redefine$Body");
			while (true) {
				Thread.sleep(50);
				instrumentation.redefineClasses(new ClassDefinition(Body.class, b));
			}
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Shape.start("shape-redefined", Redefine::run);
		Shape.start("redefiner", Redefine::redefine);
		Shape.stay(args);
	}
}
