/** Threads whose names are long, foreign, hostile, empty, the same, and changing. */
public final class ThreadNames {
	static void run() {
		while (true)
			Shape.burn(1_000_000);
	}

	static void renamed() {
		for (int i = 0;; i++) {
			Thread.currentThread().setName(i % 2 == 0 ? "shape-name-even" : "shape-name-odd-and-longer");
			for (int j = 0; j < 100; j++)
				Shape.burn(1_000_000);
		}
	}

	public static void main(String[] args) throws Exception {
		StringBuilder very = new StringBuilder("shape-very-long-");
		for (int i = 0; i < 10_000; i++)
			very.append((char) ('a' + i % 26));
		String[] names = {
			"", " ", "shape-a name with blanks", "shape-semi;colon;", "shape-new\nline 5", "shape-tab\there",
			"shape-esc\u001b[31mred", "shape-bidi\u202egnp.exe", "shape-nul\u0000end",
			"shape-\u00e4\u00f6\u00fc-\u65e5\u672c\u8a9e-\ud83d\ude00", "shape-lone\ud83d", "shape-</script><b>\"'&",
			"shape-same", "shape-same", "shape-[x tid=1]", very.toString(), very.substring(0, 900),
		};
		for (String name : names)
			Shape.start(name, ThreadNames::run);
		Shape.start("shape-renamed", ThreadNames::renamed);
		Shape.stay(args);
	}
}
