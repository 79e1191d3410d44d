import java.util.concurrent.Semaphore;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** Reads and writes in ZooKeeper without end: java -cp DIR:JARS Nodes HOST:PORT SESSIONS. */
final class Nodes {
	private static final int NODES = 200, PENDING = 64;

	private static void check(int status, Semaphore pending) {
		pending.release();
		if (status != KeeperException.Code.OK.intValue()) {
			System.err.println("ZooKeeper answers " + KeeperException.Code.get(status));
			System.exit(1);
		}
	}

	private static void session(String server, int number) throws Exception {
		ZooKeeper zk = new ZooKeeper(server, 30000, e -> {});
		Semaphore pending = new Semaphore(PENDING);
		String top = "/session" + number;

		zk.create(top, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
		for (int i = 0; i < NODES; i++)
			zk.create(top + "/" + i, new byte[100], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
		for (int i = 0;; i++) {
			String node = top + "/" + i % NODES;

			pending.acquire();
			if (i % 20 == 0)
				zk.setData(node, ("value " + i).getBytes(), -1, (rc, p, ctx, stat) -> check(rc, pending), null);
			else if (i % 20 == 1)
				zk.getChildren(top, false, (rc, p, ctx, names, stat) -> check(rc, pending), null);
			else
				zk.getData(node, i % 50 == 2, (rc, p, ctx, data, stat) -> check(rc, pending), null);
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < Integer.parseInt(args[1]); i++) {
			int number = i;
			new Thread(() -> {
				try {
					session(args[0], number);
				} catch (Exception e) {
					e.printStackTrace();
					System.exit(1);
				}
			}).start();
		}
	}
}
