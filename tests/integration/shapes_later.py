#!/usr/bin/env python3
"""The shapes of JDK 21 and later: virtual threads, foreign functions. As shapes.py, whose options it takes."""

import re
import sys

import jvm
import shapes
from shapes import Shape, count, in_order

# Many.java's DEPTHS.
DEPTHS = (5, 12, 23, 40)
OWN = re.compile(r"Many\.(call|even|odd|bottom\d?|back)$")


def many_calls(kind):
    calls = []
    for level in range(DEPTHS[kind]):
        calls += ["call", "odd" if level % 3 == kind % 3 else "even"]
    return calls + ["call", "bottom", "bottom%d" % kind]


def many_named(frames, kind):
    """A thread's number is its kind in the last two bits; those with odd ones have no name, but an id."""
    root = virtual_root(frames) or ""
    m = re.match(r"many-(\d+)$", root)
    if (m and int(m.group(1)) % 4 != kind) or (root.startswith("#") and kind % 2 == 0):
        return "%s is of kind %d" % (root, kind)
    return None


def many(frames):
    """The leaf says the kind, and the kind says all frames in front of it, those in the heap too."""
    own = [m.group(1) for f in frames for m in [OWN.match(f)] if m]
    if not own or not re.match(r"bottom\d", own[-1]):
        return None
    bad = many_named(frames, int(own[-1][-1]))
    if "[frozen]" in frames or bad:
        return bad
    if own != many_calls(int(own[-1][-1])):
        return "calls of no kind: %s" % " ".join(own)
    return in_order(frames, "call_stub", "jdk/internal/vm/Continuation.enterSpecial",
                    "jdk/internal/vm/Continuation.enter", "Many.run", "Many.call") or \
        count(frames, "jdk/internal/vm/Continuation.enter", 1)


def many_seen(folded):
    """Most stacks are whole, with their frames in the heap: 90 % and more on an idle machine, 40 % beside a load of
    30 (the first ones, and those whose thread has gone on before they are read, are [frozen])."""
    whole = frozen = 0
    for frames, n in folded:
        plain = [shapes.SUFFIX.sub("", f) for f in frames]
        if any(re.match(r"Many\.bottom\d", f) for f in plain):
            frozen += n if "[frozen]" in plain else 0
            whole += 0 if "[frozen]" in plain else n
    bad = [] if whole >= max(20, frozen / 3) else ["%d stacks whole, %d frozen" % (whole, frozen)]
    roots = {virtual_root(jvm.thread_of(frames)[2]) for frames, _ in folded} - {None}
    strange = [r for r in roots if not re.match(r"(many-|#)\d+$", r)]
    if strange or not 10 < len(roots) <= 1000:
        bad.append("%d names of virtual threads, strange: %s" % (len(roots), strange[:5]))
    return bad


# What each virtual thread of Virtual.java runs; the unnamed one and "yields" run the same.
NAMED = {"fresh": "fresh", "yields": "yields", "pinned": "pinned", "locking-1": "locking", "locking-2": "locking"}


def virtual_root(frames):
    roots = [f[len("[virtual "):-1] for f in frames[:3] if f.startswith("[virtual ")]
    return roots[0] if roots else None


def virtual_names(frames):
    """The root tells whose stack it is."""
    name = virtual_root(frames)
    runs = [m for m in set(NAMED.values()) if "Virtual." + m in frames]
    if name in NAMED and runs and runs != [NAMED[name]]:
        return "%s runs %s" % (name, runs)
    if name and name.startswith("#") and runs and runs != ["yields"]:
        return "the thread without a name runs %s" % runs
    return shapes.virtual(frames)


def names_seen(folded):
    seen = {virtual_root(jvm.thread_of(frames)[2]) for frames, _ in folded}
    missing = [n for n in (*NAMED, "nested") if n not in seen]
    missing += [] if any(n and n.startswith("#") for n in seen) else ["the one without a name"]
    return ["no virtual thread %s" % n for n in missing]


def panama(frames):
    """Down and up again, LEVELS deep, each through the same frames."""
    if "Panama.work" not in frames:
        return in_order(frames, "java/lang/Thread.run", "Panama.run")
    bad = in_order(frames, "java/lang/Thread.run", "Panama.run", *["Panama.sort", "Panama.compare"] * 3, "Panama.work")
    return bad or count(frames, "Panama.sort", 3) or count(frames, "Panama.compare", 3)


VIRTUAL = ["-Djdk.virtualThreadScheduler.parallelism=4", "-XX:CompileCommand=dontinline,Many::bottom*", "-Xmx900m"]
PANAMA = ["--enable-native-access=ALL-UNNAMED", "-XX:CompileCommand=dontinline,Panama::work"]


def virtual_many(*flags, threads=100000, **more):
    return Shape("Many", many, args=["999", str(threads)], threads=r".", since=21, folder="shapes21", slack=0,
                 complete=0, check=many_seen, flags=VIRTUAL + list(flags), **more)


SHAPES = {
    "virtual-names": Shape("Virtual", virtual_names, threads=r".", since=21, folder="shapes21", slack=0, complete=0,
                           flags=["-Djdk.virtualThreadScheduler.parallelism=8"], check=names_seen),
    "virtual-many": virtual_many(),
    "virtual-many-g1": virtual_many("-XX:-UseSerialGC", "-XX:+UseG1GC"),
    "virtual-many-parallel": virtual_many("-XX:-UseSerialGC", "-XX:+UseParallelGC"),
    "virtual-many-z": virtual_many("-XX:-UseSerialGC", "-XX:+UseZGC", threads=20000),
    # Another process stops the threads, and asks this one for the frames in the heap.
    "virtual-many-suspend": virtual_many(options=["--engine", "suspend"]),
    "virtual-many-int": virtual_many("-Xint", threads=5000),
    "panama": Shape("Panama", panama, since=21, preview=21, folder="shapes22", flags=PANAMA, needs=["Panama.work"]),
    "panama-int": Shape("Panama", panama, since=21, preview=21, folder="shapes22", flags=PANAMA + ["-Xint"],
                        needs=["Panama.work"]),
}


if __name__ == "__main__":
    shapes.SHAPES = SHAPES
    sys.exit(shapes.main())
