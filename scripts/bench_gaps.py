"""The time that a sample takes from the sampled thread, by the clock of its CPU: scripts/bench --only gaps.

A thread reads the time stamp counter without a pause (tests/native/gaps.c); what is missing between two readings
is an interrupt. With each profiler in turn and without any, in windows; the difference, by the samples. So the timer
interrupt alone (perf without stacks), the kernel's copy of a stack, and what jsampler has it do can be told apart.
Its effect on the caches of a real program is not included: see the part "cost"."""

import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

import jvm
from environments_common import native

HZ = 4000  # many against the ticks of the scheduler and the timers of others: the median is of samples
DEPTH = 6500  # bytes of stack: 60 compiled frames
SETTLE = 1.0  # seconds from the start of a profiler to its window
BINS = 1000


def commands(pid, tmp):
    """None: without sampling."""
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-c", str(1_000_000_000 // HZ), "-p", str(pid), "-o", tmp + "/gaps.data"]
    found = {"nobody": None}
    if shutil.which("perf"):
        found["perf"] = perf
        found["perf dwarf"] = perf + ["--call-graph", "dwarf,8192"]
    found["jsampler"] = [jvm.jsampler_path(), "-p", str(pid), "-F", str(HZ), "-q", "-o", tmp + "/gaps.folded"]
    return found


def counts(path):
    with open(path, "rb") as f:
        return struct.unpack("<%dQ" % BINS, f.read(8 * BINS))


def window(path, pid, seconds):
    """How often each length of gap was seen per second of the thread's CPU time, and that time."""
    def cpu():
        return sum(int(text.split()[0]) for text in jvm.texts_of(pid, "schedstat")) / 1e9
    before, began = counts(path), cpu()
    time.sleep(seconds)
    after, ran = counts(path), cpu() - began
    return [(b - a) / ran for a, b in zip(before, after)], ran


def microseconds(gaps):
    return sum(n * (i + 0.5) / 10 for i, n in enumerate(gaps))


def median_gap(windows):
    """Of all windows together: on a busy machine this is more reliable than sums."""
    gaps = [sum(column) for column in zip(*(g for g, _ in windows))]
    half, seen = sum(gaps) / 2, 0
    for i, n in enumerate(gaps):
        seen += n
        if seen >= half:
            return (i + 0.5) / 10
    return float("nan")


def one(command, path, pid, seconds):
    if not command:
        return window(path, pid, seconds)
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=jvm.die_with_parent)
    time.sleep(SETTLE)
    w = window(path, pid, seconds)
    p.send_signal(signal.SIGINT)
    p.wait()
    return w


def measure(o, _jdk, _classes, results, tmp):
    program = native("gaps")
    path = tmp + "/gaps"
    taken = {}
    with subprocess.Popen([program, path, str(DEPTH)], stdout=subprocess.PIPE, preexec_fn=jvm.die_with_parent) as t:
        t.stdout.readline()
        for n in range(max(3, o.windows // 10)):
            print("   gaps: round %d" % n, file=sys.stderr, flush=True)
            for name, command in commands(t.pid, tmp).items():
                taken.setdefault(name, []).append(one(command, path, t.pid, 2 * o.window))
        t.kill()
    base = [microseconds(g) for g, _ in taken["nobody"]]
    cells = {}
    for name, windows in taken.items():
        if name != "nobody":
            each = [(microseconds(g) - b) / HZ for (g, _), b in zip(windows, base)]
            cells[name] = "%.1f us, a gap %.1f us" % (statistics.median(each), median_gap(windows))
    results.add("CPU time a sample takes of its thread, 4 kHz: perf without stacks", perf=cells.get("perf", ""))
    results.add("  with a stack of %d bytes" % DEPTH, jsampler=cells["jsampler"], perf=cells.get("perf dwarf", ""))
