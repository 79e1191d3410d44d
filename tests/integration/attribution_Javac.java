import java.io.File;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * The compiler at work, for ever: java -cp DIR Javac SOURCES OUT [THREADS]. SOURCES holds packages of
 * java.base. Errors do no harm (the sources may be those of another JDK). Prints "ready" after a round.
 */
class Javac {
	static void round(Path sources, Path out) throws Exception {
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		List<File> files;

		try (Stream<Path> all = Files.walk(sources)) {
			files = all.filter(p -> p.toString().endsWith(".java")).map(Path::toFile)
				.collect(Collectors.toList());
		}
		try (StandardJavaFileManager m = javac.getStandardFileManager(d -> {}, null, null)) {
			Iterable<? extends JavaFileObject> units = m.getJavaFileObjectsFromFiles(files);
			List<String> options = new ArrayList<>(List.of("-nowarn", "-proc:none", "-d", out.toString(),
				"-XDshould-stop.ifError=FLOW", "--patch-module", "java.base=" + sources));
			javac.getTask(new StringWriter(), m, d -> {}, options, null, units).call();
		}
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0;; i++) {
			round(Path.of(args[0]), Path.of(args[1]));
			if (i == 0) {
				System.out.println("ready");
				System.out.flush();
			}
		}
	}
}
