#!/usr/bin/env python3
"""Programs from their first instruction on: stacks that lie on pages nobody has touched yet.

java:  runs of `-- java -version` and of a program that starts as an application with a container does (tests/java/startup), at
       4,999 Hz, pooled: 99.5 % of the stacks are complete (98 % unless JSAMPLER_STRICT=1). The kernel's copy of a stack ends at a page that was never touched, as in
       the frame of Threads::create_vm; code runs before the JVM's tables are filled in; a short program has ended before its
       last samples are walked.
holes: threads whose stack pointer stands in such pages; two ways down that must not mix. What cannot be had is left out.

usage: startup.py [--jdk 17] java|holes
"""

import argparse
import os
import subprocess
import sys
import tempfile

import jvm
from environments_common import native

FREQUENCY = 4999
SAMPLES = 2000
# Readers that are not in the real-time class come later, and the thread that walks shares its CPU with the target.
PROMPT = jvm.STRICT or jvm.may_be_prompt()
# 99.5 % is what must hold. On some machines (Cascade Lake, two virtual CPUs) the thread that walks is late by more than the
# program lives in most tries: 92 to 99.5 %.
COMPLETE = 0.995 if jvm.STRICT else 0.98 if PROMPT else 0.95
MIXED = 0 if PROMPT else 0.005
VERSIONS = 3
TRIES = 1 if jvm.STRICT else 8


def launch(argv, frequency=FREQUENCY):
    """jsampler -- argv; [(frames, count)]."""
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        out = os.path.join(tmp, "out.folded")
        run = subprocess.run([jvm.jsampler_path(), "-q", "-F", str(frequency), "-o", out, "--", *map(str, argv)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=jvm.PATIENCE,
                             preexec_fn=jvm.die_with_parent)
        if run.returncode:
            sys.exit("jsampler: exit status %d\n%s" % (run.returncode, run.stderr.decode(errors="replace")))
        with open(out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            return list(jvm.parse_folded(f))


def count(folded, wanted):
    return sum(n for frames, n in folded if wanted(frames))


def java(jdk):
    java_home = jdk.home / "bin/java"
    classes = jvm.compile_java(jdk, "startup")
    worst = None
    for _ in range(TRIES):
        folded = []
        for _ in range(VERSIONS):
            folded += launch([java_home, "-version"])
        while count(folded, lambda f: True) < SAMPLES or not any("Startup.main" in f for frames, _ in folded for f in frames):
            folded += launch([java_home, "-cp", classes, "Startup", "20"])
        everything, complete = count(folded, lambda f: True), count(folded, jvm.is_complete)
        start = count(folded, lambda frames: any("create_vm" in f for f in frames))
        print("JDK %d: %d samples, %d in Threads::create_vm, complete %.2f %%" %
              (jdk.major, everything, start, 100 * complete / everything))
        if start and complete >= COMPLETE * everything:
            return True
        worst = folded
    for frames, n in worst:
        if not jvm.is_complete(frames):
            print(n, ";".join(frames)[:300])
    return False


def holes():
    program = native("holes", options=("-O1", "-g0", "-fomit-frame-pointer"))
    if not program:
        sys.exit(jvm.SKIP)
    folded = launch([program, "4"], 999)
    work = [(frames, n) for frames, n in folded if {"hole_left", "hole_right"} & set(frames)]
    mixed = count(work, lambda f: {"left", "hole_right"} <= set(f) or {"right", "hole_left"} <= set(f))
    whole = count(work, lambda f: jvm.is_complete(f) and "run" in f)
    everything = count(work, lambda f: True)
    print("%d samples in large frames, complete %d, with another's callers %d" % (everything, whole, mixed))
    # The first sample of each thread says nothing of its callers; it takes the next to.
    return everything >= 50 and mixed <= MIXED * everything and whole >= everything / 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jdk", default="17")
    parser.add_argument("subject", choices=["java", "holes"])
    args = parser.parse_args()
    ok = holes() if args.subject == "holes" else java(jvm.pick_jdk(args.jdk))
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
