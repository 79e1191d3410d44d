/** What loaders define that see no other class of this program: calls, an exception that is caught, arrays of each kind. */
public class CallsGuest implements Runnable {
	public static int sum;

	static int[] made(int n) {
		int[] ints = new int[n];
		Object[] objects = new Object[n];
		Object[][] nested = new Object[n][n];
		objects[0] = ints.clone();
		nested[0] = objects.clone();
		return (int[]) nested[0][0];
	}

	static void fails() {
		throw new RuntimeException();
	}

	@Override
	public void run() {
		sum += made(3).length;
		try {
			fails();
		} catch (RuntimeException e) {
			sum++;
		}
	}
}
