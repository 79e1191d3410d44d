import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import javax.tools.JavaCompiler;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles sources with javac for args[0] seconds, so that there is much compiled code, then rests. */
public class Live {
    /** Seconds are no work where others take the CPUs: one round left 95 methods compiled (JDK 8). */
    static final int ROUNDS = 4;

    static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    static String source(int i) {
        StringBuilder b = new StringBuilder("import java.util.*;\npublic class C" + i + " {\n");
        for (int m = 0; m < 40; m++) {
            b.append("  static int m").append(m).append("(int a, List<String> s) {\n")
                .append("    int r = a * ").append(m + i).append(";\n")
                .append("    for (String x : s) { r += x.length() ^ m")
                .append((m + 1) % 40).append("(r & 3, Collections.<String>emptyList()); }\n")
                .append("    Runnable q = () -> System.out.println(a);\n")
                .append("    switch (r & 7) { case 0: q.run(); break; case 3: r++; default: r--; }\n")
                .append("    return r;\n  }\n");
        }
        return b.append("}\n").toString();
    }

    static void thread(String name, CountDownLatch forever) {
        Thread t = new Thread(() -> {
            try {
                forever.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        CountDownLatch forever = new CountDownLatch(1);
        thread("a name that is much longer than fifteen bytes", forever);
        thread("Gr\u00fc\u00dfe aus dem Thread", forever);
        thread("\u4f60\u597d \ud83d\ude00 worker", forever);
        Thread renamed = Thread.currentThread();
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        java.nio.file.Path out = java.nio.file.Files.createTempDirectory("live");
        for (int round = 0; round < ROUNDS || System.nanoTime() < end; round++) {
            List<Source> sources = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                sources.add(new Source("C" + i, source(i)));
            }
            List<String> options = Arrays.asList("-d", out.toString());
            if (!javac.getTask(null, null, null, options, null, sources).call()) {
                throw new IllegalStateException("javac failed");
            }
        }
        try (java.util.stream.Stream<java.nio.file.Path> files = java.nio.file.Files.list(out)) {
            files.forEach(f -> f.toFile().delete());
        }
        out.toFile().delete();
        renamed.setName("main, renamed while running");
        System.out.println("ready");
        System.out.flush();
        forever.await();
    }
}
