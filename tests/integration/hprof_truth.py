#!/usr/bin/env python3
"""HPROF's cpu=samples on tests/java/truth/Truth.java, against the program's own clocks in the same window: the total
variation of the kernels' shares, with stacks of signals (stacks=signal of the bridge), or of safepoints.

usage: hprof_truth.py [--jdk 17] [--stacks signal|safepoint] [--duration 30] [--interval 5] [--bar POINTS] [-v]
Exit status: 0 within the bar, 1 over it, 77 when the JDK is not here. By hand: it needs minutes and a quiet machine.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time

import bridge
import jvm
import truth

ROW = re.compile(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) (3\d{5}) ")


def traces_of(text, workers):
    """{trace: [frame]}, of worker threads; innermost first."""
    traces, frames = {}, None
    for line in text.splitlines():
        m = re.match(r"TRACE (3\d{5}): \(thread=(\d+)\)$", line)
        if m:
            frames = []
            if m.group(2) in workers:
                traces[m.group(1)] = frames
        elif line.startswith("\t") and frames is not None:
            frames.append(line[1:])
        else:
            frames = None
    return traces


def counts_of(text):
    """Samples of the last dump by kernel."""
    workers = dict(re.findall(r'^THREAD START \(obj=\w+, id = (\d+), name="(%s\d+)"' % truth.WORKER, text, re.M))
    traces = traces_of(text, workers)
    counts = truth.Counts([])
    for line in text[text.rindex("CPU SAMPLES BEGIN"):].splitlines():
        m = ROW.match(line)
        if not m or m.group(2) not in traces:
            continue
        kernels = [truth.KERNEL.match(f) for f in traces[m.group(2)]]
        kernel = next((k.group(1) for k in reversed(kernels) if k), truth.OUTSIDE)
        counts.samples += int(m.group(1))
        counts.kernels[kernel] = counts.kernels.get(kernel, 0) + int(m.group(1))
        if kernel == truth.OUTSIDE:
            counts.bad_stacks.append((int(m.group(1)), " < ".join(traces[m.group(2)][:6])))
    return counts


def dump(java, path, n):
    os.kill(java.pid, signal.SIGQUIT)
    deadline = time.monotonic() + jvm.PATIENCE
    while open(path, errors="replace").read().count("CPU SAMPLES END") < n:
        if time.monotonic() > deadline:
            sys.exit("no dump")
        time.sleep(0.05)


def run(jdk, o, path):
    options = "cpu=samples,interval=%d,depth=1100,thread=y,cutoff=0,lineno=n,verbose=n,file=%s" % (o.interval, path)
    flags = [bridge.hosted("hprof", options, "stacks=%s," % o.stacks + bridge.NO_METHODS)]
    flags += truth.java_flags(argparse.Namespace(gc=o.gc, mode="mixed", inline=False, flag=o.flag))
    args = ["interactive=1", "warmup=%d" % o.warmup, "threads=%d" % o.threads, "seed=%d" % o.seed]
    with jvm.Jvm(jdk, jvm.compile_java(jdk, "truth"), "Truth", args, flags) as java:
        java.wait_ready(o.warmup + jvm.PATIENCE)
        dump(java, path, 1)
        begin = truth.mark(java)
        time.sleep(o.duration)
        end = truth.mark(java)
        dump(java, path, 2)
    return begin, end, open(path, errors="replace").read()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--stacks", choices=("signal", "safepoint"), default="signal")
    p.add_argument("--gc", choices=sorted(truth.COLLECTORS), default="G1")
    p.add_argument("--flag", action="append", default=[])
    p.add_argument("--duration", type=int, default=30)
    p.add_argument("--warmup", type=int, default=15)
    p.add_argument("--threads", type=int, default=3)
    p.add_argument("--interval", type=int, default=5)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--bar", type=float)
    p.add_argument("--keep", help="write HPROF's text there")
    p.add_argument("-v", "--verbose", action="store_true")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        begin, end, text = run(jdk, o, os.path.join(tmp, "java.hprof.txt"))
    if o.keep:
        with open(o.keep, "w", encoding="utf-8") as f:
            f.write(text)
    shares, cpu_s = end.shares_since(begin)
    counts = counts_of(text)
    r = truth.compare(shares, counts)
    for k, t, s in sorted(r["rows"], key=lambda row: -row[1]):
        print("%-12s %7.2f %8.2f %+7.2f" % (k, t, s, s - t))
    for n, stack in sorted(counts.bad_stacks, reverse=True)[:20 if o.verbose else 0]:
        print("  %d %s" % (n, stack))
    print("JDK %d, stacks=%s, interval=%d: %d samples of %.1f CPU-s; total variation %.2f points (a perfect sampler: %.2f), "
          "on wrong kernels %.2f, not placed %+.2f" % (jdk.major, o.stacks, o.interval, counts.samples, cpu_s,
                                                       r["variation"], r["expected"], r["wrong"], r["unattributed"]))
    if o.bar is not None and r["variation"] > o.bar:
        print("FAILED: %.2f points, bar %.2f" % (r["variation"], o.bar))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
