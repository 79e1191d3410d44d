import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.concurrent.locks.LockSupport;

/** A thread for each way to be blocked, named after it, and one that computes: for has_run_probe record. */
public class Blocked {
	static final Object held = new Object(), never = new Object();
	static volatile long sink;

	interface Body {
		void run() throws Exception;
	}

	static void start(String name, Body body) {
		Thread t = new Thread(() -> {
			try {
				body.run();
			} catch (Exception e) {
				e.printStackTrace();
			}
		}, name);
		t.setDaemon(true);
		t.start();
	}

	static void compute() {
		long x = 1;
		while (true) {
			for (int i = 0; i < 1000; i++)
				x = x * 31 + i;
			sink = x;
		}
	}

	static void receive() throws Exception {
		ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
		Socket s = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
		InputStream in = s.getInputStream();
		in.read();
	}

	static void accept(int timeout) throws Exception {
		ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
		server.setSoTimeout(timeout);
		server.accept();
	}

	static void select(long timeout) throws Exception {
		try (Selector s = Selector.open()) {
			while (true)
				s.select(timeout);
		}
	}

	static void await(Object o, long timeout) throws Exception {
		synchronized (o) {
			while (true)
				o.wait(timeout);
		}
	}

	public static void main(String[] args) throws Exception {
		start("holds", () -> { synchronized (held) { Thread.sleep(10_000_000); } });
		Thread.sleep(200);
		start("monitor", () -> { synchronized (held) { sink++; } });
		start("waits", () -> await(never, 0));
		start("waits-timed", () -> await(new Object(), 5_000_000));
		start("parks", () -> { while (true) LockSupport.park(); });
		start("parks-timed", () -> { while (true) LockSupport.parkNanos(5_000_000_000_000L); });
		start("sleeps", () -> Thread.sleep(10_000_000));
		start("selects", () -> select(0));
		start("selects-timed", () -> select(5_000_000));
		start("accepts", () -> accept(0));
		start("accepts-timed", () -> accept(5_000_000));
		start("accepts-nio", () -> ServerSocketChannel.open().bind(null).accept());
		start("receives", Blocked::receive);
		start("reads-pipe", () -> Pipe.open().source().read(java.nio.ByteBuffer.allocate(1)));
		start("waits-process", () -> new ProcessBuilder("sleep", "1000").start().waitFor());
		start("computes", Blocked::compute);
		Thread.sleep(1000);
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
