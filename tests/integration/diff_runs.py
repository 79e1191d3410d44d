#!/usr/bin/env python3
"""`jsampler diff` on the ground-truth program with one kernel made slower.

In one JVM, recordings of both kinds in turn, or with --fresh in a JVM each, as two builds are compared (then
warm-up has to be long: what is not compiled yet is a difference, too). What must hold: the slower kernel is
the first row and fails the gate; sides that are the same pass it.

  diff_runs.py --warmup 12 --same 6           30 % slower; equal sides drawn 20 times from 6 recordings
  diff_runs.py --fresh --warmup 20 --same 9   the same in fresh JVMs
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import jvm
from truth import mark

KERNEL = "Truth.kMatrix"
GATE = "any self(**) > +%gpt"


def diff(before, after, *options):
    run = subprocess.run([jvm.jsampler_path(), "diff", "-f", "json", *options, *before, "--", *after],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 3):
        sys.exit("diff: exit status %d: %s" % (run.returncode, run.stderr))
    return json.loads(run.stdout), run.returncode, run.stderr


def cpu_s(java):
    """CPU seconds of each worker so far."""
    return [ns / 1e9 for ns in mark(java).threads.values()]


def start(o, classes, jdk, seed, slow):
    args = ["interactive=1", "warmup=1", "threads=%d" % o.threads, "seed=%d" % seed, "slow=%d" % slow]
    return jvm.Jvm(jdk, classes, "Truth", args, ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp"])


def warm_up(java, o):
    """By CPU time of the workers: on a busy machine seconds of the clock compile nothing."""
    java.wait_ready(120)
    deadline = time.monotonic() + 240
    while min(cpu_s(java)) < o.warmup and time.monotonic() < deadline:
        time.sleep(0.2)


def take(java, path, o):
    """As long as the samples wanted are likely to take, judged by the second before."""
    before, at = sum(cpu_s(java)), time.monotonic()
    time.sleep(1)
    rate = o.freq * max(0.05, (sum(cpu_s(java)) - before) / (time.monotonic() - at))
    duration = max(1, min(90, 1.2 * o.samples / rate))
    run = subprocess.run([jvm.jsampler_path(), "-p", str(java.pid), "-d", "%.1f" % duration, "-F", str(o.freq), "-q",
                          "--include-threads", "truth-worker", "-o", path],
                         stdin=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)
    if run.returncode:
        sys.exit("jsampler: exit status %d" % run.returncode)
    return path


def in_one_jvm(o, jdk, classes, where):
    """Both kinds in turn, so that what drifts hits both; then what is missing of the unchanged kind."""
    files = {0: [], o.slow: []}
    kinds = [0, o.slow] * o.files + [0] * max(0, o.same - o.files)
    with start(o, classes, jdk, 42, 0) as java:
        warm_up(java, o)
        for i, slow in enumerate(kinds):
            java.tell("slow %d" % slow)
            files[slow].append(take(java, os.path.join(where, "%d-%d.folded" % (slow, i)), o))
    return files


def in_fresh_jvms(o, jdk, classes, where):
    files = {0: [], o.slow: []}
    for i in range(max(o.files, o.same)):
        for slow in (0, o.slow):
            if i >= o.files and slow:
                continue
            path = os.path.join(where, "%d-%d.folded" % (slow, i))
            if not os.path.exists(path):
                with start(o, classes, jdk, 1000 + 2 * i + bool(slow), slow) as java:
                    warm_up(java, o)
                    take(java, path, o)
            files[slow].append(path)
    return files


def check_slower(before, after, o):
    d, status, messages = diff(before, after, "--fail-if", GATE % o.gate, "--fail-if", "self(%s) > +%g%%" % (KERNEL, o.relative))
    print("samples %d before, %d after; changed methods %d" % (d["before"]["samples"], d["after"]["samples"], d["changed"]))
    for r in d["rows"][:5]:
        print("  %6.2f -> %6.2f  %+5.2f +- %.2f  p %.2g  %s" % (
            r["self_before_percent"], r["self_after_percent"], r["self_change_points"], r["self_error_points"], r["adjusted_p"],
            r["method"]))
    print(messages, end="")
    bad = []
    first = d["rows"][0]
    if first["method"] != KERNEL or not first["changed"] or first["self_change_points"] <= 0:
        bad.append("the first row is %s" % first)
    if status != 3 or messages.count("failed: ") != 2:
        bad.append("the gate: exit status %d" % status)
    return bad


def check_same(files, o, rounds):
    """Equal sides of the same recordings, drawn at random: the share that passes."""
    rng, passed, shown = random.Random(7), 0, 0
    for _ in range(rounds):
        chosen = rng.sample(files, 2 * o.files)
        d, status, messages = diff(chosen[:o.files], chosen[o.files:], "--fail-if", GATE % o.gate,
                                   "--fail-if", "self(%s) > +%g%%" % (KERNEL, o.relative))
        passed += status == 0
        shown += d["changed"] > 0
        if status:
            print(messages, end="")
    print("%d of %d pairs of equal sides pass; %d show a changed method" % (passed, rounds, shown))
    return [] if passed == rounds else ["%d of %d equal sides fail the gate" % (rounds - passed, rounds)]


def split_same(files, o):
    """One equal pair out of the recordings of one kind, each cut in two by lines drawn at random."""
    rng, halves = random.Random(7), ([], [])
    for i, path in enumerate(files):
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            stacks = [line.rpartition(" ") for line in f]
        sides = [open("%s.half%d" % (path, k), "w", encoding="utf-8", errors="surrogateescape") for k in (0, 1)]
        for stack, _, n in stacks:
            first = sum(rng.random() < 0.5 for _ in range(int(n)))
            for side, count in zip(sides, (first, int(n) - first)):
                if count:
                    side.write("%s %d\n" % (stack, count))
        for k, side in enumerate(sides):
            side.close()
            halves[k].append(side.name)
    _, status, messages = diff(*halves, "--fail-if", GATE % o.gate)
    return [] if status == 0 else ["equal sides fail the gate: %s" % messages]


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--fresh", action="store_true", help="a JVM for each recording")
    p.add_argument("--slow", type=int, default=30, help="percent that the kernel is made slower")
    p.add_argument("--files", type=int, default=3, help="a side")
    p.add_argument("--same", type=int, default=0, help="recordings of the unchanged program to draw equal sides from")
    p.add_argument("--gate", type=float, default=1, help="points that no method may grow by")
    p.add_argument("--relative", type=float, default=10, help="percent that the kernel may grow by")
    p.add_argument("--freq", type=int, default=1999)
    p.add_argument("--samples", type=int, default=17500, help="about as many a recording")
    p.add_argument("--warmup", type=float, default=6, help="CPU seconds of each worker")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--keep", help="keep the recordings there")
    return p.parse_args()


def main():
    o = parse_arguments()
    jdk = jvm.pick_jdk(o.jdk)
    classes = jvm.compile_java(jdk, "truth")
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        where = o.keep or tmp
        os.makedirs(where, exist_ok=True)
        files = (in_fresh_jvms if o.fresh else in_one_jvm)(o, jdk, classes, where)
        bad = check_slower(files[0][:o.files], files[o.slow], o)
        if o.same >= 2 * o.files:
            bad += check_same(files[0], o, 20)
        bad += split_same(files[0], o)
    for b in bad:
        print("FAILED:", b)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
