#!/usr/bin/env python3
"""Several targets of one recording that share their events on CPUs: each one's weights against the kernel's account, what they cost
together, what happens to them meanwhile, and that a user without eBPF samples each of them.

usage: shared_events.py PROBE LOAD. The bar is that of host_events.py: an event on a CPU finds a process running by chance.
"""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import jvm
import on_cpu
from tries import ahead, check, failures, tried

CPUS = os.cpu_count()
PROBE, LOAD = sys.argv[1], sys.argv[2]
WARM = 3  # the first samples of a target wake their reader, for which it has events of its own


def begin():
    jvm.die_with_parent()
    ahead()


class Loads:
    """Running engine_loads."""

    def __init__(self, *scenarios, before=()):
        self.all = [subprocess.Popen([*before, LOAD, *map(str, s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     preexec_fn=begin) for s in scenarios]
        for p in self.all:
            p.stdout.readline()  # "ready"
        self.pids = [p.pid for p in self.all]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.all:
            p.kill()
            p.wait()


def start_probe(rate, warm, seconds, how, pids):
    p = subprocess.Popen([PROBE, str(rate), str(warm), str(seconds), how, *map(str, pids)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.stdout.readline()  # "sampling"
    return p


def result(p):
    """What each target got, and the totals."""
    out, err = p.communicate(timeout=jvm.PATIENCE)
    if p.returncode == jvm.SKIP:
        print(err)
        sys.exit(jvm.SKIP)
    if p.returncode:
        sys.exit("%s: %d\n%s%s" % (PROBE, p.returncode, out, err))
    lines = [{k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", l)} for l in out.splitlines()]
    return lines[:-1], lines[-1]


def result_truly(p, pids, rate):
    """The targets only; where the host took CPU time, their clocks are put right."""
    stolen = on_cpu.Stolen(pids, rate)
    ts, _ = result(p)
    factors = stolen.stop()
    for t in ts:
        t["cpu"] *= factors.get(t["pid"], 1)
    return ts


def check_rest(ts, what):
    for key in ("wrong", "lost"):
        check(sum(t[key] for t in ts) == 0, "%s: %s: %d" % (what, key, sum(t[key] for t in ts)))


def check_weight(t, rate, seconds, name):
    p = min(t["cpu"] / (CPUS * seconds), 0.999)
    bar = 0.01 + 4 * math.sqrt((1 - p) / (p * rate * seconds * CPUS))
    off = t["weight"] / max(t["cpu"], 1e-9) - 1
    check(abs(off) < bar, "%s, %.3f s of CPU time, %s: %d samples, %+.2f %% (bar %.2f)" % (
        name, t["cpu"], "shared" if t["shared"] else "own events", t["samples"], 100 * off, 100 * bar))


def weights():
    """Of targets with events on CPUs, on threads, and on both."""
    rate, seconds = 1999, 6
    names = ("burst", "burst", "spin", "churn")
    with Loads(("burst", 2, 600), ("burst", 1, 600), ("spin", 1, 600), ("churn", 1, 600)) as loads, Loads(("spin", 1, 600)):
        p = start_probe(rate, WARM, seconds, "share", loads.pids)
        time.sleep(WARM)
        ts = result_truly(p, loads.pids, rate)
    for name, t in zip(names, ts):
        check_weight(t, rate, seconds, name)
    whole = sum(t["weight"] for t in ts) / sum(t["cpu"] for t in ts) - 1
    check(abs(whole) < 0.03, "all together: %+.2f %%" % (100 * whole))
    check(sum(t["shared"] for t in ts) >= 2, "%d of %d share" % (sum(t["shared"] for t in ts), len(ts)))
    check_rest(ts, "weights")


def cost():
    """Timers that run on the CPUs. Each target has more threads than can have events, and hardly runs."""
    few, many = 2, 12
    n = {}
    with Loads(*[("idle", 150, 600)] * many) as loads:
        time.sleep(3.5)  # they are no longer starting
        for how, k in (("own", few), ("share", few), ("own", many), ("share", many)):
            ts, all_ = result(start_probe(999, 8 if how == "share" else 3, 2, how, loads.pids[:k]))
            n[how, k] = all_["timers"]
    check(sum(t["shared"] for t in ts) == many, "%d of %d hardly running targets share" % (sum(t["shared"] for t in ts), many))
    own, shared = n["own", many] - n["own", few], n["share", many] - n["share", few]
    check(own > CPUS * (many - few) * 0.8, "events of their own: %d targets %d timers, %d targets %d" % (
        few, n["own", few], many, n["own", many]))
    check(shared < CPUS * (many - few) * 0.2, "shared events: %d targets %d timers, %d targets %d" % (
        few, n["share", few], many, n["share", many]))


def lives():
    """One starts threads, one executes a program, one ends; the others' weights stay right."""
    rate, seconds = 1999, 6
    with Loads(("late", 2, 600), ("exec", 1, 12), ("burst", 1, 600), ("burst", 1, 600)) as loads:
        p = start_probe(rate, 1, seconds, "share", loads.pids)
        time.sleep(1)
        end = threading.Timer(2, loads.all[3].stdin.close)
        end.start()
        ts = result_truly(p, loads.pids[:3], rate)
        end.join()
    late, execs, burst, ended = ts
    check_weight(late, rate, seconds, "starts threads")
    check_weight(execs, rate, seconds, "executes a program")
    check_weight(burst, rate, seconds, "stays")
    check(execs["execs"] == 1, "execve is told: %d" % execs["execs"])
    check(ended["ended"] == 1 and ended["samples"] > 0, "the end of one: %d, %d samples" % (ended["ended"], ended["samples"]))
    check(not any(t["ended"] for t in ts[:3]), "which is not that of the others")
    check_rest(ts, "lives")


def record(pids, out, before=()):
    r = subprocess.run([*before, jvm.jsampler_path(), "record", "-v", "-F", "499", "-d", "4", "-p", ",".join(map(str, pids)), "-o",
                        os.path.join(out, "%p.folded")], capture_output=True, text=True, timeout=jvm.PATIENCE)
    check(r.returncode == 0, "record: %d" % r.returncode)
    if r.returncode:
        print(r.stderr)
    counts = []
    for pid in pids:
        path = os.path.join(out, "%d.folded" % pid)
        with open(path, encoding="utf-8") if os.path.exists(path) else open(os.devnull, encoding="ascii") as f:
            counts.append(sum(int(l.rsplit(" ", 1)[1]) for l in f))
    return counts, r.stderr


def recordings():
    with tempfile.TemporaryDirectory() as out:
        with Loads(*[("burst", 1, 600)] * 3) as loads:
            counts, said = record(loads.pids, out)
            check(min(counts) > 50, "record -p A,B,C: samples of each: %s" % counts)
            check("one set of events on CPUs for 3 targets" in said and "(one set for all targets)" in said, "  -v says that they share")
        if not shutil.which("setpriv") or int(open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii").read()) > 2:
            return
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        os.chmod(out, 0o777)
        with Loads(*[("burst", 1, 600)] * 2, before=nobody) as loads:
            counts, said = record(loads.pids, out, nobody)
            check(min(counts) > 50, "a user's record -p A,B: samples of each: %s" % counts)
            check("events for each of 2 targets" in said, "  -v says that they do not share")


def main():
    if os.geteuid() != 0:
        print("needs root")
        return jvm.SKIP
    for scenario in (weights, lives, cost, recordings):
        tried(scenario)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
