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
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import jvm

KERNEL = re.compile(r"^Truth\.(k[A-Z][A-Za-z0-9]*)")
CONTAINER = re.compile(r"^Truth\.mix\w+_\[j\]$")
WORKER = "truth-worker-with-a-long-name-"
OUTSIDE = "(outside)"
# Kernels that every containing method may get inlined; kInterp is interpreted, kRecurse recursive.
INLINED = ["Inline", "Float", "Hash", "Alloc", "Mega", "Regex", "Aes", "Copy", "Fill", "Stream", "Reflect",
           "Zip", "Build", "Sort", "Matrix", "Big", "Math", "Time", "Digest", "Crc"]
COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"],
              # Experimental in 11.
              "Z": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
              "Shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"]}


class Table:
    """What Truth printed for one mark."""

    def __init__(self):
        self.clock = (0, 0)
        self.threads, self.kernels = {}, {}

    @classmethod
    def read(cls, java):
        t = cls()
        while True:
            line = java.line(jvm.PATIENCE)
            if line is None:
                sys.exit("Truth ended early")
            w = line.split() or [""]
            if w[0] == "clock":
                t.clock = (int(w[1]), int(w[2]))
            elif w[0] == "thread":
                t.threads[w[1]] = int(w[2])
            elif w[0] == "kernel":
                t.kernels[w[1]] = (int(w[2]), int(w[3]))
            elif w[0] == "end":
                return t

    def cpu_s_since(self, begin):
        return (sum(self.threads.values()) - sum(begin.threads.values())) / 1e9

    def shares_since(self, begin):
        """{kernel: share} with OUTSIDE, and the CPU seconds of the workers in the window."""
        whole = 1e9 * self.cpu_s_since(begin)
        clock_ns = (self.clock[0] - begin.clock[0]) / max(1, self.clock[1] - begin.clock[1])
        ns = {}
        for k, (cpu, calls) in self.kernels.items():
            cpu0, calls0 = begin.kernels[k]
            ns[k] = max(0, cpu - cpu0 - (calls - calls0) * clock_ns)
        ns[OUTSIDE] = max(0, whole - sum(ns.values()))
        total = sum(ns.values())
        return {k: v / total for k, v in ns.items()}, self.cpu_s_since(begin)


def mark(java):
    java.tell("mark")
    return Table.read(java)


class Counts:
    """The worker threads' samples of one profile."""

    def __init__(self, folded):
        self.kernels = {}
        self.samples = self.complete = self.unknown = self.others = self.inlined = 0
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
        for i, f in enumerate(frames):
            m = KERNEL.match(f)
            if m:
                kernel = m.group(1)
                if f.endswith("_[i]") and CONTAINER.match(frames[i - 1]):
                    self.inlined += n
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


