#!/usr/bin/env python3
"""CPU time of threads that live for less than a period, against what the kernel accounted.

tests/java/brief/Brief.java makes threads of some ms without end, beside one that lasts. What is sampled, and what
outputs show as not sampled, must be its CPU time, and the samples of the two kinds must have the shares that the program counted.

    short_threads.py --jdk 17 --user one cell as uid 65534

short_threads_table.py measures every kind, life and number at once.

A bar is what must hold and what chance may add: n samples that are due scatter by sqrt((1 - p) / n), where p is the share of
the CPUs' time that the target uses. A run misses its bar by chance once in 300 times (three standard deviations);
each cell that CI runs may miss it in all but one of --tries. The CPU time is that of on_cpu.py where that is permitted.

With 20 runs and more the bias of a cell holds where its 95 % bound is under the bar, fails where it is over it, and
is inconclusive else. "z" is the standard deviation of the runs in units of what chance gives.

Exit status: 0 within the bars, 1 over one of them, 77 when the JDK asked for is not here.
"""

import argparse
import contextlib
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import jvm
import on_cpu

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
SHORT, KERNEL = "[not sampled: short-lived threads]", "[not sampled: kernel]"
# Single runs, root: relative to the CPU time; ordinary user: sampled and missing together; points.
BAR_ROOT, BAR_USER, BAR_SHARE = 0.02, 0.03, 3.0
# Many runs, root: percent, of that many samples at least.
BAR_BIAS, BIAS_SAMPLES, BIAS_RUNS = 1.0, 10000, 20


def reachable(path):
    """The same, where the other user gets at it."""
    return jvm.public(path) if NOBODY else path


def start(o, jdk, life_us, at_once, kind):
    classes = jvm.compile_java(jdk, "brief")
    args = [kind, str(round(life_us)), str(at_once), "1", str(o.depth), str(o.idle)]
    flags = ["-XX:-UsePerfData", "-XX:ActiveProcessorCount=2"]
    if not o.user:
        return jvm.Jvm(jdk, classes, "Brief", args, flags)
    target = jvm.Jvm.__new__(jvm.Jvm)
    target.argv = NOBODY + [str(jdk.home / "bin/java"), *flags, "-cp", str(reachable(classes)), "Brief", *args]
    target.proc = subprocess.Popen(target.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   preexec_fn=jvm.die_with_parent, bufsize=0)
    target.pid, target.buffer = target.proc.pid, b""
    return target


@contextlib.contextmanager
def rivals(n):
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=jvm.die_with_parent) for _ in range(n)]
    try:
        yield
    finally:
        for p in busy:
            p.kill()
            p.wait()


def rounds(java):
    java.tell("")
    while True:
        words = java.line(jvm.PATIENCE).split()
        if words[0] == "rounds":
            return [int(w) for w in words[1:]]


def watch(pid, freq):
    """on_cpu.OnCpu, or None where it is not permitted."""
    try:
        return on_cpu.OnCpu(pid, freq)
    except OSError:
        return None


