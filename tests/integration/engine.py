#!/usr/bin/env python3
"""The perf engine against the kernel's own accounting: engine.py truth|life|refusals|counts PROBE LOAD.

How often a right engine would fail: events on CPUs sample in wall time, so that the number of samples
of a target that has the share p of n sampling instants scatters, at most binomially: a standard
deviation of sqrt((1 - p) / (p n)) of it. The bar is 2 %, or 4 such deviations where the machine is
so busy that they are more (1 in 16,000 each). Beside other work the target comes out up to 2 % high
besides: what others do in short pieces right behind a timer interrupt is never sampled. Hence the
5 % of (1 - p).

Where the host took a part of the CPUs' time, the yardstick is what timers beside the engine's find (on_cpu.py, Stolen).

A machine that stands still, or gives its CPUs to others for a second, spoils a measurement: what misses its bar
is measured again, up to three times. Messages of refusals have one try, and so has what the sanitizers look for,
with which the probe fails.
"""
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jvm
import on_cpu
from tries import ahead, check, failures, tried

CPUS = os.cpu_count()


class Load:
    """A running engine_load, ahead of other work on the machine: few samples decide little."""

    def __init__(self, scenario, threads=2, seconds=600, before=()):
        self.popen = subprocess.Popen([*before, LOAD, scenario, str(threads), str(seconds)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      preexec_fn=ahead)
        self.popen.stdout.readline()  # "ready"
        self.pid = self.popen.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.close()
        self.popen.kill()
        self.popen.wait()


def start_probe(pid, rate, seconds, *options, before=()):
    return subprocess.Popen([*before, PROBE, str(pid), str(rate), str(seconds), *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(popen):
    out, err = popen.communicate(timeout=jvm.PATIENCE)
    facts = {k: float(v) for k, v in re.findall(r"(\w+)=(-?[\d.]+)", out)}
    return popen.returncode, facts, err


def probe(pid, rate, seconds, *options, before=()):
    code, facts, err = result(start_probe(pid, rate, seconds, *options, before=before))
    if code:
        raise RuntimeError(err)
    return facts


def tolerance(f, rate):
    if not f["wall_s"]:
        return 0  # it had ended before it was looked at
    n = rate * f["wall_s"] * CPUS
    p = min(max(f["cpu_s"] / (f["wall_s"] * CPUS), 1e-6), 1)
    return max(0.02, 4 * math.sqrt((1 - p) / (p * n))) + 0.05 * (1 - p)


def check_ratio(f, rate, what, scale=1.0, may_lose=0):
    tol = tolerance(f, rate) * scale
    check(abs(f["ratio"] - 1) <= tol,
          f"{what}: samples x period / CPU time = {f['ratio']:.4f} (+-{tol:.3f}), "
          f"{f['samples']:.0f} samples")
    lost = f["lost_ring"] + f["lost_queue"]
    check(lost <= may_lose * f["samples"] and f["malformed"] == 0, f"{what}: lost {lost:.0f}")


def probe_truly(pid, rate, seconds, mode):
    """As probe(); where the host took CPU time, against timers."""
    stolen = on_cpu.Stolen([pid], rate)
    f = probe(pid, rate, seconds, mode)
    share = stolen.stop()[pid]
    f["clock_off"] = abs(share - 1)
    f["ratio"] /= share
    return f


def busy(mode, rate, seconds):
    with Load("spin") as load:
        f = probe_truly(load.pid, rate, seconds, mode)
    check_ratio(f, rate, f"2 busy threads, {rate} Hz, {mode}")
    bar = 2 * tolerance(f, rate) + 2 * f["clock_off"]  # either thread may have had it all
    check(f["worst_thread"] <= bar, f"  each thread within {bar:.3f}: {f['worst_thread']:.4f}")


def as_it_likes():
    with Load("spin") as load:
        f = probe_truly(load.pid, 999, 5, "auto")
    check_ratio(f, 999, "2 busy threads, 999 Hz, as it likes")
    check(f["by_thread"] == 1 or f["cpu_s"] < 1, "  counts the threads' own time")


def bursts():
    """What the kernel accounts to a thread for its wake-ups cannot be sampled as that thread: about 10 us of
    every 200 here."""
    with Load("burst") as load:
        f = probe_truly(load.pid, 999, 6, "cpus")
    check(0.85 <= f["ratio"] <= 1.05, f"bursts of 0.2 ms: {f['ratio']:.4f}")
    check(f["worst_thread"] <= 0.2 + 2 * f["clock_off"], f"  each thread its share: {f['worst_thread']:.4f}")


def churn():
    with Load("churn") as load:
        f = probe_truly(load.pid, 99, 8, "cpus")
    check_ratio(f, 99, "threads that live for 3 ms", 1.5)
    check(f["exits"] > 100, f"  and end: {f['exits']:.0f}")


def many(mode):
    with Load("many", 1000) as load:
        f = probe(load.pid, 99, 6, mode)
    check(f["lost_ring"] + f["lost_queue"] == 0 and f["own_cpu"] <= 0.05,
          f"1,000 threads, 8 run, {mode}: nothing lost, own CPU {100 * f['own_cpu']:.2f} %")


def idle():
    with Load("idle") as load:
        f = probe(load.pid, 99, 15)
    check(f["own_cpu"] < 0.003, f"idle target: own CPU {100 * f['own_cpu']:.3f} %")


def truth():
    for mode in ("cpus", "threads"):
        for rate, seconds in ((99, 8), (999, 5), (4999, 4)):
            tried(busy, mode, rate, seconds)
    for scenario in (as_it_likes, bursts, churn):
        tried(scenario)
    for mode in ("cpus", "threads"):
        tried(many, mode)


def born(mode):
    with Load("late") as load:
        f = probe(load.pid, 999, 5, mode)
    check_ratio(f, 999, f"threads born while sampled, {mode}")


def execs(mode):
    with Load("exec", 2, 4) as load:
        f = probe(load.pid, 999, 4, mode)
    check_ratio(f, 999, f"exec, {mode}", 1.5)
    check(f["execs"] == 1 and f["mapped"] > 0, f"  is told: {f['execs']:.0f}")


def forks(mode):
    with Load("fork", 1) as load:
        f = probe(load.pid, 999, 4, mode)
    check_ratio(f, 999, f"a child that is not sampled, {mode}", 1.5)


def deep(mode):
    with Load("deep", 1) as load:
        f = probe(load.pid, 99, 5, mode)
    check(f["stack"] == 65528 and f["cut"] < 0.02 * f["samples"] + 2,
          f"deep stacks, {mode}: copy grew to {f['stack']:.0f}, {f['cut']:.0f} of {f['samples']:.0f} cut")


def deeper(mode):
    """Joined only when it is proven that nothing moved: 88 to 94 % on a machine that others use, 69 to 82 %
    with eight busy processes a CPU."""
    with Load("deeper", 1) as load:
        f = probe(load.pid, 99, 5, mode)
    check(f["deep"] > 0 and f["joined"] >= 0.5 * f["deep"] and f["stack_max"] > 300000,
          f"stacks of 330 KB, {mode}: {f['joined']:.0f} of {f['deep']:.0f} joined")


def deepens():
    """A thread of 5 KB of stack has a copy of its own size, until a deeper stack is cut: then all are whole again."""
    with Load("deepens", 1) as load:
        p = start_probe(load.pid, 499, 3600, "threads")
        jvm.wait_until(lambda: "jsampler-drain\n" in jvm.texts_of(p.pid, "comm") or p.poll() is not None)
        jvm.burn(load.pid, 2)
        os.kill(load.pid, signal.SIGUSR1)
        jvm.burn(load.pid, 4)
        load.popen.stdin.close()
        _, f, _ = result(p)
    check(f and 0 < f["cut"] < 0.2 * f["samples"] and f["stack_max"] > 20000,
          f"a stack gets deeper: {f.get('cut', 0):.0f} of {f.get('samples', 0):.0f} cut")


def ends(mode):
    with Load("spin", 1) as load:
        p = start_probe(load.pid, 99, 3600, mode)
        jvm.wait_until(lambda: "jsampler-drain\n" in jvm.texts_of(p.pid, "comm") or p.poll() is not None)
        began = time.monotonic()
        load.popen.stdin.close()
        code, f, err = result(p)
        took = time.monotonic() - began
    if code:
        raise RuntimeError(err)
    check(f["ended"] == 1 and took < 15, f"the end of the target, {mode}: after {took:.1f} s")


def held_up():
    """Stopped for a second while it samples: what is lost is counted."""
    with Load("spin") as load:
        p = start_probe(load.pid, 4999, 4)
        jvm.burn(load.pid, 2)
        p.send_signal(signal.SIGSTOP)
        time.sleep(1)
        p.send_signal(signal.SIGCONT)
        _, f, _ = result(p)
    whole = (f["samples"] + f["lost_ring"] + f["lost_queue"]) / 4999 / f["cpu_s"]
    check(f["lost_ring"] > 0 and abs(whole - 1) < 2 * tolerance(f, 4999),
          f"stopped for 1 s: {f['lost_ring']:.0f} lost are counted, with them {whole:.4f}")


def slow_consumer():
    """Some 40 KiB a sample: 64 MiB of queue are full after 1,600."""
    with Load("deep") as load:
        f = probe(load.pid, 4999, 3, "stall_us=2000")
    whole = (f["samples"] + f["lost_ring"] + f["lost_queue"]) / 4999 / f["cpu_s"]
    check(f["lost_queue"] > 0, f"slow consumer: {f['lost_queue']:.0f} lost by the queue, all of "
          f"them counted: {whole:.4f}")


def other_namespace():
    with Load("spin", 1, 20, ("unshare", "-p", "-f")) as load:
        child = int(open(f"/proc/{load.pid}/task/{load.pid}/children").read())
        f = probe(child, 999, 2, "cpus")
        os.kill(child, signal.SIGKILL)
    check_ratio(f, 999, "another PID namespace")


def life():
    for mode in ("cpus", "threads"):
        for scenario in (born, execs, forks, deep, deeper, ends):
            tried(scenario, mode)
    tried(deepens)
    tried(held_up)
    tried(slow_consumer)
    if shutil.which("unshare"):
        tried(other_namespace)
    if not jvm.SANITIZED:
        tried(idle)


def count(load, event, mode, period):
    f = probe(load.pid, 99, 1, mode, "stack=1000", "count", f"event={event}", f"period={period}")
    lost = f["lost_ring"] + f["lost_queue"]
    # What came between the counters' times and the samples'; losses have no time.
    low = high = 20 + 0.005 * f["counted"] + lost * period
    if period > 1 and mode == "cpus":
        # Others' events count too: which are the target's is chance, 5 deviations.
        low = high = high + CPUS * period + 5 * math.sqrt(period * f["counted"])
    elif period > 1:
        low += 3 * CPUS * period  # what every event of every thread has not yet full
        high += 3 * CPUS * period
    off = f["weight"] + lost * period - f["counted"]
    check(f["counted"] > 0 and -low <= off <= high,
          f"{event} in {period}s, {mode}: {f['counted']:.0f} counted, {f['weight']:.0f} sampled, {lost:.0f} lost")
    check(f["samples"] * period <= f["counted"] * 1.2 + 2 * high + 50 * period, f"  by {f['samples']:.0f} samples")


def counts():
    """Weights of software events against counters of the kernel on the same threads."""
    with Load("stir", 2, 600) as load:
        for event in ("page-faults", "minor-faults", "context-switches", "cpu-migrations"):
            if event == "cpu-migrations" and CPUS == 1:
                continue
            for mode, period in (("cpus", 1), ("threads", 1), ("cpus", 20), ("threads", 20)):
                tried(count, load, event, mode, period)


def refused(what, pattern, pid, rate, *options, before=()):
    code, _, err = result(start_probe(pid, rate, 1, *options, before=before))
    lines = [line for line in err.splitlines() if line.startswith("engine_probe: ")]
    check(code == 1 and len(lines) == 1 and re.search(pattern, lines[0]) is not None,
          f"{what}: {lines}")


def unprivileged(load, nobody, paranoid):
    """Rings of 512 KiB, and no real-time priority to empty them."""
    f = probe(load.pid, 999, 3, before=nobody)
    check_ratio(f, 999, "unprivileged", may_lose=0.02)
    check(f["no_kernel"] == (paranoid > 1), "  and is said to lack kernel frames")


def no_locked_memory(load, nobody):
    f = probe(load.pid, 999, 2, before=("prlimit", "--memlock=4096:4096", *nobody))
    whole = (f["samples"] + f["lost_ring"]) / 999 / f["cpu_s"]
    check(abs(whole - 1) < 2 * tolerance(f, 999),
          f"unprivileged, no locked memory: {f['lost_ring']:.0f} lost, with them {whole:.4f}")


def refusals():
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    paranoid = int(open("/proc/sys/kernel/perf_event_paranoid").read())
    with Load("spin", 1) as load:
        refused("unknown event", "unknown event 'x-y'", load.pid, 99, "event=x-y")
        refused("too fast", "-F 100000", load.pid, 1000000)
        refused("seccomp", "seccomp", load.pid, 99, "seccomp=1")
        refused("seccomp, other errno", "seccomp", load.pid, 99, "seccomp=38")
        refused("another's process", "belongs to user 0", load.pid, 99, before=nobody)
    refused("no such process", "no", 4194303, 99)
    with Load("spin", 1, 600, nobody) as load:
        if paranoid > 2:
            refused("unprivileged", "perf_event_paranoid", load.pid, 99, before=nobody)
            return
        tried(unprivileged, load, nobody, paranoid)
        tried(no_locked_memory, load, nobody)
    with Load("idle", 300, 600, nobody) as load:
        refused("descriptors", "file descriptors, the limit is 300", load.pid, 99,
                before=("prlimit", "--nofile=100:300", *nobody))


if __name__ == "__main__":
    subject, *programs = sys.argv[1:]
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    # Where everybody may run them.
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        PROBE, LOAD = (shutil.copy(p, directory) for p in programs)
        {"truth": truth, "life": life, "refusals": refusals, "counts": counts}[subject]()
    sys.exit(1 if failures else 0)