class Started:
    """jsampler, recording."""

    def __init__(self, pid, o, tmp):
        self.out, self.messages = os.path.join(tmp, "out.folded"), b""
        self.proc = subprocess.Popen([jvm.jsampler_path(), "-p", str(pid), "-v", "-o", self.out, "-F", str(o.freq),
                                      "--threads", *o.option], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     bufsize=0, preexec_fn=jvm.die_with_parent)
        self.wait_steady()

    def wait_steady(self):
        """Until it says how the events are set up, which it does once it has some samples."""
        deadline = time.monotonic() + 5
        while b"stack copy " not in self.messages:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.proc.stderr], [], [], left)[0]:
                return
            more = os.read(self.proc.stderr.fileno(), 65536)
            if not more:
                return
            self.messages += more

    def stop(self):
        self.proc.send_signal(signal.SIGINT)
        _, rest = self.proc.communicate(timeout=600)
        messages = (self.messages + rest).decode(errors="replace")
        if self.proc.returncode:
            sys.exit("jsampler: exit status %d\n%s" % (self.proc.returncode, messages))
        with open(self.out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            return jvm.Recording(0, list(jvm.parse_folded(f)), messages)


def profile_jsampler(java, o, factor):
    """What was recorded, and tables of its begin and its end: attaching and naming lie outside, since
    a program may do other things meanwhile."""
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        started = Started(java.pid, o, tmp)
        begin = mark(java)
        end = wait_recorded(java, o, factor, begin)
        recording = started.stop()
    if o.verbose:
        sys.stderr.write(recording.messages)
    return recording, begin, end


def profile_asprof(java, o, factor):
    """async-profiler, whose binary ASPROF names: the same window, the same output."""
    begin = mark(java)
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        out = os.path.join(tmp, "out.collapsed")
        interval = "%dus" % (1_000_000 // o.freq)
        subprocess.run([os.environ["ASPROF"], "-d", str(factor * o.duration), "-e", "cpu", "-i", interval, "-t",
                        "-o", "collapsed", "-f", out, *o.option, str(java.pid)],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = mark(java)
        with open(out, errors="replace") as f:
            return jvm.Recording(0, list(jvm.parse_folded(f)), ""), begin, end


PROFILERS = {"jsampler": profile_jsampler, "asprof": profile_asprof}


def java_flags(o):
    flags = list(COLLECTORS[o.gc])
    if o.mode == "int":
        flags.append("-Xint")
    else:
        flags += ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp"]
    if o.inline:
        flags += ["-XX:CompileThresholdScaling=0.1"]
        flags += ["-XX:CompileCommand=inline,Truth::k" + k for k in INLINED]
    return flags + o.flag


def listener_flag(jdk):
    return "-agentpath:%s" % jvm.compile_library(jdk, "tests/java/truth/listener.c", "liblistener")


class Patience(Exception):
    """The JVM did not come to what was waited for."""


def wait_inlined(java, o):
    """Until so many percent of the samples are in kernels that C2 inlined into their containing method."""
    deadline = time.monotonic() + o.patience
    while o.inlined:
        counts = Counts(jvm.record(java.pid, "-d", 2, "-F", 499, "--threads").folded)
        if 100 * counts.inlined >= o.inlined * max(1, counts.samples):
            return
        if time.monotonic() > deadline:
            raise Patience("C2 inlined too few kernels in %d s" % (o.warmup + o.patience))


def wait_recorded(java, o, factor, begin):
    """As long as was asked for: seconds, times a factor, or samples. The table of its end."""
    if not o.samples:
        time.sleep(factor * o.duration)
        return mark(java)
    deadline = time.monotonic() + o.patience
    while True:
        time.sleep(0.5)
        end = mark(java)
        if time.monotonic() > deadline or end.cpu_s_since(begin) * o.freq > 1.05 * o.samples:
            return end


def one_run(jdk, classes, o, seed):
    args = ["interactive=1", "warmup=%d" % o.warmup, "threads=%d" % o.threads, "seed=%d" % seed]
    with jvm.Jvm(jdk, classes, "Truth", args, java_flags(o)) as java:
        java.wait_ready(o.warmup + jvm.PATIENCE)
        wait_inlined(java, o)
        unknown = 0
        # What misses its bar because others took the CPUs is recorded again; a frame without a name counts in all.
        for i in range(jvm.TRIES):
            result = one_recording(java, o, seed, 3 ** i)
            unknown = result["unknown"] = unknown + result["unknown"]
            bad = failures(result, o)
            if not bad or i + 1 == jvm.TRIES or (o.no_unknown and unknown):
                return result
            print("again, longer: " + "; ".join(bad), flush=True)


def one_recording(java, o, seed, factor):
    recording, begin, end = PROFILERS[o.profiler](java, o, factor)
    truth, cpu_s = end.shares_since(begin)
    counts = Counts(recording.folded)
    if o.keep:
        keep(o.keep, seed, recording)
    result = compare(truth, counts)
    result.update(samples=counts.samples, cpu_s=cpu_s, complete=100 * counts.complete / max(1, counts.samples),
                  inlined=100 * counts.inlined / max(1, counts.samples), seed=seed,
                  lost=recording.fact(r"lost (\d+)", 0), unknown=counts.unknown,
                  bad_stacks=sorted(counts.bad_stacks, reverse=True)[:8])
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
    line = "in kernels inlined by C2 %.1f %%; lost %d; complete stacks of workers %.3f %%; with an [unknown] " \
           "frame %d" % (r["inlined"], r["lost"], r["complete"], r["unknown"])
    if r["period_error"] is not None:
        line += "; samples x period against the kernel's CPU time %+.2f %%" % r["period_error"]
    print(line)
    for n, stack in r["bad_stacks"]:
        print("  %d %s" % (n, stack if len(stack) < 700 else stack[:200] + " ... " + stack[-500:]))
    sys.stdout.flush()


def print_worst(results):
    worst = max(results, key=lambda r: r["variation"])
    print("worst of %d: total variation %.2f points (a perfect sampler: %.2f), median %.2f; worst on wrong "
          "kernels %.2f" % (len(results), worst["variation"], worst["expected"],
                            statistics.median(r["variation"] for r in results),
                            max(r["wrong"] for r in results)))


def failures(r, o):
    """What is over a bar, as sentences."""
    bad = []
    wanted = min(o.min_samples, 30) if jvm.SANITIZED else o.min_samples
    if r["samples"] < wanted:
        bad.append("%d samples of worker threads, %d wanted" % (r["samples"], wanted))
    for key, bar in (("variation", o.bar), ("wrong", o.bar_wrong)):
        if bar is not None and r[key] > bar:
            bad.append("%s %.2f points, bar %.2f" % (key, r[key], bar))
    incomplete = r["samples"] * (1 - r["complete"] / 100)
    if o.bar_complete is not None and not jvm.SANITIZED and jvm.too_many(
            incomplete, 1 - o.bar_complete / 100, r["samples"]):
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
    p.add_argument("--inline", action="store_true", help="the JIT is to inline every kernel, and to begin early")
    p.add_argument("--inlined", type=float, default=0, metavar="PERCENT",
                   help="start when so many samples are in kernels that C2 inlined into a containing method")
    p.add_argument("--patience", type=int, default=60, help="seconds to wait for that")
    p.add_argument("--listener", action="store_true", help="load an agent that listens to compiled methods")
    p.add_argument("--profiler", choices=sorted(PROFILERS), default="jsampler")
    p.add_argument("--option", action="append", default=[], help="one more option of the profiler")
    p.add_argument("--freq", type=int, default=999)
    p.add_argument("--duration", type=int, default=30)
    p.add_argument("--samples", type=int,
                   help="record until there are about so many, at most --patience, instead of --duration")
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
        try:
            r = one_run(jdk, classes, o, o.seed + 1000 * i)
        except Patience as e:
            bad.append("run %d: %s" % (i + 1, e))
            continue
        print_run(r)
        results.append(r)
        bad += ["run %d: %s" % (i + 1, b) for b in failures(r, o)]
    if results:
        print_worst(results)
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"jdk": jdk.major, "gc": o.gc, "mode": o.mode, "flags": o.flag, "profiler": o.profiler,
                       "freq": o.freq, "runs": results}, f, indent=1)
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
