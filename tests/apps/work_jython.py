"""Jython at work, for ever: classes, dictionaries, generators, strings, the compiler. Prints "ready" after a round."""

import json
import re
import sys


class Shape(object):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def area(self):
        return self.a * self.b

    def __lt__(self, other):
        return self.area() < other.area()


class Circle(Shape):
    def __init__(self, r):
        Shape.__init__(self, r, r)

    def area(self):
        return 3.14159 * self.a * self.b


def numbers(seed, n):
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        yield seed >> 8


def histogram(seed):
    counts = {}
    for x in numbers(seed, 20000):
        key = "%x" % (x % 997)
        counts[key] = counts.get(key, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def shapes(seed):
    made = [Circle(x % 10) if x & 1 else Shape(x % 7, x % 11) for x in numbers(seed, 3000)]
    return sum(s.area() for s in sorted(made)[:1000])


def texts(pairs):
    text = json.dumps(dict(pairs))
    return len(re.sub(r'"(\w)(\w*)"', lambda m: m.group(2) + m.group(1), text)) + len(json.loads(text))


def compiled(seed):
    scope = {}
    exec(compile("def f(x):\n    return [x * i + %d for i in range(50)]" % seed, "made", "exec"), scope)
    return sum(scope["f"](3))


def main():
    turn, total = 0, 0
    while True:
        total += texts(histogram(turn)) + shapes(turn) + compiled(turn)
        if turn == 0:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
        turn += 1


main()
