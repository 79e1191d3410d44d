import java.io.File;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import kotlin.jvm.JvmClassMappingKt;
import kotlin.reflect.KClass;
import shark.Hprof;
import shark.HprofRecord;
import shark.HprofRecord.HeapDumpRecord.ObjectRecord.InstanceDumpRecord;
import shark.HprofRecord.HeapDumpRecord.ObjectRecord.ObjectArrayDumpRecord;
import shark.HprofRecord.HeapDumpRecord.ObjectRecord.PrimitiveArrayDumpRecord;
import shark.HprofRecord.LoadClassRecord;
import shark.HprofRecord.StringRecord;

/** Instances of each class of a heap dump, as LeakCanary's reader tells them: lines of a number and a name. */
final class SharkCounts {
	private static final Map<Long, String> strings = new HashMap<>();
	private static final Map<Long, String> classes = new HashMap<>();
	private static final Map<String, Integer> counts = new HashMap<>();

	private static void record(HprofRecord r) {
		if (r instanceof StringRecord)
			strings.put(((StringRecord)r).getId(), ((StringRecord)r).getString());
		else if (r instanceof LoadClassRecord)
			classes.put(((LoadClassRecord)r).getId(), strings.get(((LoadClassRecord)r).getClassNameStringId()));
		else if (r instanceof InstanceDumpRecord)
			counts.merge(classes.get(((InstanceDumpRecord)r).getClassId()), 1, Integer::sum);
		else if (r instanceof ObjectArrayDumpRecord)
			counts.merge(classes.get(((ObjectArrayDumpRecord)r).getArrayClassId()), 1, Integer::sum);
		else if (r instanceof PrimitiveArrayDumpRecord) /* IntArrayDump and the like */
			counts.merge(r.getClass().getSimpleName(), 1, Integer::sum);
	}

	@SuppressWarnings("deprecation")
	public static void main(String[] args) throws Exception {
		KClass<HprofRecord> all = JvmClassMappingKt.getKotlinClass(HprofRecord.class);

		try (Hprof file = Hprof.Companion.open(new File(args[0]))) {
			file.getReader().readHprofRecords(Collections.singleton(all), (position, r) -> record(r));
		}
		counts.forEach((name, n) -> System.out.println(n + " " + name));
	}
}
