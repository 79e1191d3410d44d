/** Truth by another name: packages.py asks for a JVM by its main class, and other tests' Truth may run at the same time. */
public final class Packaged {
	public static void main(String[] args) throws Exception {
		Truth.main(args);
	}
}
