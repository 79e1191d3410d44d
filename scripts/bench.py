"""The measurements behind scripts/bench. One table at the end; progress on stderr."""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import bench_gaps  # noqa: E402
import jvm  # noqa: E402
from bench_rows import VERDICTS, bootstrap, judge  # noqa: E402

OPS_FLAGS = ["-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Ops::left",
             "-XX:CompileCommand=dontinline,Ops::right"]
TRUTH = str(ROOT / "tests/integration/truth.py")


def progress(text):
    print(text, file=sys.stderr, flush=True)


# ---- the profilers ----------------------------------------------------------------------------


class Tool:
    """A profiler that can be started and stopped; its rusage shows what it used."""

    name = "?"

    def command(self, pid, hz, out):
        raise NotImplementedError

    def start(self, pid, hz, tmp):
        self.out = os.path.join(tmp, self.name + ".out")
        self.err = open(os.path.join(tmp, self.name + ".err"), "wb")
        self.proc = subprocess.Popen(self.command(pid, hz, self.out), stdin=subprocess.DEVNULL,
                                     stdout=self.err, stderr=self.err, preexec_fn=jvm.die_with_parent)

    def stop(self):
        """Its messages, CPU seconds and peak memory in MB."""
        os.kill(self.proc.pid, signal.SIGINT)  # not send_signal(): that would reap it, and its rusage
        _, status, usage = os.wait4(self.proc.pid, 0)
        self.proc.returncode = os.waitstatus_to_exitcode(status)
        self.err.close()
        with open(self.err.name, errors="replace") as f:
            messages = f.read()
        return messages, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Jsampler(Tool):
    name = "jsampler"

    def __init__(self, path=None):
        self.path = path or jvm.jsampler_path()

    def command(self, pid, hz, out):
        return [self.path, "-p", str(pid), "-F", str(hz), "-v", "-o", out + ".folded"]


class Other(Jsampler):
    """Another build of jsampler, in the same windows."""

    name = "other"


class Perf(Tool):
    name = "perf dwarf"

    def command(self, pid, hz, out):
        return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), "--call-graph", "dwarf",
                "-p", str(pid), "-o", out]


