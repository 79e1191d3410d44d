import java.lang.reflect.Method;
import java.util.Arrays;

/** Runs another program in two threads at once, for ever: java -cp DIR:ITS_CLASS_PATH Twice MAIN ARGS. */
public class Twice {
	static void run(Method main, String[] args) {
		try {
			main.invoke(null, (Object) args);
		} catch (ReflectiveOperationException e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Exception {
		Method main = Class.forName(args[0]).getDeclaredMethod("main", String[].class);
		String[] rest = Arrays.copyOfRange(args, 1, args.length);

		main.setAccessible(true);
		for (int i = 0; i < 2; i++)
			new Thread(() -> run(main, rest.clone()), "work-" + i).start();
	}
}
