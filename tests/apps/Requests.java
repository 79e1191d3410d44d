import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;

/** HTTP requests without end: java Requests.java http://HOST:PORT CONNECTIONS PATH... */
final class Requests {
	private static void get(String url, byte[] buffer) throws Exception {
		HttpURLConnection c = (HttpURLConnection) new URL(url).openConnection();

		if (c.getResponseCode() != 200) {
			System.err.println(url + ": status " + c.getResponseCode());
			System.exit(1);
		}
		// Read to its end, a connection is used again.
		try (InputStream in = c.getInputStream()) {
			while (in.read(buffer) > 0)
				continue;
		}
	}

	private static void client(String[] args, int first) {
		byte[] buffer = new byte[65536];

		try {
			for (int i = first;; i++)
				get(args[0] + args[2 + i % (args.length - 2)], buffer);
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) {
		int connections = Integer.parseInt(args[1]);

		System.setProperty("http.maxConnections", String.valueOf(connections));
		for (int i = 0; i < connections; i++) {
			int first = i;
			new Thread(() -> client(args, first)).start();
		}
	}
}
