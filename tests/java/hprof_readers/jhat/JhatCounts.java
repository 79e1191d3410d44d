import com.sun.tools.hat.internal.model.JavaClass;
import com.sun.tools.hat.internal.model.Snapshot;
import com.sun.tools.hat.internal.parser.Reader;

/** Instances of each class of a heap dump, as JDK 8's jhat counts them: lines of a number and a name. */
final class JhatCounts {
	public static void main(String[] args) throws Exception {
		Snapshot snapshot = Reader.readFile(args[0], true, 0);

		snapshot.resolve(true);
		for (JavaClass c : snapshot.getClassesArray())
			System.out.println(c.getInstancesCount(false) + " " + c.getName());
	}
}
