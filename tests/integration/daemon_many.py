#!/usr/bin/env python3
"""jsampler daemon with several JVMs at once, sampled by one process: each one's CPU time, starts, exec, the end of its processes.

usage: daemon_many.py LOAD [--jdk 17] [--user UID] [--only CASE,...] [--beside]
"""

import argparse
import http.client
import json
import mmap
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

import daemon as one
import jvm
import on_cpu

HZ = 499
SHARES_HZ, SHARES_S = 997, 20
STEP_S = 10


class Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


def targets(tmp):
    """PIDs in the history."""
    return {int(t["labels"]["pid"]) for t in all_targets(tmp)}


def all_targets(tmp):
    c = Socket(tmp + "/run/s.sock")
    c.request("GET", "/api/v1/targets?from=10m")
    r = c.getresponse()
    text = r.read()
    c.close()
    return json.loads(text)["targets"] if r.status == 200 else []


def weight(d, pid):
    return d.kept(pid)["weight"] / 1e9


def begin(tmp, sampling="frequency = %d\ncpu_limit = 100%%" % HZ, rules=None):
    d = one.Daemon(tmp, sampling=sampling, rules=rules)
    if not jvm.wait_until(lambda: d.process("keeper") and d.process("worker"), 30):
        raise SystemExit("it does not begin: " + d.said())
    return d


def standing(tmp, jdk, classes, nice, **how):
    """A daemon that samples JVMs which have not run since it began."""
    jvms = [one.Busy(jdk, classes, always=True) for _ in nice]
    for j, n in zip(jvms, nice):
        os.setpriority(os.PRIO_PROCESS, j.pid, n)
        jvm.burn(j.pid, 0.5)
        j.proc.send_signal(signal.SIGSTOP)
    d = begin(tmp, **how)
    if not jvm.wait_until(lambda: all(d.worker(j.pid) for j in jvms), 60):
        raise SystemExit("not all are sampled: " + d.said())
    time.sleep(2)
    return d, jvms, [jvm.cpu_seconds(j.pid) for j in jvms]


def stand_still(d, jvms):
    """What the daemon has of their last step is kept when it ends."""
    for j in jvms:
        j.proc.send_signal(signal.SIGSTOP)
    time.sleep(1)
    d.stop()


def shares(jdk, classes, tmp, _load):
    """Each one's weight is its own CPU time."""
    d, jvms, before = standing(tmp, jdk, classes, (0, 3, 6, 9), sampling="frequency = %d\ncpu_limit = 100%%" % SHARES_HZ)
    bad = []
    if len({d.worker(j.pid) for j in jvms}) != 1:
        bad.append("not by one process: %s" % [d.worker(j.pid) for j in jvms])
    stolen = on_cpu.Stolen([j.pid for j in jvms], SHARES_HZ)
    for j in jvms:
        j.proc.send_signal(signal.SIGCONT)
    time.sleep(SHARES_S)
    stand_still(d, jvms)
    factors = stolen.stop()
    for j, cpu0 in zip(jvms, before):
        cpu, w = (jvm.cpu_seconds(j.pid) - cpu0) * factors[j.pid], weight(d, j.pid)
        p = min(cpu / (SHARES_S * os.cpu_count()), 0.99)
        bar = 0.02 + 4 * ((1 - p) / (cpu * SHARES_HZ)) ** 0.5
        print("%.2f s of CPU time, kept %.2f s (%+.1f %%, bar %.1f)" % (cpu, w, 100 * (w / cpu - 1), 100 * bar))
        if abs(w / cpu - 1) > bar:
            bad.append("%.2f s of CPU time are %.2f s in the history" % (cpu, w))
    if "Busy.compute" not in " ".join(r["method"] for r in d.kept(jvms[3].pid, "--flat")["rows"]):
        bad.append("no Busy.compute")
    for j in jvms:
        j.stop()
    return bad


def own_cpu_s(d):
    pids = [d.proc.pid, *one.tree(d.proc.pid)]
    return sum(jvm.cpu_seconds(p) for p in pids if pathlib.Path("/proc/%d" % p).exists())


def governed(jdk, classes, tmp, _load):
    """Above cpu_limit, JVMs are sampled less often; their weight is their CPU time all the same."""
    d, jvms, before = standing(tmp, jdk, classes, (0, 0), sampling="frequency = %d\ncpu_limit = 0.8%%" % HZ)
    bad, stolen = [], on_cpu.Stolen([j.pid for j in jvms], HZ)
    for j in jvms:
        j.proc.send_signal(signal.SIGCONT)
    time.sleep(25)
    own = own_cpu_s(d)
    time.sleep(20)
    own = (own_cpu_s(d) - own) / 20
    said = events(tmp)
    independent = check_periods(tmp, bad)
    stand_still(d, jvms)
    factors = stolen.stop()
    for j, cpu0 in zip(jvms, before):
        kept = d.kept(j.pid)
        cpu, w, n = (jvm.cpu_seconds(j.pid) - cpu0) * factors[j.pid], kept["weight"] / 1e9, kept["samples"]
        bar = 0.02 + 4 / max(independent.get(j.pid, 0), 1) ** 0.5
        print("%.2f s of CPU time, kept %.2f s (%+.1f %%, bar %.1f) in %d samples" % (cpu, w, 100 * (w / cpu - 1), 100 * bar, n))
        if abs(w / cpu - 1) > bar:
            bad.append("%.2f s of CPU time are %.2f s in the history" % (cpu, w))
        if not 0 < n < 0.7 * cpu * HZ:
            bad.append("not less often: %d samples" % n)
    print("own CPU time: %.2f %% of a core" % (100 * own))
    if own > 0.012:
        bad.append("own CPU time: %.2f %% of a core" % (100 * own))
    if "cpu_limit" not in said:
        bad.append("no event: " + said[:300])
    for j in jvms:
        j.stop()
    return bad


