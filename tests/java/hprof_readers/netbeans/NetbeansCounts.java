import java.io.File;
import java.util.List;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.JavaClass;

/** Instances of each class of a heap dump, as NetBeans' reader (VisualVM's) counts them: lines of a number and a name. */
final class NetbeansCounts {
	public static void main(String[] args) throws Exception {
		Heap heap = HeapFactory.createHeap(new File(args[0]));
		List<?> classes = heap.getAllClasses();

		for (Object one : classes) {
			JavaClass c = (JavaClass)one;

			System.out.println(c.getInstancesCount() + " " + c.getName());
		}
	}
}
