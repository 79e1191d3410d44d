import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/** Works until the whole process has used so many milliseconds of CPU time. */
public final class Children {
    private static volatile long sink;

    private static long used() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static void work(long until) {
        while (used() < until) {
            Map<Integer, Integer> map = new HashMap<>();
            for (int i = 0; i < 20000; i++)
                map.merge(i % 1000, i, Integer::sum);
            sink += map.size();
        }
    }

    public static void main(String[] args) {
        work(Long.parseLong(args[0]) * 1000000);
    }
}
