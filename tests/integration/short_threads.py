#!/usr/bin/env python3
"""CPU time of threads that live for less than a period, against what the kernel accounted.

tests/java/brief/Brief.java makes threads of some ms without end, beside one that lasts. What is sampled, and what
outputs show as not sampled, must be its CPU time, and the samples of the two kinds must have the shares that the program counted.

    short_threads.py --table         every kind, life and number at once; takes hours with --runs 20
    short_threads.py --jdk 17 --user one cell as uid 65534

A bar is what must hold and what chance may add: with `p` the share of a period that a thread uses, n samples that are
due scatter by sqrt((1 - p) / n) at most. A run misses it by chance once in 300 times (three standard deviations);
each cell that CI runs may miss it in one of --tries.

Exit status: 0 within the bars, 1 over one of them, 77 when the JDK asked for is not here.
"""

import argparse
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import jvm

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
SHORT, KERNEL = "[not sampled: short-lived threads]", "[not sampled: kernel]"
# Single runs, root: relative to the CPU time; ordinary user: sampled and missing together; points.
BAR_ROOT, BAR_USER, BAR_SHARE = 0.02, 0.03, 3.0


def start(o, jdk, life_us, at_once, kind):
    classes = jvm.compile_java(jdk, "brief")
    args = [kind, str(round(life_us)), str(at_once), "1"]
    flags = ["-XX:-UsePerfData", "-XX:ActiveProcessorCount=2"]
    if not o.user:
        return jvm.Jvm(jdk, classes, "Brief", args, flags)
    target = jvm.Jvm.__new__(jvm.Jvm)
    target.argv = NOBODY + [str(jdk.home / "bin/java"), *flags, "-cp", str(classes), "Brief", *args]
    target.proc = subprocess.Popen(target.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   preexec_fn=jvm.die_with_parent, bufsize=0)
    target.pid, target.buffer = target.proc.pid, b""
    return target


def rounds(java):
    java.tell("")
    while True:
        words = java.line(jvm.PATIENCE).split()
        if words[0] == "rounds":
            return [int(w) for w in words[1:]]


