import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.Deflater;

/**
 * Something to look at: a small "order service" whose threads do several kinds of work for about a
 * minute (or as many seconds as the first argument says). Prints "ready" when all of them run.
 *
 * Pricing.discount is meant to run with -XX:CompileCommand=exclude,Demo$Pricing::discount, so that
 * interpreted code is in the picture.
 */
public final class Demo {
	static volatile boolean stop;
	static volatile Object sink;

	interface Work {
		Object once();
	}

	/** Reads and writes JSON. */
	static final class Json implements Work {
		final String text;

		Json(Random random) {
			StringBuilder sb = new StringBuilder("[");
			for (int i = 0; i < 400; i++)
				sb.append(i == 0 ? "" : ",").append("{\"id\":").append(random.nextInt(100_000))
					.append(",\"customer\":\"C").append(random.nextInt(500)).append("\",\"lines\":[1,2.5,")
					.append(random.nextDouble()).append("],\"open\":true}");
			text = sb.append(']').toString();
		}

		public Object once() {
			Object tree = new Parser(text).value();
			StringBuilder out = new StringBuilder();
			write(tree, out);
			return out.length();
		}

		void write(Object node, StringBuilder out) {
			if (node instanceof Map) {
				out.append('{');
				for (Map.Entry<?, ?> e : ((Map<?, ?>) node).entrySet()) {
					out.append('"').append(e.getKey()).append("\":");
					write(e.getValue(), out);
					out.append(',');
				}
				out.append('}');
			} else if (node instanceof List) {
				out.append('[');
				for (Object o : (List<?>) node) {
					write(o, out);
					out.append(',');
				}
				out.append(']');
			} else {
				out.append(node);
			}
		}
	}

	static final class Parser {
		final String text;
		int at;

		Parser(String text) {
			this.text = text;
		}

		Object value() {
			char c = text.charAt(at);
			if (c == '{')
				return object();
			if (c == '[')
				return array();
			if (c == '"')
				return string();
			if (c == 't') {
				at += 4;
				return Boolean.TRUE;
			}
			return number();
		}

		Map<String, Object> object() {
			Map<String, Object> m = new HashMap<>();
			at++;
			while (text.charAt(at) != '}') {
				String key = string();
				at++;
				m.put(key, value());
				if (text.charAt(at) == ',')
					at++;
			}
			at++;
			return m;
		}

		List<Object> array() {
			List<Object> l = new ArrayList<>();
			at++;
			while (text.charAt(at) != ']') {
				l.add(value());
				if (text.charAt(at) == ',')
					at++;
			}
			at++;
			return l;
		}

		String string() {
			int end = text.indexOf('"', at + 1);
			String s = text.substring(at + 1, end);
			at = end + 1;
			return s;
		}

		Double number() {
			int begin = at;
			while ("+-.eE0123456789".indexOf(text.charAt(at)) >= 0)
				at++;
			return Double.valueOf(text.substring(begin, at));
		}
	}

	static final class Order {
		final int id, customer;
		final double amount;
		final String city;

		Order(Random r) {
			id = r.nextInt();
			customer = r.nextInt(500);
			amount = r.nextDouble() * 1000;
			city = "city" + r.nextInt(60);
		}

		String city() { return city; }
		double amount() { return amount; }
		int customer() { return customer; }
	}

	/** Sorts, groups and prices orders. */
	static final class Reports implements Work {
		final List<Order> orders = new ArrayList<>();
		final Pricing pricing = new Pricing();

		Reports(Random random) {
			for (int i = 0; i < 5_000; i++)
				orders.add(new Order(random));
		}

		public Object once() {
			List<Order> copy = new ArrayList<>(orders);
			copy.sort(Comparator.comparing(Order::city).thenComparing(Order::amount));
			Map<Integer, Double> byCustomer = orders.stream()
				.filter(o -> o.amount() > 10)
				.collect(Collectors.groupingBy(Order::customer, TreeMap::new,
					Collectors.summingDouble(Order::amount)));
			double total = 0;
			for (int i = 0; i < 300; i++)
				total += pricing.discount(copy.get(i).amount);
			return byCustomer.size() + total;
		}
	}

	static final class Pricing {
		/** Kept in the interpreter. */
		double discount(double amount) {
			double rest = amount;
			for (int step = 0; step < 60 && rest > 1; step++)
				rest -= rest > 500 ? rest * 0.05 : rest * 0.02;
			return amount - rest;
		}
	}

	/** Looks for things in logs, then packs them. */
	static final class Logs implements Work {
		static final Pattern LINE = Pattern.compile("(\\d+) (INFO|WARN|ERROR) \\[(\\w+)\\] (.*?) took (\\d+) ms");
		final String text;
		final byte[] bytes, packed;

		Logs(Random random) {
			StringBuilder sb = new StringBuilder();
			for (int i = 0; i < 2_000; i++)
				sb.append(i).append(random.nextBoolean() ? " INFO" : " WARN").append(" [worker")
					.append(random.nextInt(9)).append("] request ").append(Integer.toHexString(random.nextInt()))
					.append(" took ").append(random.nextInt(900)).append(" ms\n");
			text = sb.toString();
			bytes = text.getBytes(StandardCharsets.UTF_8);
			packed = new byte[bytes.length];
		}

		public Object once() {
			long sum = 0;
			Matcher m = LINE.matcher(text);
			while (m.find())
				sum += Long.parseLong(m.group(5));
			Deflater d = new Deflater(4);
			d.setInput(bytes);
			d.finish();
			while (!d.finished())
				sum += d.deflate(packed);
			d.end();
			return sum;
		}
	}

	/** Numbers: matrix product. */
	static final class Forecast implements Work {
		static final int N = 160;
		final double[][] a = new double[N][N], b = new double[N][N];

		Forecast(Random random) {
			for (int i = 0; i < N; i++)
				for (int j = 0; j < N; j++) {
					a[i][j] = random.nextDouble();
					b[i][j] = random.nextDouble();
				}
		}

		public Object once() {
			return multiply(a, b)[N - 1][0];
		}

		static double[][] multiply(double[][] a, double[][] b) {
			double[][] c = new double[N][N];
			for (int i = 0; i < N; i++)
				for (int k = 0; k < N; k++) {
					double f = a[i][k];
					for (int j = 0; j < N; j++)
						c[i][j] += f * b[k][j];
				}
			return c;
		}
	}

	/** A cache that keeps the collector busy. */
	static final class Cache implements Work {
		final Map<String, byte[]> entries = new HashMap<>();
		final Random random;

		Cache(Random random) {
			this.random = random;
		}

		public Object once() {
			for (int i = 0; i < 2_000; i++) {
				String key = "session-" + random.nextInt(20_000);
				byte[] hit = entries.get(key);
				if (hit == null || random.nextInt(4) == 0)
					entries.put(key, new byte[256 + random.nextInt(2_000)]);
				else
					Arrays.fill(hit, (byte) i);
			}
			return entries.size();
		}
	}

	static void start(String name, Work work) {
		Thread t = new Thread(() -> {
			while (!stop)
				sink = work.once();
		}, name);
		t.setDaemon(true);
		t.start();
	}

	public static void main(String[] args) throws Exception {
		long seconds = args.length > 0 ? Long.parseLong(args[0]) : 60;
		start("json-api", new Json(new Random(1)));
		start("report-builder", new Reports(new Random(2)));
		start("log-shipper", new Logs(new Random(3)));
		start("forecast", new Forecast(new Random(4)));
		start("session-cache", new Cache(new Random(5)));
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(seconds * 1000);
		stop = true;
	}
}
