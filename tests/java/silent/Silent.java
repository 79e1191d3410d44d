import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** Listens under the name of the JVM's own attach socket, and never answers; until its input ends. */
public class Silent {
	public static void main(String[] args) throws Exception {
		Path path = Path.of("/tmp/.java_pid" + ProcessHandle.current().pid());
		Files.deleteIfExists(path);
		try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
			listener.bind(UnixDomainSocketAddress.of(path));
			System.out.println("ready");
			System.out.flush();
			while (System.in.read() >= 0)
				;
		} finally {
			Files.deleteIfExists(path);
		}
	}
}
