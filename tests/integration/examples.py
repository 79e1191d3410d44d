#!/usr/bin/env python3
"""The agents of jvm-bridge/examples, on programs with known numbers of calls and objects (tests/java/hprof).

usage: examples.py [--jdk 17] [--case NAME]
"""

import re
import subprocess
import sys

import bridge
import jvm


def run(jdk, example, main, options=""):
    """What it writes, and what is wrong with it."""
    library = jvm.build_dir() / ("jvm-bridge/libexample_%s.so" % example)
    argv = [str(jdk.home / "bin/java"), "-Xcheck:jni", bridge.hosted(library, options, "quiet,"), "-cp",
            str(jvm.compile_java(jdk, "hprof")), *main]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=bridge.DONE)
    said = done.stdout + done.stderr
    return done.stderr, ["status %d: %s" % (done.returncode, said[-600:])] if done.returncode else []


def class_trace(jdk, _):
    text, bad = run(jdk, "class_trace", ["Heap", "0"])
    for name in ("java.lang.Object", "Heap", "Heap$Kept"):
        if len(re.findall("^class load: %s$" % re.escape(name), text, re.M)) != 1:
            bad.append("%s is not there once" % name)
    return bad


def method_count(jdk, _):
    """run() calls leaf() and thrower() 1,000 times; 500 exceptions have four constructors each, and fill in their stacks."""
    text, bad = run(jdk, "method_count", ["Calls", "0"])
    counts = {name: int(n) for name, n in re.findall(r'^thread "(.*)" entered (\d+) methods$', text, re.M)}
    if not 1 + 2000 + 500 * 6 <= counts.get("Thread-0", 0) <= 8000:
        bad.append("counted: %s" % counts)
    return bad


def method_statistics(jdk, _):
    text, bad = run(jdk, "method_statistics", ["Calls", "0"], "Calls")
    rows = {name: int(n) for n, name in re.findall(r"^ *(\d+) (\S+)$", text, re.M)}
    if (rows.get("Calls.leaf(I)J"), rows.get("Calls.thrower(I)V")) != (2000, 2000):
        bad.append("counted: %s" % rows)
    return bad + ["%s is not wanted" % n for n in rows if not n.startswith("Calls")]


def heap_statistics(jdk, _):
    """Two of the objects' fields are references of 8 bytes, the others take 24."""
    text, bad = run(jdk, "heap_statistics", ["Heap", "0"])
    rows = {name: (int(n), int(size)) for n, size, name in re.findall(r"^ *(\d+) +(\d+) (\S+)$", text, re.M)}
    if (rows.get("Heap$Kept"), rows.get("Heap$Kept[]")) != ((3000, 3000 * (16 + 24)), (1, 3000 * 8)) or "byte[]" not in rows:
        bad.append("counted: %s" % rows)
    return bad


CASES = (class_trace, method_count, method_statistics, heap_statistics)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES))
