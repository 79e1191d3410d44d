#!/usr/bin/env python3
"""One set of perf events for many processes: each one's weights against the kernel's account, nothing of others, what it costs.

usage: host_events.py PROBE LOAD. The bar is that of engine.py: an event on a CPU finds a process running by chance.
"""
import math
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import jvm
import on_cpu
from tries import check, failures, tried

CPUS = os.cpu_count()
PROBE, LOAD = sys.argv[1], sys.argv[2]


def start(*args):
    p = subprocess.Popen([LOAD, *map(str, args), "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    p.stdout.readline()
    return p


def probe(rate, seconds, *targets):
    """What each target got, and the totals."""
    r = subprocess.run([PROBE, str(rate), str(seconds), *targets], capture_output=True, text=True)
    if r.returncode == jvm.SKIP:
        print(r.stderr)
        sys.exit(jvm.SKIP)
    if r.returncode:
        sys.exit("%s: %d\n%s%s" % (PROBE, r.returncode, r.stdout, r.stderr))
    lines = [{k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", l)} for l in r.stdout.splitlines()]
    lines[-1]["mapped"] = {int(l["mapped"]) for l in lines[:-1] if "mapped" in l}
    return [l for l in lines[:-1] if "pid" in l], lines[-1]


def check_rest(all_, what):
    for key in ("wrong", "unordered", "lost", "malformed"):
        check(all_[key] == 0, "%s: %s: %d" % (what, key, all_[key]))


def deviation(t, rate, divisor, seconds):
    """Relative: of what was counted on a CPU, a part p of the instants."""
    p = min(t["cpu"] / (CPUS * seconds), 0.999)
    n = rate * seconds * CPUS / divisor
    return math.sqrt((1 - p) / (p * n))


def shares():
    # In step with the scheduler's tick (250 Hz), every wake-up that waits for a tick would have the same place between two
    # samples for as long as the test lasts, and bursts -20 to +29 %: frequency_period_ns() sees to it.
    rate, seconds = 2000, 6
    loads = [start("spin", 1), start("spin", 1), start("burst", 2), start("spin", 1)]
    other = start("spin", 1)
    divisors = [1, 1, 1, 4]
    stolen = on_cpu.Stolen([l.pid for l in loads], rate)
    ts, all_ = probe(rate, seconds, *["%d/%d" % (l.pid, d) for l, d in zip(loads, divisors)])
    factors = stolen.stop()
    for t, l in zip(ts, loads):
        t["cpu"] *= factors[l.pid]
    for t, d in zip(ts, divisors):
        bar = 0.01 + 4 * deviation(t, rate, d, seconds)
        off = t["weight"] / t["cpu"] - 1
        check(abs(off) < bar, "%.3f s of CPU time, divisor %d: %d samples, %+.2f %% (bar %.2f)" % (
            t["cpu"], d, t["samples"], 100 * off, 100 * bar))
    whole = sum(t["weight"] for t in ts) / sum(t["cpu"] for t in ts) - 1
    check(abs(whole) < 0.03, "all together: %+.2f %%" % (100 * whole))
    check_rest(all_, "shares")
    for l in [*loads, other]:
        l.kill()
        l.wait()


def cost():
    """Twenty processes that share the CPUs cost what two do, which use as much of them."""
    rate, seconds = 99, 8
    two = [start("spin", 1) for _ in range(CPUS)]
    _, few = probe(rate, seconds, *[str(l.pid) for l in two])
    for l in two:
        l.kill()
        l.wait()
    twenty = [start("spin", 1) for _ in range(20)]
    ts, many = probe(rate, seconds, *[str(l.pid) for l in twenty])
    for l in twenty:
        l.kill()
        l.wait()
    check(many["own"] < 1.5 * few["own"] + 0.02, "CPU time for 20: %.3f s, for %d: %.3f s" % (many["own"], CPUS, few["own"]))
    check(all(t["samples"] for t in ts), "each of 20 has samples: %s" % [int(t["samples"]) for t in ts])
    check_rest(many, "20")


def itself():
    """What reads the rings is sampled as often as its CPU time wants, although large copies of stacks wake it right after a sample."""
    deep = start("deep", 2)
    ts, all_ = probe(997, 8, str(deep.pid), "0")
    deep.kill()
    deep.wait()
    own = ts[1]
    check(own["weight"] > 0.6 * own["cpu"], "its own %.3f s of CPU time: %.3f s" % (own["cpu"], own["weight"]))
    check_rest(all_, "itself")


def starved():
    """If nobody reads the rings for seconds, each sample that found no room is counted: read plus lost equals what the CPU time predicts."""
    rate, seconds = 1000, 8
    loads = [start("spin", 1) for _ in range(CPUS)]
    stolen = on_cpu.Stolen([l.pid for l in loads], rate)
    p = subprocess.Popen([PROBE, str(rate), str(seconds), *[str(l.pid) for l in loads]], stdout=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    time.sleep(2)
    p.send_signal(signal.SIGSTOP)
    time.sleep(4)
    p.send_signal(signal.SIGCONT)
    lines = [{k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", l)} for l in p.communicate()[0].splitlines()]
    factors = stolen.stop()
    ts, all_ = [l for l in lines if "pid" in l], lines[-1]
    wanted = sum(t["cpu"] * factors[int(t["pid"])] for t in ts) * rate
    read = sum(t["samples"] for t in ts)
    off = (read + all_["lost"]) / wanted - 1
    bar = 0.01 + 4 * math.sqrt(1 / wanted)
    check(all_["lost"] > 100, "the rings were full: %d samples lost" % all_["lost"])
    check(abs(off) < bar, "%d samples, %d lost, of %.0f: %+.2f %% (bar %.2f)" % (read, all_["lost"], wanted, 100 * off, 100 * bar))
    for l in loads:
        l.kill()
        l.wait()


def ending():
    """
    Of a thread that is about to leave its CPU for good, the kernel no longer says the TID, but whose it was: such samples are the
    process's, or are counted (in kernels that do not say that, either).
    """
    load = start("churn", 2)
    ts, all_ = probe(4999, 8, str(load.pid))
    load.kill()
    load.wait()
    check(all_["no_tid"] + all_["ended"] > 0, "samples of threads that had just ended: %d of the process, %d of nobody; all %d" % (
        all_["no_tid"], all_["ended"], ts[0]["samples"]))
    check(all_["foreign"] == 0, "ending: of others: %d" % all_["foreign"])
    check_rest(all_, "ending")


MAPS = """
import mmap, sys, time
f = open(sys.argv[1], "rb")
print("ready", flush=True)
while True:
    mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | int(sys.argv[2])).close()
    time.sleep(0.1)
"""


def maps(path, prot=mmap.PROT_EXEC):
    """A process that maps this file again and again."""
    p = subprocess.Popen([sys.executable, "-c", MAPS, path, str(prot)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    p.stdout.readline()
    return p


def mapped():
    """Which processes have mapped code: those that are watched, and of all others those that may be JVMs now."""
    with tempfile.TemporaryDirectory(prefix="js-host-") as tmp:
        paths = [os.path.join(tmp, name) for name in ("libjvm.so", "other.so", "libjvm.so.txt")]
        for path in paths:
            with open(path, "wb") as f:
                f.write(bytes(1 << 16))
        watched, jvm_like, other, alike, data = (
            maps(paths[1]), maps(paths[0]), maps(paths[1]), maps(paths[2]), maps(paths[0], prot=0))
        _, all_ = probe(99, 2, str(watched.pid))
        for p, name, is_told in ((watched, "a watched process", True), (jvm_like, "libjvm.so", True), (other, "another library", False),
                                 (alike, "another name", False), (data, "libjvm.so, but not as code", False)):
            check((p.pid in all_["mapped"]) == is_told, "mapped: %s: told %s" % (name, p.pid in all_["mapped"]))
            p.kill()
            p.wait()
        check_rest(all_, "mapped")


def main():
    if os.geteuid() != 0:
        print("needs root")
        return jvm.SKIP
    for scenario in (shares, cost, itself, starved, ending, mapped):
        tried(scenario)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