def own_rule(how):
    """How this test's JVMs are sampled; those of others, which may not be stopped twice, are left out."""
    return "[rule ours]\nuser = %d\n%s\n[rule others]\npid = *\nsample = no\n" % (one.USER, how)


def stopped(jdk, classes, tmp, _load):
    """A rule wants the suspend engine for one user: a process of its own, which has a tracer."""
    d = begin(tmp, rules=own_rule("engine = suspend\nfrequency = 99"))
    j, bad = one.Busy(jdk, classes, always=True), []
    if not jvm.wait_until(lambda: d.process("worker %d" % j.pid), 30):
        bad.append("no process of its own: " + d.said())
    else:
        tracers = lambda: [p for p in one.tree(d.process("worker %d" % j.pid)) if one.status(p)["Name"] == ["jsampler-stop"]]
        if not jvm.wait_until(tracers, 20):
            bad.append("no tracer: " + d.said())
    jvm.burn(j.pid, 3)
    j.stop()
    if not jvm.wait_until(lambda: "Busy.compute" in " ".join(r["method"] for r in d.kept(j.pid, "--flat")["rows"]), 30, 0.5):
        bad.append("no Busy.compute: " + d.said())
    d.stop()
    return bad


def slower(jdk, classes, tmp, _load):
    """A rule's lower frequency is a part of the samples that the one process takes. A reload moves a JVM from one divisor to
    another, to a process of its own and back: all of its CPU time is counted, and once."""
    j, bad = one.Busy(jdk, classes, always=True), []
    jvm.burn(j.pid, 0.5)
    j.proc.send_signal(signal.SIGSTOP)
    before, stolen = jvm.cpu_seconds(j.pid), on_cpu.Stolen([j.pid], HZ)
    d, squares, used, now = begin(tmp, rules=own_rule("frequency = 100")), 0, before, "frequency = 100"
    for hz, divisor in ((100, 5), (250, 2), (997, None), (20, 25)):
        if now != "frequency = %d" % hz:
            reload(d, tmp, now, "frequency = %d" % hz)
            now = "frequency = %d" % hz
        said = "for %d Hz, as a rule wants, one in %s samples" % (hz, divisor)
        apart = lambda: d.process("worker %d" % j.pid)
        if not jvm.wait_until(lambda: said in d.said() if divisor else apart(), 60):
            bad.append("not %d Hz: %s" % (hz, d.said()))
        time.sleep(2)  # it takes effect after half a second; a process of its own begins in less
        if bool(apart()) != (divisor is None) or (divisor and d.worker(j.pid) != d.process("worker")):
            bad.append("%d Hz: a process of its own: %s" % (hz, apart()))
        j.proc.send_signal(signal.SIGCONT)
        jvm.burn(j.pid, 8)
        if hz == 100:
            check_slower(tmp, d, j.pid, HZ / divisor, bad)
        j.proc.send_signal(signal.SIGSTOP)
        time.sleep(1)
        cpu, used = jvm.cpu_seconds(j.pid) - used, jvm.cpu_seconds(j.pid)
        squares += cpu / (HZ / divisor if divisor else hz)
    stand_still(d, [j])
    cpu, w = (used - before) * stolen.stop()[j.pid], weight(d, j.pid)
    bar = 0.02 + 4 * squares ** 0.5 / cpu
    print("%.2f s of CPU time, kept %.2f s (%+.1f %%, bar %.1f)" % (cpu, w, 100 * (w / cpu - 1), 100 * bar))
    if abs(w / cpu - 1) > bar:
        bad.append("%.2f s of CPU time are %.2f s in the history" % (cpu, w))
    j.stop()
    return bad


