import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** The H2 database at work in memory, for ever: java -cp DIR:h2.jar H2 [PAUSE_MS]. Prints "ready" after a few rounds. */
class H2 {
	static final int CUSTOMERS = 500, ORDERS = 3000;

	static void fill(Connection c) throws Exception {
		try (Statement s = c.createStatement()) {
			s.execute("create table customer(id int primary key, name varchar(40), region int)");
			s.execute("create table orders(id int primary key, customer int, amount decimal(12, 2), note varchar)");
			s.execute("create index orders_customer on orders(customer)");
		}
		try (PreparedStatement p = c.prepareStatement("insert into customer values(?, ?, ?)")) {
			for (int i = 0; i < CUSTOMERS; i++) {
				p.setInt(1, i);
				p.setString(2, "customer " + Integer.toString(i * 7919, 36));
				p.setInt(3, i % 17);
				p.executeUpdate();
			}
		}
	}

	static void change(Connection c, int round) throws Exception {
		try (PreparedStatement p = c.prepareStatement("merge into orders values(?, ?, ?, ?)")) {
			for (int i = 0; i < ORDERS; i++) {
				p.setInt(1, i);
				p.setInt(2, (i * 31 + round) % CUSTOMERS);
				p.setBigDecimal(3, java.math.BigDecimal.valueOf(i * 97L + round, 2));
				p.setString(4, "note " + (i ^ round));
				p.executeUpdate();
			}
		}
	}

	static long query(Connection c, String sql) throws Exception {
		long n = 0;
		try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
			while (r.next())
				n += r.getLong(1) + r.getString(2).length();
		}
		return n;
	}

	static long round(Connection c, int i) throws Exception {
		change(c, i);
		return query(c, "select count(*), c.name from orders o join customer c on o.customer = c.id "
				+ "where o.amount > " + i % 100 + " group by c.name order by c.name")
			+ query(c, "select sum(o.amount), upper(c.name) from orders o join customer c on o.customer = c.id "
				+ "where c.region = " + i % 17 + " and o.note like '%" + i % 10 + "%' group by upper(c.name)")
			+ query(c, "select id, note from orders where customer in (select id from customer where region < 5) "
				+ "order by amount desc, note limit 500");
	}

	public static void main(String[] args) throws Exception {
		long sum = 0, pause = args.length > 0 ? Long.parseLong(args[0]) : 0;
		try (Connection c = DriverManager.getConnection("jdbc:h2:mem:")) {
			fill(c);
			for (int i = 0;; i++) {
				sum += round(c, i);
				if (i == 30) {
					System.out.println("ready");
					System.out.flush();
				}
				Thread.sleep(pause);
			}
		} finally {
			System.err.println(sum);
		}
	}
}
