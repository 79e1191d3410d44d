import java.lang.annotation.Annotation;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/*
 * Starts as an application with a container does, and ends: looks through many classes by reflection, makes beans, proxies
 * around them and class loaders for them, links lambdas and method handles, reads what is configured.
 *
 * java Startup [rounds]
 */
public class Startup {
	@Retention(RetentionPolicy.RUNTIME)
	@interface Bean {
		String value() default "";
	}

	interface Service {
		String call(String text);
	}

	@Bean("first")
	static class First implements Service {
		public String call(String text) {
			return text + "/" + text.length();
		}
	}

	@Bean("second")
	static class Second implements Service {
		private final Service inner = new First();

		public String call(String text) {
			return inner.call(text.trim()).toUpperCase();
		}
	}

	static final String[] PACKAGES = {"java.util.", "java.util.concurrent.", "java.util.stream.", "java.text.", "java.net.",
		"java.nio.", "java.nio.file.", "java.io.", "java.time.", "java.time.format.", "java.security.", "java.math.",
		"java.util.zip.", "java.util.jar.", "java.util.regex.", "java.lang.reflect.", "java.lang.invoke.",
		"javax.crypto.", "javax.net.ssl.", "java.util.logging."};
	static final String[] NAMES = {"ArrayList", "HashMap", "TreeMap", "LinkedHashMap", "Collections", "Arrays", "Scanner",
		"Formatter", "Locale", "Calendar", "GregorianCalendar", "Timer", "Properties", "ConcurrentHashMap",
		"ForkJoinPool", "ThreadPoolExecutor", "CompletableFuture", "Stream", "Collectors", "IntStream", "DecimalFormat",
		"SimpleDateFormat", "MessageFormat", "URL", "URI", "InetAddress", "Socket", "URLClassLoader", "ByteBuffer",
		"CharBuffer", "Files", "Paths", "BufferedReader", "PrintStream", "File", "LocalDate", "Instant", "Duration",
		"ZonedDateTime", "DateTimeFormatter", "DateTimeFormatterBuilder", "MessageDigest", "KeyStore", "Signature",
		"BigInteger", "BigDecimal", "ZipFile", "Deflater", "JarFile", "Manifest", "Pattern", "Matcher", "Proxy",
		"Method", "MethodHandles", "MethodType", "Cipher", "SSLContext", "Logger", "LogManager", "Level"};

	static final Map<String, Object> beans = new ConcurrentHashMap<>();
	static long sum;

	static List<Class<?>> scan() {
		List<Class<?>> found = new ArrayList<>();

		for (String p : PACKAGES) {
			for (String n : NAMES) {
				try {
					found.add(Class.forName(p + n));
				} catch (ClassNotFoundException e) {
					sum++;
				}
			}
		}
		return found;
	}

	static void introspect(Class<?> c) {
		for (Method m : c.getDeclaredMethods()) {
			sum += m.toGenericString().length();
			for (Annotation a : m.getAnnotations())
				sum += a.annotationType().getName().length();
		}
		for (Field f : c.getDeclaredFields())
			sum += f.getGenericType().getTypeName().length();
		for (Constructor<?> k : c.getDeclaredConstructors())
			sum += k.getParameterCount();
	}

	static Service proxy(Object target, ClassLoader loader) {
		InvocationHandler h = (self, m, args) -> m.invoke(target, args);

		return (Service) Proxy.newProxyInstance(loader, new Class<?>[] {Service.class}, h);
	}

	/* The same classes once more, in a loader of their own: what a container does for each of its applications. */
	static Object again(Class<?> c) throws Exception {
		URL here = Startup.class.getProtectionDomain().getCodeSource().getLocation();
		ClassLoader own = new URLClassLoader(new URL[] {here}, null);
		Class<?> loaded = Class.forName(c.getName(), true, own);
		Constructor<?> k = loaded.getDeclaredConstructor();

		k.setAccessible(true);
		introspect(loaded);
		return k.newInstance();
	}

	static void wire(int round) throws Exception {
		for (Class<?> c : new Class<?>[] {First.class, Second.class}) {
			Constructor<?> k = c.getDeclaredConstructor();
			Service s = proxy(k.newInstance(), Startup.class.getClassLoader());

			beans.put(c.getAnnotation(Bean.class).value() + round, s);
			sum += again(c).hashCode() & 1;
			sum += s.call(" round " + round).length();
		}
	}

	static void lambdas() throws Throwable {
		List<Function<String, String>> steps = new ArrayList<>();
		MethodHandles.Lookup lookup = MethodHandles.lookup();
		MethodHandle concat = lookup.findVirtual(String.class, "concat", MethodType.methodType(String.class, String.class));
		Supplier<Map<String, List<String>>> groups;

		steps.add(String::trim);
		steps.add(s -> s + "!");
		steps.add(String::toUpperCase);
		steps.add(s -> s.replaceAll("[aeiou]", "."));
		steps.add(s -> String.format("%s %d %x", s, s.length(), s.hashCode()));
		for (Function<String, String> f : steps)
			sum += f.apply("a bean of sorts").length();
		for (int i = 0; i < 8; i++)
			concat = MethodHandles.filterReturnValue(concat, lookup.findVirtual(String.class, "toString",
				MethodType.methodType(String.class)));
		sum += ((String) concat.invokeExact("a", "b")).length();
		groups = () -> beans.keySet().stream().sorted().collect(Collectors.groupingBy(s -> s.substring(0, 1), TreeMap::new,
			Collectors.toList()));
		sum += groups.get().size();
	}

	static void configure(int round) {
		Pattern line = Pattern.compile("^\\s*([a-z.]+)\\s*=\\s*(.*?)\\s*$");

		for (int i = 0; i < 200; i++) {
			java.util.regex.Matcher m = line.matcher(" server.port." + "abc".charAt(i % 3) + " = " + i * round);

			if (m.matches())
				beans.put(m.group(1) + i, m.group(2));
		}
	}

	public static void main(String[] args) throws Throwable {
		int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 8;
		ExecutorService pool = Executors.newFixedThreadPool(2);
		List<Future<?>> left = new ArrayList<>();

		for (Class<?> c : scan())
			left.add(pool.submit(() -> introspect(c)));
		for (int i = 0; i < rounds; i++) {
			wire(i);
			lambdas();
			configure(i);
		}
		for (Future<?> f : left)
			f.get();
		pool.shutdown();
		System.out.println("started " + beans.size() + (sum == 0 ? "?" : ""));
	}
}