def check_slower(tmp, d, pid, hz, bad):
    """What is achieved is in the list; each sample weighs its period, from the beginning."""
    def listed():
        r = subprocess.run([jvm.jsampler_path(), "list", "-f", "json", "--socket", tmp + "/run/s.sock"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
        return [(e["daemon"] or {}).get("hz") for e in json.loads(r.stdout) if e["pid"] == pid]

    if not jvm.wait_until(lambda: listed() in ([round(hz, 1)], []) and weight(d, pid), 20, 1):
        bad.append("list: %s, not %.1f Hz" % (listed(), hz))
    kept = d.kept(pid)
    if abs(kept["samples"] / (kept["weight"] / 1e9 * hz) - 1) > 0.01:
        bad.append("%d samples weigh %.2f s at %.1f Hz" % (kept["samples"], kept["weight"] / 1e9, hz))
    if not jvm.wait_until(lambda: "\njsampler_jvms_slower 1\n" in ask(tmp, "/metrics")):
        bad.append("metrics: " + ask(tmp, "/metrics"))
    if "cpu_limit" in events(tmp):
        bad.append("an event: " + events(tmp))


def waiting(jdk, classes, tmp, _load):
    """wall = yes: a further process samples waiting threads, as another event of the same target; it is started again; it ends with the JVM."""
    d = begin(tmp, rules=own_rule("wall = yes"))
    j, bad = one.Busy(jdk, classes), []
    wall = lambda: d.process("wall %d" % j.pid)
    rows = lambda *a: [r["method"] for r in d.kept(j.pid, "--flat", args=a)["rows"]]
    if not jvm.wait_until(wall):
        bad.append("no process for waiting threads: " + d.said())
    elif not jvm.wait_until(lambda: any("waitDeep" in m for m in rows("--event", "wall")), pause=0.5):
        bad.append("no waiting thread: %s: %s" % (rows("--event", "wall"), d.said()))
    check_events(tmp, j.pid, bad)
    first = wall()
    if first:
        os.kill(first, signal.SIGKILL)
        if not jvm.wait_until(lambda: wall() not in (None, first)):
            bad.append("it is not started again: " + d.said())
    if not jvm.wait_until(lambda: any("Busy.compute" in m for m in rows()), pause=0.5):
        bad.append("no CPU time: " + d.said())
    if d.worker(j.pid) != d.process("worker"):
        bad.append("its CPU time is not sampled with the others'")
    used = jvm.cpu_seconds(j.pid)
    j.stop()
    if not jvm.wait_until(lambda: not wall()):
        bad.append("the process does not end: " + d.said())
    if weight(d, j.pid) > 1.2 * used + 0.2:
        bad.append("%.1f s of CPU time are kept of %.1f s" % (weight(d, j.pid), used))
    if [t["labels"]["pid"] for t in all_targets(tmp)] != [str(j.pid)]:
        bad.append("not one target: %s" % all_targets(tmp))
    d.stop()
    return bad


def check_events(tmp, pid, bad):
    """Over HTTP, waiting is an event of its own, of the same target."""
    for event, method, other in (("cpu", "Busy.compute", "waitDeep"), ("wall", "waitDeep", None)):
        here = "from=10m&label.pid=%d&event=%s" % (pid, event)
        folded = ask(tmp, "/api/v1/profile?format=folded&" + here)
        found = json.loads(ask(tmp, "/api/v1/targets?" + here)).get("targets", [])
        if method not in folded or (other and other in folded):
            bad.append("event=%s: %s" % (event, folded[:300]))
        if [t["labels"]["pid"] for t in found] != [str(pid)] or not found[0]["samples"]:
            bad.append("event=%s: %s" % (event, found))


def reload(d, tmp, before, after):
    conf = pathlib.Path(tmp, "jsampler.conf")
    text = conf.read_text()
    assert before in text
    conf.write_text(text.replace(before, after))
    d.proc.send_signal(signal.SIGHUP)


def supervised(jdk, classes, tmp, _load):
    """A process for waiting threads that hangs is replaced, ends when no rule wants it any more, and begins when one does again."""
    d = begin(tmp, rules=own_rule("wall = yes"))
    j, bad = one.Busy(jdk, classes), []
    wall = lambda: d.process("wall %d" % j.pid)
    if not jvm.wait_until(wall):
        raise SystemExit("no process for waiting threads: " + d.said())
    first, worker = wall(), d.process("worker")
    os.kill(first, signal.SIGSTOP)
    if not jvm.wait_until(lambda: wall() not in (None, first), 60):
        bad.append("it is not replaced: " + d.said())
    if d.process("worker") != worker or d.worker(j.pid) != worker:
        bad.append("its CPU time is not sampled as before")
    reload(d, tmp, "wall = yes", "wall = no")
    if not jvm.wait_until(lambda: not wall()):
        bad.append("it does not end: " + d.said())
    if not jvm.wait_until(lambda: d.worker(j.pid) not in (None, worker)):
        bad.append("its CPU time is not sampled any more: " + d.said())
    reload(d, tmp, "wall = no", "wall = yes\nfrequency = 997")
    own = lambda: d.process("worker %d" % j.pid)
    if not jvm.wait_until(lambda: own() and wall()):
        bad.append("no process of its own for each: " + d.said())
    reload(d, tmp, "wall = yes", "wall = no")
    if not jvm.wait_until(lambda: not wall()) or not jvm.wait_until(own):
        bad.append("beside a process of its own, it does not end: " + d.said())
    reload(d, tmp, "wall = no", "sample = no")
    if not jvm.wait_until(lambda: not own() and not d.worker(j.pid)):
        bad.append("it is not left out: " + d.said())
    reload(d, tmp, "sample = no", "wall = yes")
    if not jvm.wait_until(lambda: own() and wall()):
        bad.append("it is not sampled again: " + d.said())
    j.stop()
    if not jvm.wait_until(lambda: not wall()):
        bad.append("it does not end with the JVM: " + d.said())
    d.stop()
    return bad


def captured(jdk, classes, tmp, _load):
    """A capture whose process hangs is ended, and says why; the next one of this JVM is none the worse, and neither is its history."""
    d = begin(tmp)
    j, bad = one.Busy(jdk, classes), []
    process = lambda: d.process("capture %d" % j.pid)
    request = lambda seconds: json.loads(ask(tmp, "/api/v1/captures?pid=%d&frequency=199&seconds=%d" % (j.pid, seconds), "POST"))
    if not jvm.wait_until(lambda: d.worker(j.pid)):
        raise SystemExit("it is not sampled: " + d.said())
    worker = d.worker(j.pid)
    c = request(60)
    if not jvm.wait_until(process):
        raise SystemExit("no capture: %s: %s" % (c, d.said()))
    first = process()
    all_ = [first, *one.tree(first)]
    os.kill(first, signal.SIGSTOP)
    failed = lambda: [r for r in captures(tmp) if r["id"] == c["id"] and r["state"] == "failed" and "stuck" in r.get("why", "")]
    if not jvm.wait_until(failed, 50, 0.5):
        bad.append("it has not failed: %s: %s" % (captures(tmp), d.said()))
    if not jvm.wait_until(lambda: not any(map(one.is_there, all_))):
        bad.append("its processes are still there")
    c = {}
    if not jvm.wait_until(lambda: c.update(request(2)) or c.get("state") == "running", pause=0.5):
        bad.append("there can be no other one: %s" % c)
    if not jvm.wait_until(lambda: [r for r in captures(tmp) if r["id"] == c.get("id") and r["state"] == "done"], 60, 0.5):
        bad.append("the next one: %s: %s" % (captures(tmp), d.said()))
    if d.worker(j.pid) != worker or "sampling gap" in events(tmp):
        bad.append("the history was disturbed: " + events(tmp))
    j.stop()
    d.stop()
    return bad


def captures(tmp):
    return json.loads(ask(tmp, "/api/v1/captures"))["captures"]


def ask(tmp, path, method="GET"):
    c = Socket(tmp + "/run/s.sock")
    c.request(method, path)
    text = c.getresponse().read().decode()
    c.close()
    return text


def events(tmp):
    return ask(tmp, "/api/v1/events?from=10m")


def check_periods(tmp, bad):
    """The samples of a step weigh what its period says, or it has none, since they have different ones. Returns, by PID, as how
    many samples of one weight they are to chance: (sum of w)^2 / sum of w^2."""
    now, various, sums = int(time.time()) // 10 * 10, 0, {}
    for at in range(now - 60, now, 10):
        for t in json.loads(ask(tmp, "/api/v1/targets?from=%d&to=%d" % (at, at + 10)))["targets"]:
            various += not t["period"]
            if t["samples"]:
                w, squares = sums.get(t["pid"], (0, 0))
                sums[t["pid"]] = w + t["weight"], squares + t["weight"] ** 2 / t["samples"]
            if t["period"] and abs(t["weight"] / (t["samples"] * t["period"]) - 1) > 0.2:
                bad.append("%d samples with a period of %d weigh %d" % (t["samples"], t["period"], t["weight"]))
    if not various:
        bad.append("no step has samples of different periods")
    return {pid: w ** 2 / squares for pid, (w, squares) in sums.items()}


def starts(jdk, classes, tmp, load):
    """Twenty JVMs that use a second, between processes that are none: all of them, with names, and nothing else."""
    d = begin(tmp)
    others = [subprocess.Popen(["nice", "-n", "19", load, "spin", "1", "600"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               preexec_fn=jvm.die_with_parent) for _ in range(2)]
    pids, bad = [], []
    for _ in range(5):
        jvms = [one.Busy(jdk, classes, always=True) for _ in range(4)]
        pids += [j.pid for j in jvms]
        for j in jvms:
            jvm.burn(j.pid, 1)
        for j in jvms:
            j.stop()
    if not jvm.wait_until(lambda: targets(tmp) >= set(pids), 30, 0.5):
        bad.append("of 20 JVMs, only %d are in the history" % len(targets(tmp) & set(pids)))
    if targets(tmp) - set(pids):
        bad.append("others are in the history: %s" % (targets(tmp) - set(pids)))
    unnamed = [p for p in pids if "Busy." not in " ".join(r["method"] for r in d.kept(p, "--flat")["rows"])]
    if unnamed:
        bad.append("without names: %d of 20" % len(unnamed))
    worker = d.process("worker")
    if not jvm.wait_until(lambda: not pids_left(worker, pids), 20):
        bad.append("it holds on to JVMs that have ended: %s" % pids_left(worker, pids))
    d.stop()
    for o in others:
        o.kill()
        o.wait()
    return bad + [d.said()[-2000:]] if bad else bad


def brief(jdk, classes, tmp, _load):
    """JVMs are sampled before the next look at all processes, which comes once a second."""
    d = begin(tmp)
    time.sleep(2)
    in_time = 0
    for _ in range(8):
        j = one.Busy(jdk, classes, always=True)
        while not (found := bool(d.worker(j.pid))) and jvm.cpu_seconds(j.pid) < 0.4:
            time.sleep(0.01)
        in_time += found
        j.stop()
        time.sleep(0.3)
    d.stop()
    return [] if in_time >= 6 else ["of 8 JVMs, only %d were sampled before they had used 0.4 s of CPU time" % in_time]


def pids_left(worker, pids):
    return one.pids_of(worker) & set(pids)


def libjvm(jdk):
    return next(pathlib.Path(jdk.home).resolve().rglob("libjvm.so"))


def replaced(jdk, _classes, tmp, load):
    """A JVM that executes another program is no longer sampled: not under its name, nor at all."""
    d = begin(tmp)
    lib = libjvm(jdk)
    script = ("import ctypes, os, time\nlib = ctypes.CDLL(%r)\nend = time.process_time() + 3\nwhile time.process_time() < end: pass\n"
              "os.execv(%r, ['engine_load', 'burst', '1', '600'])\n" % (str(lib), load))
    p = subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         preexec_fn=jvm.die_with_parent, user=one.USER, group=one.USER, extra_groups=[])
    bad = [] if jvm.wait_until(lambda: d.worker(p.pid)) else ["it is not sampled"]
    if not jvm.wait_until(lambda: "engine_load" in pathlib.Path("/proc/%d/comm" % p.pid).read_text()):
        bad.append("it did not execute the other program")
    before = jvm.cpu_seconds(p.pid)
    time.sleep(2 * STEP_S + 2)
    jvm.burn(p.pid, before + 2 - jvm.cpu_seconds(p.pid))
    w = weight(d, p.pid)
    used = jvm.cpu_seconds(p.pid)
    scatter = 4 * (before / HZ) ** 0.5  # of samples of a program that others interrupt all the time; 1 run in 30,000
    if not 1 < w < before + scatter or used < before + 2:
        bad.append("kept %.2f s; before execve %.2f s, in all %.2f s" % (w, before, used))
    if any(r["method"] in ("bursts", "burn") for r in d.kept(p.pid, "--flat")["rows"]):
        bad.append("methods of the other program")
    if jvm.wait_until(lambda: d.worker(p.pid), 2):
        bad.append("it is still sampled")
    p.kill()
    p.wait()
    d.stop()
    return bad


# A JVM in a program that executes another one as soon as it can read a byte: LIBJVM PROGRAM ARGUMENTS.
EMBEDS = """
import ctypes, os, select, sys
class Args(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("n", ctypes.c_int), ("options", ctypes.c_void_p), ("ignore", ctypes.c_ubyte)]
vm, env = ctypes.c_void_p(), ctypes.c_void_p()
create = ctypes.CDLL(sys.argv[1]).JNI_CreateJavaVM
assert create(ctypes.byref(vm), ctypes.byref(env), ctypes.byref(Args(0x00010008, 0, None, 0))) == 0
while not select.select([0], [], [], 0)[0]:
    pass
os.read(0, 1)
os.execv(sys.argv[2], sys.argv[2:])
"""


def shared_pages(pid):
    """Those of memory without a file that processes share, as (which, where in it)."""
    found = set()
    for line in pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines():
        if "/dev/zero" in line:
            span, _, offset, _, inode = line.split()[:5]
            begin, end = (int(x, 16) for x in span.split("-"))
            found |= {(int(inode), int(offset, 16) + at) for at in range(0, end - begin, mmap.PAGESIZE)}
    return found


def check_apart(d, worker, bad):
    """Of what the first process shares with workers, one page for each and more, it has its own page and the log's limit only."""
    all_ = shared_pages(d.proc.pid)
    own, keeper = (all_ & shared_pages(p) for p in (worker, d.process("keeper")))
    if len(all_) < 1000 or len(own) != 2 or len(keeper) != 1 or not keeper < own:
        bad.append("of %d shared pages it has %d, the keeper %d" % (len(all_), len(own), len(keeper)))


def succeeded_own(jdk, classes, tmp, _load):
    """A JVM with a process of its own executes another one: each program has its own name and samples."""
    d, bad = begin(tmp, rules=own_rule("frequency = 997")), []
    lib = libjvm(jdk)
    j = one.Busy(jdk, classes, shell="exec /usr/bin/python3 -c %s %s \"$@\"" % (shlex.quote(EMBEDS), lib))
    if not jvm.wait_until(lambda: d.process("worker %d" % j.pid)):
        bad.append("no process of its own: " + d.said())
    else:
        check_apart(d, d.process("worker %d" % j.pid), bad)
    before = jvm.cpu_seconds(j.pid)
    jvm.burn(j.pid, 2)
    j.proc.stdin.write(b"\n")
    j.proc.stdin.flush()
    used = jvm.cpu_seconds(j.pid)
    if not jvm.wait_until(lambda: "Busy.compute" in methods(d, j.pid, "Busy"), pause=1):
        bad.append("the second one has no name, or no samples: " + d.said())
    j.proc.send_signal(signal.SIGSTOP)
    programs = [t for t in all_targets(tmp) if t["labels"]["pid"] == str(j.pid)]
    if [t["labels"].get("main") for t in programs].count("Busy") != 1 or len({t["target"] for t in programs}) != 2:
        bad.append("not two programs: %s" % programs)
    if "PyEval" in methods(d, j.pid, "Busy"):
        bad.append("the first one's samples are the second one's")
    first = weight(d, j.pid) - d.kept(j.pid, main="Busy")["weight"] / 1e9
    if not 0.9 * (used - before) - 0.5 < first < used + 0.2:
        bad.append("the first one: kept %.2f s of %.2f, since it had a process of its own %.2f s" % (first, used, used - before))
    j.proc.send_signal(signal.SIGCONT)
    j.stop()
    d.stop()
    return bad


def succeeded(jdk, classes, tmp, _load):
    """A process that executes a JVM after it was one: each program has its own name and samples."""
    d = begin(tmp)
    lib = libjvm(jdk)
    script = ("import ctypes, os, sys, time\nlib = ctypes.CDLL(%r)\nend = time.process_time() + 3\n"
              "while time.process_time() < end: pass\nos.execv(sys.argv[1], sys.argv[1:])\n" % str(lib))
    j = one.Busy(jdk, classes, shell="exec /usr/bin/python3 -c %s \"$@\"" % shlex.quote(script))
    bad = [] if jvm.wait_until(lambda: d.worker(j.pid)) else ["it is not sampled"]
    if not jvm.wait_until(lambda: "Busy.compute" in methods(d, j.pid, "Busy"), pause=1):
        bad.append("the second one has no name, or no samples: " + d.said())
    programs = [t for t in all_targets(tmp) if t["labels"]["pid"] == str(j.pid)]
    mains = [t["labels"].get("main") for t in programs]
    if len(programs) != 2 or mains.count("Busy") != 1 or len({t["target"] for t in programs}) != 2:
        bad.append("not two programs: %s" % programs)
    if "PyEval" in methods(d, j.pid, "Busy"):
        bad.append("the first one's samples are the second one's")
    if not 1 < weight(d, j.pid) - d.kept(j.pid, main="Busy")["weight"] / 1e9 < 4:
        bad.append("the first one's samples: all %.2f s, the second one's %.2f s" % (
            weight(d, j.pid), d.kept(j.pid, main="Busy")["weight"] / 1e9))
    listed = subprocess.run([jvm.jsampler_path(), "list", "-f", "json", "--socket", tmp + "/run/s.sock"], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True)
    known = [e["daemon"] for e in json.loads(listed.stdout) if e["pid"] == j.pid]
    second = [t for t in programs if t["labels"].get("main") == "Busy"]
    if known and second and (known[0] or {}).get("since") != second[0]["since"]:  # list leaves out what takes too long to read
        bad.append("list: %s, history: %s" % (known, second))
    j.stop()
    d.stop()
    return bad


# Names itself again and again: each time a record for the rings of names, which are full within milliseconds.
RENAMES = "import ctypes\nname = ctypes.CDLL(None).prctl\nwhile True: name(15, b'flood')"


def flood():
    return [subprocess.Popen(["taskset", "-c", str(cpu), "/usr/bin/python3", "-c", RENAMES], stdin=subprocess.DEVNULL,
                             preexec_fn=jvm.die_with_parent, user=one.USER, group=one.USER, extra_groups=[])
            for cpu in sorted(os.sched_getaffinity(0))]


# Before EMBEDS: a thread that is none of the JVM's, and has another name as soon as a file is there.
RENAMED = """
import ctypes, os, threading
def work(path):
    name = ctypes.CDLL(None).prctl
    name(15, b"native")
    while not os.path.exists(path):
        pass
    name(15, b"renamed")
    while True:
        pass
threading.Thread(target=work, args=(%r,), daemon=True).start()
"""


def have_thread(d, jvms, name):
    return all(name in [r["thread"] for r in d.kept(j.pid)["rows"]] for j in jvms)


def metric(tmp, name):
    return next(float(l.split()[1]) for l in ask(tmp, "/metrics").splitlines() if l.startswith("jsampler_%s " % name))


def flooded(jdk, classes, tmp, _load):
    """A program fills the rings of names, so that records of others are lost: that is said, costs no samples, and a thread that has a
    new name, and a JVM that executes another one, are noticed all the same."""
    d, bad, there = begin(tmp, sampling="frequency = 49\ncpu_limit = 100%"), [], pathlib.Path(tmp, "rename")
    script = shlex.quote(RENAMED % str(there) + EMBEDS)
    jvms = [one.Busy(jdk, classes, shell="exec /usr/bin/python3 -c %s %s \"$@\"" % (script, libjvm(jdk))) for _ in range(4)]
    if not jvm.wait_until(lambda: all(d.worker(j.pid) for j in jvms)):
        bad.append("they are not sampled")
    if not jvm.wait_until(lambda: have_thread(d, jvms, "native"), 60, 0.5):
        bad.append("some have no thread of that name")
    floods = flood()
    if not jvm.wait_until(lambda: metric(tmp, "lost_records_total"), 60):
        bad.append("no records are lost, or that is not said")
    there.touch()
    if not jvm.wait_until(lambda: have_thread(d, jvms, "renamed"), 60, 1):
        bad.append("some have not the new name: %s" % [[r["thread"] for r in d.kept(j.pid)["rows"]] for j in jvms])
    for j in jvms:
        jvm.burn(j.pid, 0.5)
        j.proc.stdin.write(b"\n")
        j.proc.stdin.flush()
    if not jvm.wait_until(lambda: all("Busy.compute" in methods(d, j.pid, "Busy") for j in jvms), 90, pause=1):
        bad.append("of some, the second program has no name, or no samples: " + d.said())
    for f in floods:
        f.kill()
        f.wait()
    if any("PyEval" in methods(d, j.pid, "Busy") for j in jvms):
        bad.append("the first one's samples are the second one's")
    print("%d records of execve were lost" % d.said().count("the record of that was lost"))
    if "records of new names" not in d.said():
        bad.append("the log does not say that records were lost")
    if metric(tmp, "lost_samples_total"):
        bad.append("%d samples were lost" % metric(tmp, "lost_samples_total"))
    for j in jvms:
        j.stop()
    d.stop()
    return bad


def starved(jdk, classes, tmp, _load):
    """A worker that does not get on loses samples: they are counted and said, and JVMs are sampled less often for a while."""
    d, bad = begin(tmp), []
    j = one.Busy(jdk, classes, always=True)
    if not jvm.wait_until(lambda: d.worker(j.pid)):
        bad.append("it is not sampled")
    jvm.burn(j.pid, 2)
    worker = d.process("worker")
    os.kill(worker, signal.SIGSTOP)
    jvm.burn(j.pid, 4)
    os.kill(worker, signal.SIGCONT)
    if not jvm.wait_until(lambda: metric(tmp, "lost_samples_total") and metric(tmp, "jvms_starved") == 1, 40):
        bad.append("metrics: " + ask(tmp, "/metrics"))
    if not jvm.wait_until(lambda: "samples were lost, of all" in events(tmp) and "(samples were lost)" in events(tmp), 30):
        bad.append("events: " + events(tmp))
    if not jvm.wait_until(lambda: metric(tmp, "jvms_starved") == 0, 90, 1):
        bad.append("it stays so: " + d.said())
    j.stop()
    d.stop()
    return bad


def late(jdk, classes, tmp, _load):
    """What was sampled of a JVM in the second before it was killed can be counted for nobody any more: that is said."""
    d, bad = begin(tmp), []
    j = one.Busy(jdk, classes, always=True)
    if not jvm.wait_until(lambda: d.worker(j.pid)):
        bad.append("it is not sampled")
    time.sleep(33)  # samples wait once no process was added for 30 s (perf_hold.c)
    before = metric(tmp, "late_samples_total")
    j.stop()
    if not jvm.wait_until(lambda: metric(tmp, "late_samples_total") > before, 20, 0.5):
        bad.append("no sample is late: " + ask(tmp, "/metrics"))
    print("%d samples were late, %d before" % (metric(tmp, "late_samples_total"), before))
    if not jvm.wait_until(lambda: "samples were read when their program had ended" in d.said(), 20, 0.5):
        bad.append("the log does not say that: " + d.said())
    if metric(tmp, "lost_samples_total"):
        bad.append("%d samples were lost" % metric(tmp, "lost_samples_total"))
    d.stop()
    return bad


def methods(d, pid, main):
    return " ".join(r["method"] for r in d.kept(pid, "--flat", main)["rows"])


def ended(jdk, classes, tmp, _load):
    """SIGKILL of worker and keeper, again and again: sampling goes on, and what was kept stays."""
    d = begin(tmp)
    jvms = [one.Busy(jdk, classes) for _ in range(2)]
    bad = []
    for name in ("worker", "keeper", "worker"):
        jvm.wait_until(lambda: all(d.worker(j.pid) for j in jvms), 60)
        before = [weight(d, j.pid) for j in jvms]
        if not jvm.wait_until(lambda: all(weight(d, j.pid) > b for j, b in zip(jvms, before)), 60, 0.5):
            bad.append("before %s ends: nothing new is kept: %s" % (name, d.said()))
        old = d.process(name)
        os.kill(old, signal.SIGKILL)
        if not jvm.wait_until(lambda: d.process(name) not in (None, old), 20):
            bad.append("%s is not started again" % name)
    jvm.wait_until(lambda: all(d.worker(j.pid) for j in jvms), 60)
    before = [weight(d, j.pid) for j in jvms]
    if not jvm.wait_until(lambda: all(weight(d, j.pid) > b for j, b in zip(jvms, before)), 60, 0.5):
        bad.append("nothing new is kept at the end: " + d.said())
    if any(j.proc.poll() is not None for j in jvms):
        bad.append("a JVM has ended")
    d.stop()
    for j in jvms:
        j.stop()
    return bad


def hung(jdk, classes, tmp, _load):
    """A keeper that does nothing any more is replaced, the gap is an event, and another one does not keep the daemon from ending."""
    d = begin(tmp)
    j = one.Busy(jdk, classes)
    bad = [] if jvm.wait_until(lambda: weight(d, j.pid), 60, 0.5) else ["it is not sampled"]
    old = d.process("keeper")
    os.kill(old, signal.SIGSTOP)
    if not jvm.wait_until(lambda: d.process("keeper") not in (None, old), 60, 0.5):
        bad.append("no other keeper: " + d.said())
    elif not jvm.wait_until(lambda: "the process that keeps the history was not running" in events(tmp), 30, 0.5):
        bad.append("the gap is no event: " + events(tmp))
    before = weight(d, j.pid)
    if not jvm.wait_until(lambda: weight(d, j.pid) > before, 60, 0.5):
        bad.append("nothing new is kept: " + d.said())
    os.kill(d.process("keeper"), signal.SIGSTOP)
    began = time.monotonic()
    if d.stop() or not 5 < time.monotonic() - began:
        bad.append("status %d after %.1f s" % (d.proc.returncode, time.monotonic() - began))
    j.stop()
    return bad


def stuck(jdk, classes, tmp, _load):
    """A JVM whose files never come: it is sampled without their names, by the process that samples all others."""
    d = begin(tmp)
    good = one.Busy(jdk, classes)
    bad = [] if jvm.wait_until(lambda: d.worker(good.pid), 30) else ["it is not sampled"]
    place = tempfile.mkdtemp(dir=tmp)
    os.chmod(place, 0o755)
    p = subprocess.Popen([sys.executable, str(jvm.ROOT / "tests/integration/silent_fs.py"), place, "libjvm.so"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    said = p.stdout.readline().strip()
    if said != "ready":
        print("skip: a file system that does not answer (%s)" % said)
    else:
        conf = pathlib.Path(tmp, "jsampler.conf")
        conf.write_text(conf.read_text().replace("[rule ours]", "[rule silent]\npid = %d\n[rule ours]" % p.pid))
        old = d.process("worker")
        d.proc.send_signal(signal.SIGHUP)
        jvm.wait_until(lambda: d.process("worker") not in (None, old), 30)
        old = d.process("worker")
        if not jvm.wait_until(lambda: "does not answer" in d.said(), 60, 0.5):
            bad.append("it is not said: " + d.said())
        before = weight(d, good.pid)
        if not jvm.wait_until(lambda: weight(d, good.pid) > before, 60, 0.5):
            bad.append("nothing new is kept: " + d.said())
        if d.process("worker") != old:
            bad.append("another process samples: " + d.said())
    subprocess.run(["umount", "-f", place], stderr=subprocess.DEVNULL, check=False)
    p.kill()
    p.wait()
    subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL, check=False)
    d.stop()
    good.stop()
    return bad


def beside(cases, user, argv):
    """All at the same time, in processes of their own: they wait for steps most of the time. Each daemon has JVMs of another user."""
    left_out = [a for a in argv if a != "--beside"]
    started = [(case, subprocess.Popen([sys.executable, "-B", *left_out, "--only", case.__name__, "--user", str(user + i)],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       preexec_fn=jvm.die_with_parent)) for i, case in enumerate(cases)]
    bad = []
    for case, p in started:
        said = p.communicate()[0]
        print("%s: %s" % (case.__name__, said.rstrip()), flush=True)
        bad += ["%s: exit status %d" % (case.__name__, p.returncode)] if p.returncode else []
    return bad


def in_turn(cases, jdk, load):
    classes = jvm.public(jvm.compile_java(jdk, "cli"))
    bad = []
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="js-daemon-") as tmp:
            bad += ["%s: %s" % (case.__name__, b) for b in case(jdk, classes, tmp, load)]
    return bad


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("load")
    args.add_argument("--jdk", default=None)
    args.add_argument("--user", type=int, default=one.USER, help="of the JVMs; daemons of other tests leave them out")
    args.add_argument("--only", type=lambda s: s.split(","), default=None)
    args.add_argument("--beside", action="store_true", help="the cases at the same time, with users from UID on")
    args = args.parse_args()
    one.USER = args.user
    if not one.ROOT:
        print("needs root")
        return jvm.SKIP
    jdk = jvm.pick_jdk(args.jdk)
    load = str(jvm.public(pathlib.Path(args.load).resolve()))
    cases = [c for c in (shares, governed, slower, starts, brief, stopped, waiting, supervised, captured, replaced, succeeded,
                         succeeded_own, flooded, starved, late, ended, hung, stuck) if not args.only or c.__name__ in args.only]
    bad = beside(cases, args.user, sys.argv) if args.beside else in_turn(cases, jdk, load)
    print("\n".join(bad) or "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