class Asprof(Tool):
    name = "async-profiler"

    def command(self, pid, hz, out):
        return [os.environ["ASPROF"], "-d", "3600", "-e", "cpu", "-i", "%dus" % (1_000_000 // hz),
                "-o", "collapsed", "-f", out, str(pid)]

    def stop(self):
        subprocess.run([os.environ["ASPROF"], "stop", str(self.pid)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return super().stop()

    def start(self, pid, hz, tmp):
        self.pid = pid
        super().start(pid, hz, tmp)


def tools(o):
    found = [Jsampler()]
    if o.against:
        found.append(Other(o.against))
    if o.alone:
        return found
    if shutil.which("perf"):
        found.append(Perf())
    if os.environ.get("ASPROF"):
        found.append(Asprof())
    return found


# ---- the table --------------------------------------------------------------------------------


CELL = {"jsampler": "jsampler", "other": "other", "perf dwarf": "perf", "async-profiler": "asprof"}


class Results:
    def __init__(self, columns):
        self.rows, self.columns, self.failed = [], columns, False

    def add(self, what, bar="", verdict="", **cells):
        """cells: jsampler=..., perf=..., asprof=..."""
        values = {name: cells.get(key, "") for name, key in CELL.items()}
        self.rows.append((what, bar, [values[c] for c in self.columns], verdict))
        self.failed |= verdict == "FAILS"
        progress("   %s: %s %s" % (what, ", ".join("%s %s" % (k, v) for k, v in values.items() if v), verdict))

    def show(self):
        head = ["what", "bar", *self.columns, ""]
        lines = [head] + [[w, b, *v, verdict] for w, b, v, verdict in self.rows]
        width = [max(len(line[i]) for line in lines) for i in range(len(head))]
        for line in lines:
            print("  ".join(cell.ljust(n) for cell, n in zip(line, width)).rstrip())


def verdict(value, bar, more=False):
    if value is None:
        return "not measured"
    return "holds" if (value >= bar if more else value <= bar) else "FAILS"


# ---- cost to the target -----------------------------------------------------------------------


class Counter:
    """{operations, nanoTime, CPU ns} that Ops keeps in a file."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)

    def read(self):
        while True:
            before, ops, wall, cpu = struct.unpack("<4q", os.pread(self.fd, 32, 0))
            after, = struct.unpack("<q", os.pread(self.fd, 8, 0))
            if before == after and before % 2 == 0:
                return ops, wall, cpu

    def window(self, seconds):
        """(wall ns, CPU ns) per operation over a window that begins now."""
        o0, w0, c0 = self.read()
        time.sleep(seconds)
        o1, w1, c1 = self.read()
        return (w1 - w0) / (o1 - o0), (c1 - c0) / (o1 - o0)


COST_BARS = {99: 0.3, 1000: 1.5}  # Hz: percent of the target's time


def one_window(tool, hz, pid, counter, tmp, seconds):
    tool.start(pid, hz, tmp)
    time.sleep(0.35)  # attaching is no part of the window
    w = counter.window(seconds)
    tool.stop()
    return w


def earlier(pool, ratios):
    """What earlier runs with the same --pool have found is added to the ratios."""
    if pool and os.path.exists(pool):
        with open(pool, encoding="utf-8") as f:
            for name, hz, *both in json.load(f):
                for mine, found in zip(ratios.get((name, hz), ()), both):
                    mine.extend(found)


def keep(pool, ratios):
    if pool:
        with open(pool, "w", encoding="utf-8") as f:
            json.dump([[*key, *both] for key, both in ratios.items()], f)


def measure_cost(o, jdk, classes, results, tmp):
    """Alternating windows: off, on (one profiler and rate), off, ...; compares each "on" with its neighbours."""
    rates = [(hz, COST_BARS[hz]) for hz in o.rates]
    cases = [(t, hz, bar) for t in tools(o) for hz, bar in rates]
    ratios = {(t.name, hz): ([], []) for t, hz, _ in cases}
    earlier(o.pool, ratios)
    path = os.path.join(tmp, "ops")
    with jvm.Jvm(jdk, classes, "Ops", ["cost", path, "1"], OPS_FLAGS) as java:
        java.wait_ready()
        counter = Counter(path)
        before = counter.window(o.window)
        for n in range(o.windows):
            if n % 10 == 0:
                progress("   cost: window %d of %d" % (n, o.windows))
            for tool, hz, _ in random.sample(cases, len(cases)):
                on = one_window(tool, hz, java.pid, counter, tmp, o.window)
                time.sleep(0.05)
                after = counter.window(o.window)
                for i in (0, 1):
                    ratios[tool.name, hz][i].append(200 * on[i] / (before[i] + after[i]) - 100)
                before = after
    keep(o.pool, ratios)
    windows = min(len(r[0]) for r in ratios.values())
    for hz, bar in rates:
        for i, unit in ((0, "wall time"), (1, "CPU time")):
            cells, judged = {}, ""
            for tool in tools(o):
                median, low, high = bootstrap(ratios[tool.name, hz][i])
                cells[CELL[tool.name]] = "%+.2f %% (%.2f..%.2f)" % (median, low, high)
                if tool.name == "jsampler":
                    judged = VERDICTS[judge(low, high, bar)]
                    if windows < 200 and judged != "FAILS":
                        judged += " (%d windows)" % windows
            results.add("cost per operation, %s, %d Hz" % (unit, hz), "<= %.1f %%" % bar,
                        judged if i == 0 else "", **cells)


# ---- own CPU, memory, period, threads, first stack ---------------------------------------------


def run_tool(tool, pid, hz, seconds, tmp):
    tool.start(pid, hz, tmp)
    time.sleep(seconds)
    return tool.stop()


def fact(messages, pattern):
    m = re.search(pattern, messages)
    return tuple(float(g) for g in m.groups()) if m else None


def perf_samples(out):
    """(samples, stacks that reach the thread's first frame, CPU seconds, MB of perf script)."""
    p = subprocess.Popen(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", out], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)
    samples = complete = 0
    last = b""
    for line in p.stdout:
        if line.strip():
            last = line
        elif last:
            samples += 1
            complete += any(w in last for w in (b"clone3", b"start_thread", b"_start", b"clone"))
            last = b""
    _, _, usage = os.wait4(p.pid, 0)
    p.returncode = 0
    return samples, complete, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure_period(o, jdk, classes, results, tmp):
    """Own CPU per sample, samples x period, complete stacks: two threads, 60 frames."""
    path = os.path.join(tmp, "ops")
    seconds = 5 if o.quick else 20
    with jvm.Jvm(jdk, classes, "Ops", ["cost", path, "2"], OPS_FLAGS) as java:
        java.wait_ready()
        for hz in (99, 999, 4999):
            messages, cpu, rss = run_tool(Jsampler(), java.pid, hz, seconds, tmp)
            times = fact(messages, r"CPU time of the target ([\d.]+) s, samples x period ([\d.]+) s")
            off = 100 * (times[1] / times[0] - 1) if times and times[0] else None
            results.add("samples x period, %d Hz" % hz, "within 2 %", verdict(abs(off), 2) if off is not None
                        else "not measured", jsampler="%+.2f %%" % off if off is not None else "?")
            if hz == 999:
                report_own(results, java.pid, messages, cpu, rss, tmp, seconds)


def report_own(results, pid, messages, cpu, rss, tmp, seconds):
    counts = fact(messages, r"samples (\d+), lost (\d+), complete (\d+), resynchronised (\d+), frozen (\d+)")
    samples = counts[0] if counts else 0
    own = fact(messages, r"own CPU ([\d.]+) s \(([\d.]+) us/sample\)")
    cells = {"cpu": {}, "whole": {}, "memory": {}, "complete": {}}
    if samples:
        rest = samples - counts[2] - counts[3] - counts[4]
        cells["cpu"]["jsampler"] = "%.1f us" % own[1] if own else "?"
        cells["whole"]["jsampler"] = "%.1f us" % (1e6 * cpu / samples)
        cells["memory"]["jsampler"] = "%.1f MB" % rss
        cells["complete"]["jsampler"] = "%.3f/%.3f/%.3f %%" % tuple(
            100 * x / samples for x in (counts[2], counts[3], rest))
    if shutil.which("perf"):
        perf = Perf()
        _, cpu_record, rss_record = run_tool(perf, pid, 999, min(seconds, 5), tmp)
        n, complete, cpu_script, rss_script = perf_samples(perf.out)
        if n:
            cells["cpu"]["perf"] = "%.1f us" % (1e6 * cpu_record / n)
            cells["whole"]["perf"] = "%.1f us" % (1e6 * (cpu_record + cpu_script) / n)
            cells["memory"]["perf"] = "%.1f MB" % max(rss_record, rss_script)
            cells["complete"]["perf"] = "%.3f/-/%.3f %%" % (100 * complete / n, 100 * (n - complete) / n)
    results.add("own CPU per sample, 999 Hz, 60 frames", "<= 20 us", verdict(own[1] if own else None, 20),
                **cells["cpu"])
    results.add("  with start, names, output (perf: + script)", **cells["whole"])
    results.add("  peak memory", **cells["memory"])
    results.add("complete/resynchronised/incomplete", ">= 99.9 %",
                verdict(100 * counts[2] / samples if samples else None, 99.9, more=True), **cells["complete"])


def measure_memory(o, jdk, classes, results, tmp):
    with jvm.Jvm(jdk, classes, "Ops", ["diverse", "2"], OPS_FLAGS) as java:
        java.wait_ready()
        messages, _, rss = run_tool(Jsampler(), java.pid, 4999, 3 if o.quick else 13, tmp)
    stacks = fact(messages, r"(\d+) distinct stacks of (\d+) frames")
    n = stacks[0] if stacks else 0
    judged = verdict(rss, 100) if n >= 100_000 else "%s stacks only" % int(n)
    results.add("memory, %d distinct stacks of 60 frames" % n, "<= 100 MB", judged, jsampler="%.1f MB" % rss)


def measure_threads(o, jdk, classes, results, tmp):
    seconds = 5 if o.quick else 20
    with jvm.Jvm(jdk, classes, "Ops", ["threads", "1000", "8"], OPS_FLAGS) as java:
        java.wait_ready()
        messages, cpu, _ = run_tool(Jsampler(), java.pid, 99, seconds, tmp)
    counts = fact(messages, r"samples (\d+), lost (\d+)")
    own = fact(messages, r"own CPU ([\d.]+) s")
    share = 100 * (own[0] if own else cpu) / seconds
    results.add("1,000 threads, 8 busy, 99 Hz: lost", "0", verdict(counts[1] if counts else None, 0),
                jsampler="%d of %d" % (counts[1], counts[0]) if counts else "?")
    results.add("  own CPU, part of a core (start and end included)", "<= 5 %", verdict(share, 5),
                jsampler="%.1f %%" % share)


def measure_first(o, jdk, classes, results, tmp):
    """Time to the first named stack in a JVM with 10,000 compiled methods."""
    firsts, whole = [], []
    with jvm.Jvm(jdk, classes, "Ops", ["methods", "10000"], OPS_FLAGS) as java:
        java.wait_ready()
        for _ in range(3 if o.quick else 11):
            began = time.monotonic()
            r = subprocess.run([jvm.jsampler_path(), "-p", str(java.pid), "-d", "1", "-F", "999", "-v", "-o",
                                os.path.join(tmp, "first.folded")], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
            whole.append(1000 * (time.monotonic() - began - 1))
            first = fact(r.stderr, r"first stack after ([\d.]+) ms")
            if first:
                firsts.append(first[0])
    worst = max(firsts) if firsts else None
    results.add("first named stack, 10,000 compiled methods", "<= 150 ms", verdict(worst, 150),
                jsampler="%.0f ms (median %.0f)" % (worst, statistics.median(firsts)) if firsts else "?")
    results.add("  attaching and naming around 1 s of recording", jsampler="%.0f ms" % statistics.median(whole))


def cpu_of(argv):
    """CPU time in ms of a program and of all processes that it has waited for."""
    proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            preexec_fn=jvm.die_with_parent)
    _, status, usage = os.wait4(proc.pid, 0)
    proc.returncode = os.waitstatus_to_exitcode(status)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def measure_short(o, jdk, classes, results, tmp):
    """A recording of 1 s, all of whose CPU time counts, and what `list` takes."""
    times, other, lists = [], [], []
    with jvm.Jvm(jdk, classes, "Ops", ["methods", "2000"], OPS_FLAGS) as java:
        java.wait_ready()
        record = ["-q", "-p", str(java.pid), "-d", "1", "-F", "99", "-o", os.path.join(tmp, "short.folded")]
        for _ in range(5 if o.quick else 21):
            times.append(cpu_of([jvm.jsampler_path()] + record))
            if o.against:
                other.append(cpu_of([o.against] + record))
            lists.append(cpu_of([jvm.jsampler_path(), "list"]))
    own = statistics.median(times)
    more = {"other": "%.0f ms" % statistics.median(other)} if other else {}
    results.add("own CPU, 1 s at 99 Hz, 2,000 compiled methods", "<= 50 ms", verdict(own, 50),
                jsampler="%.0f ms (%.0f to %.0f)" % (own, min(times), max(times)), **more)
    results.add("own CPU of `list`", jsampler="%.0f ms" % statistics.median(lists))


# ---- misplaced share ---------------------------------------------------------------------------


def truth(profiler, jdk, gc, runs, duration, tmp):
    out = os.path.join(tmp, "truth.json")
    r = subprocess.run([sys.executable, TRUTH, "--profiler", profiler, "--jdk", str(jdk.home), "--gc", gc,
                        "--runs", str(runs), "--duration", str(duration), "--json", out],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       preexec_fn=jvm.die_with_parent)
    if not os.path.exists(out):
        progress(r.stdout)
        return None
    with open(out, encoding="utf-8") as f:
        result = json.load(f)["runs"]
    os.unlink(out)
    return max(result, key=lambda x: x["variation"])


def show_truth(r):
    if not r:
        return "?"
    return "%.2f, %.2f on wrong ones (%.2f)" % (r["variation"], r["wrong"], r["expected"])


def measure_truth(o, jdk, _, results, tmp):
    runs, duration = (1, 10) if o.quick else (5, 30)
    for gc, bar in (("G1", 1.5), ("Parallel", 2)):
        mine = truth("jsampler", jdk, gc, runs, duration, tmp)
        cells = {"jsampler": show_truth(mine)}
        if os.environ.get("ASPROF"):
            cells["asprof"] = show_truth(truth("asprof", jdk, gc, runs, duration, tmp))
        results.add("misplaced points, %s, worst of %d (perfect sampler)" % (gc, runs), "<= %.1f" % bar,
                    verdict(mine["variation"] if mine and mine["samples"] >= 40_000 else None, bar), **cells)


PARTS = {"cost": measure_cost, "period": measure_period, "truth": measure_truth, "memory": measure_memory,
         "threads": measure_threads, "first": measure_first, "short": measure_short, "gaps": bench_gaps.measure}


def parse_arguments():
    p = argparse.ArgumentParser(prog="scripts/bench")
    p.add_argument("--quick", action="store_true", help="few windows, short runs: a rough result")
    p.add_argument("--windows", type=int, help="interleaved windows per profiler and rate (200)")
    p.add_argument("--window", type=float, default=0.6, help="seconds of each")
    p.add_argument("--only", default=",".join(PARTS), help="parts: " + ", ".join(PARTS))
    p.add_argument("--rates", type=lambda s: [int(hz) for hz in s.split(",")], default=[*COST_BARS],
                   help="rates of the part cost, in Hz: 99,1000")
    p.add_argument("--pool", metavar="FILE", help="of the part cost: earlier runs' windows count, too")
    p.add_argument("--alone", action="store_true", help="jsampler only, without other profilers")
    p.add_argument("--against", metavar="BINARY", help="another build of jsampler: its cost in the same windows")
    p.add_argument("--jdk", help="major version or directory")
    p.add_argument("--json", help="also write the table to this file")
    o = p.parse_args()
    o.windows = o.windows or (10 if o.quick else 200)
    if set(o.rates) - set(COST_BARS):
        p.error("--rates takes " + " and ".join(map(str, COST_BARS)))
    unknown = set(o.only.split(",")) - set(PARTS)
    if unknown:
        p.error("no part " + ", ".join(sorted(unknown)))
    return o


def main():
    o = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    jdk = jvm.pick_jdk(o.jdk)
    classes = jvm.compile_java(jdk, "shapes")
    results = Results([t.name for t in tools(o)])
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        for part in o.only.split(","):
            progress("== " + part)
            PARTS[part](o, jdk, classes, results, tmp)
    print("JDK %d, %d CPUs, kernel %s" % (jdk.major, os.cpu_count(), os.uname().release))
    results.show()
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump([dict(what=w, bar=b, verdict=v, **dict(zip(results.columns, c)))
                       for w, b, c, v in results.rows], f, indent=1)
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