class Run:
    """One recording: seconds, and shares of the brief threads in percent."""

    def __init__(self, o, java, freq):
        before = rounds(java)
        # The suspend engine counts by the threads' clocks, not by timers.
        watched = None if "--engine=suspend" in o.option else watch(java.pid, freq)
        with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
            os.chmod(tmp, 0o777)
            out = os.path.join(tmp, "out.folded")
            program = reachable(jvm.jsampler_path()) if o.user else jvm.jsampler_path()
            argv = [str(program), "-p", str(java.pid), "-v", "-o", out, "-F", str(freq), "-d", str(o.duration), *o.option]
            r = subprocess.run((NOBODY if o.user else []) + argv, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
            if r.returncode:
                sys.exit("jsampler: exit status %d\n%s" % (r.returncode, r.stderr))
            with open(out, encoding="utf-8") as f:
                folded = list(jvm.parse_folded(f))
        self.on_cpu = watched and watched.stop() or 1
        after = rounds(java)
        self.messages = r.stderr
        self.used, self.sampled = self.fact(r"CPU time of the target ([\d.]+) s, samples x period ([\d.]+) s")
        self.used *= self.on_cpu
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
        # The suspend engine's samples weigh what their threads have used, which may be much less than a period.
        by_clock = "--engine=suspend" in o.option and self.samples
        lost = self.lost * (self.sampled / self.samples if by_clock else 1 / freq)
        self.ratio = (self.sampled + sum(self.missing) + lost) / self.used
        p = min(1, self.used / o.duration / os.cpu_count())
        self.scatter = math.sqrt((1 - p) / max(1, self.used * freq))

    def fact(self, pattern):
        m = re.search(pattern, self.messages)
        if not m:
            sys.exit("no '%s' in:\n%s" % (pattern, self.messages))
        return [float(g) for g in m.groups()]

    def line(self):
        return ("used %.2f s (clock %+.2f %%), sampled %.2f (%.1f %%), not sampled: short-lived %.2f, kernel %.2f; together %+.2f %%; "
                "brief %.1f %%, true %.1f %%; %d samples, %d lives, lost %d" %
                (self.used, 100 * (1 / self.on_cpu - 1), self.sampled, 100 * self.sampled / self.used, *self.missing, 100 * (self.ratio - 1),
                 self.share, self.true_share, self.samples, self.lives, self.lost))


def misses(o, run, freq, life_us):
    """What of this run is over its bar."""
    due = run.used * freq
    # Threads' own clocks leave nothing to chance: what has no sample is known, but for what is no whole sample.
    own_clocks = o.user or "--engine=suspend" in o.option
    bar = BAR_USER + 2 / max(1, due) if own_clocks else max(BAR_ROOT, 3 * run.scatter)
    found = []
    if abs(run.ratio - 1) > bar:
        found.append("%+.1f %% of the CPU time, bar %.1f" % (100 * (run.ratio - 1), 100 * bar))
    # The same life on both sides of the count; a share scatters like a coin's.
    share_bar = BAR_SHARE + 100 * 3 * math.sqrt(0.25 / max(1, due))
    if (not o.user or life_us * freq >= 2e6) and abs(run.share - run.true_share) > share_bar:
        found.append("share of brief threads %+.1f points, bar %.1f" % (run.share - run.true_share, share_bar))
    if o.user and life_us * freq >= 2e6:
        user_s = run.used - run.missing[1]
        if run.sampled < 0.9 * user_s - 2 / freq:
            found.append("sampled %.2f of %.2f s in user mode" % (run.sampled, user_s))
    return found


def bound(values):
    """Mean and half of its 95 % interval (Student; 2.1 is that of 20 values)."""
    if len(values) < 2:
        return values[0], float("nan")
    return statistics.mean(values), 2.1 * statistics.stdev(values) / math.sqrt(len(values))


def record(o, java, freq, life_us):
    """A recording within its bars, or the last of --tries; and whether it is."""
    for left in reversed(range(o.tries)):
        run = Run(o, java, freq)
        over = misses(o, run, freq, life_us)
        print("  " + run.line() + "".join("\n    over: " + m for m in over), flush=True)
        if o.verbose:
            print(run.messages)
        if not over or not left:
            return run, not over


def judge(o, runs):
    """What many runs say of the bias; whether it is over its bar."""
    values = [100 * (r.ratio - 1) for r in runs]
    mean, half = bound(values)
    samples = sum(r.samples for r in runs)
    z = statistics.stdev([v / 100 / r.scatter for v, r in zip(values, runs)])
    print("  bias %+.2f %% +- %.2f (95 %%), worst %+.2f, z %.1f; %d samples; brief %+.1f points" %
          (mean, half, max(values, key=abs), z, samples, statistics.mean(r.share - r.true_share for r in runs)),
          end="")
    if o.user or len(runs) < BIAS_RUNS or samples < BIAS_SAMPLES:
        print(flush=True)
        return False
    word = ("holds" if abs(mean) + half <= BAR_BIAS else "fails" if abs(mean) - half > BAR_BIAS else "inconclusive")
    print("; bar %.1f %%: %s" % (BAR_BIAS, word), flush=True)
    return word == "fails"


def cell(o, jdk, kind, life_us, at_once, freq):
    print("%s of %g ms, %d at once, JDK %d, %d Hz%s" % (kind, life_us / 1e3, at_once, jdk.major, freq,
                                                        ", uid 65534" if o.user else ""), flush=True)
    failed, runs = 0, []
    while len(runs) < o.runs:
        java = start(o, jdk, life_us, at_once, kind)
        try:
            java.wait_ready()
            time.sleep(o.warmup)
            with rivals(o.rivals):
                for _ in range(min(o.per_jvm, o.runs - len(runs))):
                    run, good = record(o, java, freq, life_us)
                    runs.append(run)
                    failed += not good
        finally:
            java.stop()
    if len(runs) > 1:
        print("  %d of %d runs over a bar" % (failed, len(runs)))
        failed = judge(o, runs) or failed > len(runs) / 20
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk", default="17")
    p.add_argument("--kind", default="platform", choices=("platform", "virtual", "both"))
    p.add_argument("--life", type=float, default=3, help="ms")
    p.add_argument("--at-once", type=int, default=2)
    p.add_argument("--freq", type=int, default=99)
    p.add_argument("--duration", type=float, default=8)
    p.add_argument("--warmup", type=float, default=2, help="s; a process younger than 3 s is sampled differently")
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--per-jvm", type=int, default=1, help="runs of each JVM")
    p.add_argument("--depth", type=int, default=0, help="calls more on the stacks of brief threads")
    p.add_argument("--idle", type=int, default=0, help="threads that sleep")
    p.add_argument("--rivals", type=int, default=0, help="other programs that want a CPU")
    p.add_argument("--tries", type=int, default=1)
    p.add_argument("--user", action="store_true", help="as uid 65534")
    p.add_argument("--option", action="append", default=[], help="one more for jsampler")
    p.add_argument("-v", "--verbose", action="store_true")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    sys.exit(cell(o, jdk, o.kind, o.life * 1000, o.at_once, o.freq) > 0)


if __name__ == "__main__":
    main()
