#!/usr/bin/env python3
"""A recording of a real JVM replays to what was named when it was taken, after the JVM is gone.

usage: replay.py [--jdk 17] [-v]
Exit status: 0 it holds, 1 not, 77 when the JDK asked for is not here.
"""

import argparse
import collections
import os
import stat
import subprocess
import sys
import tempfile

import jvm

FLAGS = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp"]
SAMPLES = 300


def run(*args):
    r = subprocess.run([jvm.jsampler_path(), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, errors="replace", umask=0o022)
    if r.returncode:
        sys.exit("jsampler %s: exit status %d\n%s" % (args[0], r.returncode, r.stderr))
    return r.stdout


def stacks(text):
    """Counts without kernel frames: a recording has neither their addresses nor their names."""
    counts = collections.Counter()
    for frames, n in jvm.parse_folded(text.splitlines()):
        user = [f for f in frames if f != "[kernel]" and not f.endswith("_[k]")]
        counts[";".join(user)] += n
    return counts


def kernels(counts):
    return sum(n for s, n in counts.items() if "Truth.k" in s)


def snapshot(jdk, tmp):
    classes = jvm.compile_java(jdk, "truth")
    path, folded = os.path.join(tmp, "x.jsrec"), os.path.join(tmp, "x.folded")
    with jvm.Jvm(jdk, classes, "Truth", ["seconds=1000", "warmup=2", "threads=2"], FLAGS) as java:
        java.wait_ready()
        jvm.burn(java.pid, 3)
        run("snapshot", "-p", java.pid, "-o", path, "-s", folded, "-n", SAMPLES, "-F", 500)
    with open(folded, encoding="utf-8") as f:
        return path, f.read()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("-v", "--verbose", action="store_true")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    bad = []
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        path, live = snapshot(jdk, tmp)
        for _ in range(jvm.TRIES):  # the compilers may have had all the CPU time
            if kernels(stacks(live)) >= SAMPLES / 10:
                break
            path, live = snapshot(jdk, tmp)
        mode, size = stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_size
        small = os.path.join(tmp, "small.jsrec")
        want, have = stacks(live), stacks(run("replay", path))
        some = stacks(run("replay", "-w", "c2", "-n", 5, "-o", small, "-s", "/dev/stdout", path))
        again = stacks(run("replay", small))
        if o.verbose:
            print(run("replay", small))
    if mode != 0o600:
        bad.append("mode %o, not 600" % mode)
    if sum(want.values()) != SAMPLES:
        bad.append("%d samples, not %d" % (sum(want.values()), SAMPLES))
    for what, a, b in (("lost", want, have), ("new", have, want), ("not of the whole", some, have),
                       ("lost of the part", some, again), ("new in the part", again, some)):
        for stack, n in (a - b).items():
            bad.append("%s: %d of ... %s" % (what, n, stack[-300:]))
    if not 1 <= sum(some.values()) <= 5:
        bad.append("%d samples in the part" % sum(some.values()))
    java = kernels(want)
    if java < SAMPLES / 10:
        bad.append("only %d samples with a kernel of Truth" % java)
    print("JDK %d: %d samples, %d stacks, %d bytes, %d of them in a kernel of Truth" % (
        jdk.major, SAMPLES, len(want), size, java))
    for b in bad[:10]:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