class Run:
    """One recording: seconds, and shares of the brief threads in percent."""

    def __init__(self, o, java, freq):
        before = rounds(java)
        with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
            os.chmod(tmp, 0o777)
            out = os.path.join(tmp, "out.folded")
            argv = [jvm.jsampler_path(), "-p", str(java.pid), "-v", "-o", out, "-F", str(freq), "-d",
                    str(o.duration), *o.option]
            r = subprocess.run((NOBODY if o.user else []) + argv, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
            if r.returncode:
                sys.exit("jsampler: exit status %d\n%s" % (r.returncode, r.stderr))
            with open(out, encoding="utf-8") as f:
                folded = list(jvm.parse_folded(f))
        after = rounds(java)
        self.messages = r.stderr
        self.used, self.sampled = self.fact(r"CPU time of the target ([\d.]+) s, samples x period ([\d.]+) s")
        self.lost = self.fact(r", lost (\d+)")[0]
        brief, lasting, self.lives = (a - b for a, b in zip(after, before))
        self.true_share = 100 * brief / max(1, brief + lasting)
        count = {"Brief.brief": 0, "Brief.lasting": 0, SHORT: 0, KERNEL: 0}
        self.samples = 0
        for frames, n in folded:
            kind = next((k for k in count for f in frames if f.startswith(k)), None)
            if kind:
                count[kind] += n
            if kind not in (SHORT, KERNEL):
                self.samples += n
        self.missing = [count[k] / freq for k in (SHORT, KERNEL)]
        worked = count["Brief.brief"] + count["Brief.lasting"]
        self.share = 100 * count["Brief.brief"] / max(1, worked)
        self.brief_s, self.lasting_s = count["Brief.brief"] / freq, count["Brief.lasting"] / freq
        self.ratio = (self.sampled + sum(self.missing)) / self.used

    def fact(self, pattern):
        m = re.search(pattern, self.messages)
        if not m:
            sys.exit("no '%s' in:\n%s" % (pattern, self.messages))
        return [float(g) for g in m.groups()]

    def line(self):
        return ("used %.2f s, sampled %.2f (%.1f %%), not sampled: short-lived %.2f, kernel %.2f; together %+.2f %%; "
                "brief %.1f %%, true %.1f %%; %d samples, %d lives, lost %d" %
                (self.used, self.sampled, 100 * self.sampled / self.used, *self.missing, 100 * (self.ratio - 1),
                 self.share, self.true_share, self.samples, self.lives, self.lost))


def scatter(n):
    return 3 / math.sqrt(max(1, n))


def misses(o, run, freq, life_us):
    """What of this run is over its bar."""
    due = run.used * freq
    # Threads' own clocks leave nothing to chance: what has no sample is known, but for what is no whole sample.
    own_clocks = o.user or "--engine=suspend" in o.option
    bar = BAR_USER + 2 / max(1, due) if own_clocks else max(BAR_ROOT, scatter(due))
    found = []
    if abs(run.ratio - 1) > bar:
        found.append("%+.1f %% of the CPU time, bar %.1f" % (100 * (run.ratio - 1), 100 * bar))
    # The same life on both sides of the count; a share scatters like a coin's.
    share_bar = BAR_SHARE + 100 * 3 * math.sqrt(0.25 / max(1, due))
    if (not o.user or life_us * freq >= 2e6) and abs(run.share - run.true_share) > share_bar:
        found.append("share of brief threads %+.1f points, bar %.1f" % (run.share - run.true_share, share_bar))
    if o.user and life_us * freq >= 2e6:
        user_s = run.used - run.missing[1]
        if run.sampled < (0.9 - scatter(due)) * user_s:
            found.append("sampled %.2f of %.2f s in user mode" % (run.sampled, user_s))
    return found


def bound(values):
    """Mean and half of its 95 % interval (Student; 2.1 is that of 20 values)."""
    if len(values) < 2:
        return values[0], float("nan")
    return statistics.mean(values), 2.1 * statistics.stdev(values) / math.sqrt(len(values))


def cell(o, jdk, kind, life_us, at_once, freq):
    print("%s of %g ms, %d at once, JDK %d, %d Hz%s" % (kind, life_us / 1e3, at_once, jdk.major, freq,
                                                        ", uid 65534" if o.user else ""), flush=True)
    failed, ratios = 0, []
    for _ in range(o.runs):
        for left in reversed(range(o.tries)):
            java = start(o, jdk, life_us, at_once, kind)
            try:
                java.wait_ready()
                time.sleep(o.warmup)
                run = Run(o, java, freq)
            finally:
                java.stop()
            over = misses(o, run, freq, life_us)
            print("  " + run.line() + "".join("\n    over: " + m for m in over), flush=True)
            if o.verbose:
                print(run.messages)
            if not over:
                break
        failed += bool(over)
        ratios.append(100 * (run.ratio - 1))
    if o.runs > 1:
        print("  bias %+.2f %% +- %.2f (95 %%), worst %+.2f; %d of %d runs over a bar" %
              (*bound(ratios), max(ratios, key=abs), failed, o.runs), flush=True)
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk", default="17")
    p.add_argument("--kind", default="platform", choices=("platform", "virtual", "both"))
    p.add_argument("--life", type=float, default=3, help="ms")
    p.add_argument("--at-once", type=int, default=2)
    p.add_argument("--freq", type=int, default=99)
    p.add_argument("--duration", type=float, default=8)
    p.add_argument("--warmup", type=float, default=0.5)
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--tries", type=int, default=1)
    p.add_argument("--user", action="store_true", help="as uid 65534")
    p.add_argument("--table", action="store_true")
    p.add_argument("--option", action="append", default=[], help="one more for jsampler")
    p.add_argument("-v", "--verbose", action="store_true")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    if not o.table:
        sys.exit(cell(o, jdk, o.kind, o.life * 1000, o.at_once, o.freq) > 0)
    failed = 0
    kinds = ("platform", "virtual", "both") if jdk.major >= 21 else ("platform",)
    for kind in kinds:
        for life in (1, 3, 15):
            for at_once in (2, 20, 500):
                failed += cell(o, jdk, kind, life * 1000, at_once, o.freq)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
