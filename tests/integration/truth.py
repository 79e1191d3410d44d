#!/usr/bin/env python3
"""Compares profiles of tests/java/truth/Truth.java with what the program knows of itself.

Starts fresh JVMs, attaches late, compares the share of every kernel with the program's own CPU
clocks in the same window. Prints the table, the total variation in points of 100, the points given
to wrong kernels, and what a perfect sampler with as many samples is expected to have.

Only worker threads count. CPU time of theirs outside the kernels (clock readings, the loops around)
is a row of its own, "(outside)": its truth is the thread's whole time less that of the kernels, and
what a profiler cannot place in a kernel ends up there.

Exit status: 0 within the bars, 1 over one of them, 77 when the JDK asked for is not here.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import jvm

KERNEL = re.compile(r"^Truth\.(k[A-Z][A-Za-z0-9]*)")
WORKER = "truth-worker-with-a-long-name-"
OUTSIDE = "(outside)"
COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"],
              "Z": ["-XX:+UseZGC"], "Shenandoah": ["-XX:+UseShenandoahGC"]}


class Table:
    """What Truth printed for one mark."""

    def __init__(self):
        self.clock_ns = 0
        self.threads, self.kernels = {}, {}

    @classmethod
    def read(cls, java):
        t = cls()
        while True:
            line = java.line(jvm.PATIENCE)
            if line is None:
                sys.exit("Truth ended early")
            w = line.split()
            if w[0] == "mark":
                t.clock_ns = int(w[3])
            elif w[0] == "thread":
                t.threads[w[1]] = int(w[2])
            elif w[0] == "kernel":
                t.kernels[w[1]] = (int(w[2]), int(w[3]))
            elif w[0] == "end":
                return t

    def shares_since(self, begin):
        """{kernel: share} with OUTSIDE, and the CPU seconds of the workers in the window."""
        whole = sum(self.threads.values()) - sum(begin.threads.values())
        ns = {}
        for k, (cpu, calls) in self.kernels.items():
            cpu0, calls0 = begin.kernels[k]
            ns[k] = max(0, cpu - cpu0 - (calls - calls0) * self.clock_ns)
        ns[OUTSIDE] = max(0, whole - sum(ns.values()))
        total = sum(ns.values())
        return {k: v / total for k, v in ns.items()}, whole / 1e9


def mark(java):
    java.tell("mark")
    return Table.read(java)


class Counts:
    """The worker threads' samples of one profile."""

    def __init__(self, folded):
        self.kernels = {}
        self.samples = self.java = self.complete = self.unknown = self.others = 0
        self.bad_stacks = []
        for frames, n in folded:
            name, _, frames = jvm.thread_of(frames)
            if name is None or not name.startswith(WORKER):
                self.others += n
                continue
            self.add(frames, n)

    def add(self, frames, n):
        self.samples += n
        complete = jvm.is_complete(frames)
        unknown = any(f.startswith("[unknown]") for f in frames)
        self.complete += n if complete else 0
        self.unknown += n if unknown else 0
        if unknown or not complete:
            self.bad_stacks.append((n, ";".join(frames)))
        kernel = OUTSIDE
        for f in frames:
            m = KERNEL.match(f)
            if m:
                kernel = m.group(1)
                break
        self.kernels[kernel] = self.kernels.get(kernel, 0) + n


def expected_variation(shares, n):
    """Mean total variation, in points, of n independent draws (normal approximation)."""
    return 100 * sum(math.sqrt(2 * p * (1 - p) / (math.pi * n)) for p in shares.values()) / 2


def compare(truth, counts):
    """Rows (kernel, true %, sampled %) and totals in points."""
    n = max(1, counts.samples)
    rows = [(k, 100 * p, 100 * counts.kernels.get(k, 0) / n) for k, p in truth.items()]
    return {
        "rows": rows,
        "variation": sum(abs(s - t) for _, t, s in rows) / 2,
        "wrong": sum(max(0, s - t) for k, t, s in rows if k != OUTSIDE),
        "unattributed": sum(s - t for k, t, s in rows if k == OUTSIDE),
        "expected": expected_variation(truth, n),
    }


