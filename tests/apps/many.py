#!/usr/bin/env python3
"""Writes the sources of a program of 25,000 classes with 50,000 lambdas: many.py FOLDER. Its main class is Many, which
prints "ready" when a tenth of them have run, and then runs all of them again and again."""

import pathlib
import sys

FILES, CLASSES = 250, 100

CLASS = """class C%(n)d {
	static int run(int x) {
		java.util.function.IntUnaryOperator f = v -> v * %(odd)d + x;
		java.util.function.IntBinaryOperator g = (v, w) -> (v ^ w) + %(n)d;
		return g.applyAsInt(f.applyAsInt(x), x);
	}
}
"""

GROUP = """class G%(n)d implements java.util.function.IntUnaryOperator {
	public int applyAsInt(int x) {
%(calls)s		return x;
	}
}
"""

MAIN = """class Many {
	public static void main(String[] args) throws Exception {
		java.util.function.IntUnaryOperator[] groups = new java.util.function.IntUnaryOperator[%(files)d];
		int x = 1;

		for (int round = 0;; round++) {
			for (int i = 0; i < groups.length; i++) {
				if (round == 0)
					groups[i] = (java.util.function.IntUnaryOperator) Class.forName("G" + i)
						.getDeclaredConstructor().newInstance();
				x = groups[i].applyAsInt(x);
				if (round == 0 && i == groups.length / 10) {
					System.out.println("ready");
					System.out.flush();
				}
			}
			if (x == 0x12345678)
				System.out.println();
		}
	}
}
"""


def write(folder):
    folder = pathlib.Path(folder)
    for i in range(FILES):
        numbers = range(i * CLASSES, (i + 1) * CLASSES)
        calls = "".join("\t\tx = C%d.run(x);\n" % n for n in numbers)
        text = "".join(CLASS % {"n": n, "odd": 2 * n + 3} for n in numbers) + GROUP % {"n": i, "calls": calls}
        (folder / ("G%d.java" % i)).write_text(text)
    (folder / "Many.java").write_text(MAIN % {"files": FILES})


if __name__ == "__main__":
    write(sys.argv[1])