def profile_jsampler(pid, o):
    options = ["-d", o.duration, "-F", o.freq, "--threads", *o.option]
    r = jvm.record(pid, *options)
    if o.verbose:
        sys.stderr.write(r.messages)
    return r


def profile_asprof(pid, o):
    """async-profiler, whose binary ASPROF names: the same window, the same output."""
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        out = os.path.join(tmp, "out.collapsed")
        interval = "%dus" % (1_000_000 // o.freq)
        subprocess.run([os.environ["ASPROF"], "-d", str(o.duration), "-e", "cpu", "-i", interval, "-t",
                        "-o", "collapsed", "-f", out, *o.option, str(pid)],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with open(out, errors="replace") as f:
            return jvm.Recording(0, list(jvm.parse_folded(f)), "")


PROFILERS = {"jsampler": profile_jsampler, "asprof": profile_asprof}


def java_flags(o):
    flags = list(COLLECTORS[o.gc])
    if o.mode == "int":
        flags.append("-Xint")
    else:
        flags += ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp"]
    return flags + o.flag


def listener_flag(jdk):
    return "-agentpath:%s" % jvm.compile_library(jdk, "tests/java/truth/listener.c", "liblistener")


def one_run(jdk, classes, o, seed):
    args = ["interactive=1", "warmup=%d" % o.warmup, "threads=%d" % o.threads, "seed=%d" % seed]
    with jvm.Jvm(jdk, classes, "Truth", args, java_flags(o)) as java:
        java.wait_ready(o.warmup + jvm.PATIENCE)
        unknown = 0
        # What misses its bar because others took the CPUs is recorded again; a frame without a name counts in all.
        for left in reversed(range(jvm.TRIES)):
            result = one_recording(java, o, seed)
            unknown = result["unknown"] = unknown + result["unknown"]
            bad = failures(result, o)
            if not bad or not left or (o.no_unknown and unknown):
                return result
            print("again: " + "; ".join(bad), flush=True)


def one_recording(java, o, seed):
    begin = mark(java)
    recording = PROFILERS[o.profiler](java.pid, o)
    truth, cpu_s = mark(java).shares_since(begin)
    counts = Counts(recording.folded)
    if o.keep:
        keep(o.keep, seed, recording)
    result = compare(truth, counts)
    result.update(samples=counts.samples, cpu_s=cpu_s, complete=100 * counts.complete / max(1, counts.samples),
                  unknown=counts.unknown, bad_stacks=sorted(counts.bad_stacks, reverse=True)[:8])
    times = recording.fact(r"CPU time of the target ([\d.]+) s, samples x period ([\d.]+) s")
    result["period_error"] = 100 * (times[1] / times[0] - 1) if times and times[0] else None
    return result


def keep(where, seed, recording):
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "truth-%d.folded" % seed), "w", encoding="utf-8") as f:
        for frames, n in recording.folded:
            f.write("%s %d\n" % (";".join(frames), n))


def print_run(r):
    print("%-12s %7s %8s %7s" % ("kernel", "true %", "sampled", "off"))
    for k, t, s in sorted(r["rows"], key=lambda row: -row[1]):
        print("%-12s %7.2f %8.2f %+7.2f" % (k, t, s, s - t))
    print("samples %d over %.1f CPU-s; total variation %.2f points (a perfect sampler: %.2f); "
          "on wrong kernels %.2f; not placed %+.2f"
          % (r["samples"], r["cpu_s"], r["variation"], r["expected"], r["wrong"], r["unattributed"]))
    line = "complete stacks of workers %.3f %%; with an [unknown] frame %d" % (r["complete"], r["unknown"])
    if r["period_error"] is not None:
        line += "; samples x period against the kernel's CPU time %+.2f %%" % r["period_error"]
    print(line)
    for n, stack in r["bad_stacks"]:
        print("  %d %s" % (n, stack if len(stack) < 700 else stack[:200] + " ... " + stack[-500:]))
    sys.stdout.flush()


def failures(r, o):
    """What is over a bar, as sentences."""
    bad = []
    if r["samples"] < o.min_samples:
        bad.append("%d samples of worker threads, %d wanted" % (r["samples"], o.min_samples))
    for key, bar in (("variation", o.bar), ("wrong", o.bar_wrong)):
        if bar is not None and r[key] > bar:
            bad.append("%s %.2f points, bar %.2f" % (key, r[key], bar))
    if o.bar_complete is not None and jvm.too_many(r["samples"] * (1 - r["complete"] / 100),
                                                   1 - o.bar_complete / 100, r["samples"]):
        bad.append("complete stacks %.3f %%, bar %.3f" % (r["complete"], o.bar_complete))
    if o.no_unknown and r["unknown"]:
        bad.append("%d samples with an [unknown] frame" % r["unknown"])
    if o.bar_period is not None and (r["period_error"] is None or abs(r["period_error"]) > o.bar_period):
        bad.append("samples x period off by %s %%, bar %.2f" % (r["period_error"], o.bar_period))
    return bad


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk", help="major version(s), first one found counts, or a JDK's directory")
    p.add_argument("--gc", choices=sorted(COLLECTORS), default="G1")
    p.add_argument("--mode", choices=["mixed", "int"], default="mixed")
    p.add_argument("--flag", action="append", default=[], help="one more JVM flag (repeatable)")
    p.add_argument("--listener", action="store_true", help="load an agent that listens to compiled methods")
    p.add_argument("--profiler", choices=sorted(PROFILERS), default="jsampler")
    p.add_argument("--option", action="append", default=[], help="one more option of the profiler")
    p.add_argument("--freq", type=int, default=999)
    p.add_argument("--duration", type=int, default=30)
    p.add_argument("--warmup", type=int, default=15)
    p.add_argument("--threads", type=int, default=3)
    p.add_argument("--runs", type=int, default=1, help="fresh JVMs; the worst counts")
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--min-samples", type=int, default=1000)
    p.add_argument("--bar", type=float, help="points of total variation")
    p.add_argument("--bar-wrong", type=float, help="points on wrong kernels")
    p.add_argument("--bar-complete", type=float, help="least percentage of complete stacks")
    p.add_argument("--bar-period", type=float, help="percent that samples x period may be off")
    p.add_argument("--no-unknown", action="store_true", help="no [unknown] frame in a worker's stack")
    p.add_argument("--json", help="write the results there")
    p.add_argument("--keep", help="write the folded stacks of each run into that directory")
    p.add_argument("-v", "--verbose", action="store_true", help="show what jsampler says")
    return p.parse_args()


def main():
    o = parse_arguments()
    jdk = jvm.pick_jdk(o.jdk)
    classes = jvm.compile_java(jdk, "truth")
    if o.listener:
        o.flag.append(listener_flag(jdk))
    results, bad = [], []
    for i in range(o.runs):
        print("== %s, JDK %d, %s, %s, %d Hz, %d s, run %d of %d"
              % (o.profiler, jdk.major, o.gc, o.mode, o.freq, o.duration, i + 1, o.runs))
        r = one_run(jdk, classes, o, o.seed + 1000 * i)
        print_run(r)
        results.append(r)
        bad += ["run %d: %s" % (i + 1, b) for b in failures(r, o)]
    worst = max(results, key=lambda r: r["variation"])
    print("worst of %d: total variation %.2f points (a perfect sampler: %.2f), median %.2f; worst on wrong "
          "kernels %.2f" % (o.runs, worst["variation"], worst["expected"],
                            statistics.median(r["variation"] for r in results),
                            max(r["wrong"] for r in results)))
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"jdk": jdk.major, "gc": o.gc, "mode": o.mode, "flags": o.flag, "profiler": o.profiler,
                       "freq": o.freq, "runs": results}, f, indent=1)
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
