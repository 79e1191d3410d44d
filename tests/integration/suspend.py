#!/usr/bin/env python3
"""The suspend engine does no harm, and tells the truth.

usage: suspend.py SUBJECT... [--seconds N] [--times N]
  calls    no EINTR and no wrong result in programs that are stopped while they wait
  signals  SIGSEGV, SIGQUIT, real-time signals arrive as they are; SIGSTOP and SIGCONT work
  churn    threads, forks, vforks and execs while they are sampled
  held     an execve(2) that another tracer holds up does not hold jsampler up
  tracers  a process that is traced is refused; a debugger may come later
  wall     states of a thread against what it knows itself; stacks of blocked threads are whole
  chosen   threads that --include-threads leaves out are never stopped
  refused  without perf events the engine takes over, at 99 Hz at most
  kill     kill -9 at random moments, and while a thread is stopped
Programs are those of tests/native/eintr_*.c, found in EINTR_PROGRAMS.
"""

import argparse
import collections
import ctypes
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import environments_common
import jvm
import kill as kill_test

PROGRAMS = pathlib.Path(os.environ.get("EINTR_PROGRAMS", "."))
PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 16, 17, 0x4206
WALL = 0x40000000
HELD = 5  # times: the engine has to meet a thread between the order to end and its end
SAMPLER_ENDS = 30  # s, on the busiest machine: what waits for an execve(2) that is held up never ends
bad, busy = [], []


class Void(Exception):
    """The machine was so slow that nothing was tried."""


def check(ok, what):
    """What must never happen."""
    if not ok:
        bad.append(what)
        print("FAILED:", what, flush=True)


def expect(ok, what):
    """What a busy machine may spoil: right in one of three tries."""
    if not ok:
        busy.append(what)
        print("missed:", what, flush=True)


def tried(subject, o):
    for left in reversed(range(jvm.TRIES)):
        busy.clear()
        before = len(bad)
        try:
            subject(o)
        except Void as e:
            del bad[before:]
            expect(False, str(e))
        if not busy or len(bad) > before or not left:
            break
        print("again, longer", flush=True)
        o.seconds *= 3
    for what in busy:
        check(False, what)


class Program:
    """A native program that prints "ready" and, at its end, lines of results."""

    def __init__(self, name, *args, wrap=()):
        self.proc = subprocess.Popen([*wrap, str(PROGRAMS / ("eintr_" + name)), *map(str, args)],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                     preexec_fn=jvm.die_with_parent)
        self.pid = self.proc.pid
        assert self.proc.stdout.readline() == "ready\n"

    def still_runs(self):
        # Not poll(): of a child that we trace, stops are told too, whatever is asked for.
        event = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if event and event.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
            raise Void("%s ended too early" % self.proc.args)

    def results(self):
        """{name: {word: number}} at the end."""
        out = self.proc.communicate(timeout=jvm.PATIENCE + 60)[0]
        check(self.proc.returncode == 0, "%s: status %s" % (self.proc.args, self.proc.returncode))
        rows = (line.split() for line in out.splitlines())
        return {w[0]: {k: int(v) for k, v in zip(w[1::2], w[2::2])} for w in rows}


def sample(pid, seconds, *options, engine=("--engine", "suspend")):
    return jvm.record(pid, "-d", seconds, *engine, *options, timeout=seconds + jvm.PATIENCE, check=False)


def calls(o):
    p = Program("calls", o.seconds + 2)
    r = sample(p.pid, o.seconds, "-i", "1ms")
    check(r.status == 0, "calls: jsampler says %s" % r.messages)
    rewound = r.fact(r"in place of EINTR (\d+)")
    for name, f in p.results().items():
        check(f["eintr"] == f["early"] == f["wrong"] == 0, "%s: %s" % (name, f))
        # A wait that begins anew at each stop lasts as long as they come.
        expect(f["calls"] > 10 and f["longest_ms"] < 500 * o.seconds, "%s is held up: %s" % (name, f))
    print("calls: %d ticks, %d stops, %d calls made again" % (
        r.fact(r"ticks (\d+) of"), r.fact(r"threads stopped (\d+)"), rewound))


def start_sampler(pid):
    """One that stops threads, as soon as it may do so."""
    sampler = subprocess.Popen([jvm.jsampler_path(), "-p", str(pid), "--engine", "suspend", "-i", "1ms",
                                "-o", "/dev/null", "-f", "folded", "-q"], preexec_fn=jvm.die_with_parent)
    jvm.wait_until(lambda: jvm.suspending(sampler.pid) or sampler.poll() is not None)
    return sampler


def stop_and_continue(p):
    """Stopped stays stopped while it is sampled, and goes on."""
    pid, sampler = p.pid, start_sampler(p.pid)
    try:
        for _ in range(5):
            time.sleep(0.1)
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda: states(pid) == {"T"}, "all threads stopped")
            before = cpu_ticks(pid)
            time.sleep(0.1)
            check(states(pid) == {"T"} and cpu_ticks(pid) == before, "a stopped process ran")
            os.kill(pid, signal.SIGCONT)
            wait_until(lambda: cpu_ticks(pid) > before, "it goes on")
        p.still_runs()
    finally:
        sampler.terminate()
        check(sampler.wait() == 0, "jsampler beside SIGSTOP: status %s" % sampler.returncode)


def wait_until(condition, what):
    check(jvm.wait_until(condition, pause=0.002), "%s: not within %d s" % (what, jvm.PATIENCE))


def stat_fields(path):
    return path.read_text().rsplit(")", 1)[1].split()


def states(pid):
    return {text.rsplit(")", 1)[1].split()[0] for text in jvm.texts_of(pid, "stat")}


def cpu_ticks(pid):
    f = stat_fields(pathlib.Path("/proc/%d/stat" % pid))
    return int(f[11]) + int(f[12])


def signals(o):
    p = Program("signals", o.seconds + 1)
    r = sample(p.pid, o.seconds, "-i", "1ms")
    check(r.status == 0, "signals: jsampler says %s" % r.messages)
    for name, f in p.results().items():
        check(f["bad"] == 0, "%s: %s" % (name, f))
        expect(f["done"] > 50, "%s: %s" % (name, f))
    # Continued, epoll_wait says EINTR without us too: another program.
    p = Program("churn", "threads", o.seconds + 1)
    stop_and_continue(p)
    p.results()


def churn(o):
    for mode in ("threads", "fork", "vfork", "exec"):
        p = Program("churn", mode, o.seconds)
        r = sample(p.pid, o.seconds + 200, "-i", "1ms")
        if "no process %d" % p.pid in r.messages:
            raise Void("churn %s ended too early" % mode)
        check(r.status == 0 and "the target ended" in r.messages, "%s: jsampler says %s" % (mode, r.messages))
        f = p.results()[mode]
        check(f["bad"] == 0, "%s: %s" % (mode, f))
        expect(f["done"] > 3, "%s: %s" % (mode, f))
        print("%s: %d" % (mode, f["done"]))


def ptrace(request, pid):
    return jvm.LIBC.ptrace(ctypes.c_long(request), ctypes.c_int(pid), None, None)


def tracers(o):
    p = Program("churn", "threads", o.seconds + 1)
    check(ptrace(PTRACE_SEIZE, p.pid) == 0, "the test may not trace")
    r = sample(p.pid, 1)
    check(r.status == 1 and "is traced by" in r.messages, "traced: %d %s" % (r.status, r.messages))
    # Detaching takes a stop; a debugger's attach is the way to one, and not possible twice.
    ptrace(0x4207, p.pid)  # PTRACE_INTERRUPT
    os.waitpid(p.pid, WALL)
    ptrace(PTRACE_DETACH, p.pid)
    p.still_runs()
    sampler = start_sampler(p.pid)
    attached = jvm.wait_until(lambda: ptrace(PTRACE_ATTACH, p.pid) == 0 or sampler.poll() is not None, pause=0.002)
    p.still_runs()
    if sampler.poll() is None:
        check(attached, "a debugger attaches while it is sampled")
        os.waitpid(p.pid, WALL)
        time.sleep(0.3)
        p.still_runs()
        check(ptrace(PTRACE_DETACH, p.pid) == 0, "the debugger detaches")
    sampler.terminate()
    check(sampler.wait() == 0, "jsampler beside a debugger: status %s" % sampler.returncode)
    p.results()


def seize_a_thread(pid):
    """Of a program that calls execve(2) again and again: one that will have to end for it."""
    for tid in os.listdir("/proc/%d/task" % pid):
        if int(tid) != pid and ptrace(PTRACE_SEIZE, int(tid)) == 0:
            return int(tid)
    return 0


def spinners(n):
    return [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=jvm.die_with_parent) for _ in range(n)]


def held(o):
    for _ in range(HELD):
        held_once(o)


def held_once(o):
    """The program has next to no CPU time: its threads are runnable for long after their end was ordered, so that the
    engine asks one of them to stop while the first is in execve(2). That has to wait for one which is traced."""
    spin = spinners(2 * os.cpu_count())
    p = Program("churn", "exec", o.seconds, wrap=("nice", "-n", "19"))
    sampler = start_sampler(p.pid)
    seized = []
    jvm.wait_until(lambda: seized.append(seize_a_thread(p.pid)) or seized[-1], pause=0.001)
    wait_until(lambda: has_state(p.pid, seized[-1], "Z"), "execve ends the other threads")
    time.sleep(0.5)
    check(sampler.poll() is None, "jsampler ended early: %s" % sampler.returncode)
    began = time.monotonic()
    sampler.send_signal(signal.SIGINT)
    try:
        status = sampler.wait(SAMPLER_ENDS)
    except subprocess.TimeoutExpired:
        sampler.kill()
        status = sampler.wait()
    took = time.monotonic() - began
    for s in spin:
        s.kill()
        s.wait()
    check(status == 0, "held: jsampler's status %s after %.1f s" % (status, took))
    os.waitpid(seized[-1], WALL)
    f = p.results()["exec"]
    check(f["bad"] == 0, "held: %s" % f)
    print("held: ended after %.2f s, then %d calls of execve" % (took, f["done"]))


def has_state(pid, tid, state):
    try:
        return stat_fields(pathlib.Path("/proc/%d/task/%d/stat" % (pid, tid)))[0] == state
    except OSError:
        return False


def shares(recording, thread):
    count = collections.Counter()
    for frames, n in recording.folded:
        name, _, rest = jvm.thread_of(frames)
        if name == thread:
            count[rest[0].strip("[]")] += n
    whole = sum(count.values()) or 1
    return {k: 100 * v / whole for k, v in count.items()}


def spent(java):
    java.tell("report")
    while True:
        w = java.line(jvm.PATIENCE).split()
        if w[0] == "spent":
            return [int(n) for n in w[1:]]


def wall_margin(r, n, truth_ns, told_ns):
    """Points that shares of n observations may be off besides the bar: by chance, once in 100,000 times; for ticks that
    were not done; because the program's own count began before the sampler and ended after it."""
    done = 1e6 * r.fact(r"ticks (\d+) of") * 5
    return 4.4 * 100 * math.sqrt(0.25 / max(n, 1)) + 100 * max(0, 1 - done / told_ns) + 20 * max(
        0, 1 - told_ns / truth_ns)


def wall(o):
    jdk = jvm.pick_jdk(o.jdk)
    with jvm.Jvm(jdk, jvm.compile_java(jdk, "suspend"), "States") as java:
        java.wait_ready()
        before = spent(java)
        r = sample(java.pid, o.seconds, "-e", "wall", "-i", "5ms", "-t", "--states", engine=())
        truth = [b - a for a, b in zip(before, spent(java))]
    check(r.status == 0, "wall: jsampler says %s" % r.messages)
    told = shares(r, "mixed")
    whole = sum(n for frames, n in r.folded if jvm.thread_of(frames)[0] == "mixed")
    margin = 0 if o.exact else wall_margin(r, whole, sum(truth), 1e9 * r.fact(r"samples in ([0-9.]+) s"))
    truth = [100 * t / sum(truth) for t in truth]
    got = [sum(told.get(k, 0) for k in ("running", "runnable", "parked", "native")), told.get("blocked", 0),
           told.get("sleeping", 0)]
    print("runs %.1f %% (%.1f), monitor %.1f (%.1f), sleeps %.1f (%.1f), margin %.1f; %s" % (
        got[0], truth[0], got[1], truth[1], got[2], truth[2], margin, {k: round(v, 1) for k, v in told.items()}))
    expect(max(abs(a - b) for a, b in zip(got, truth)) <= o.bar + margin, "states: %s, not %s" % (got, truth))
    # It is blocked in a read() whose callers keep rbp: pc and sp alone do not do.
    reads = [jvm.is_complete(frames) for frames, _ in r.folded if jvm.thread_of(frames)[0] == "main"]
    expect(any(reads), "main: no stack of a blocked native thread is whole")
    for thread, state in (("waits", "waiting"), ("parks", "parked"), ("sleeps", "sleeping"), ("main", "native")):
        # Its first look may be one tick of another kind.
        expect(shares(r, thread).get(state, 0) > 95, "%s: %s" % (thread, shares(r, thread)))


def switches(pid, name):
    """Times that a thread of that name gave up its CPU: one that spins does so when it is stopped, and never else."""
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        if (task / "comm").read_text().strip() == name:
            return int((task / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return sys.exit("no thread %s" % name)


def chosen(o):
    mix = subprocess.Popen([str(PROGRAMS / "has_run_mix"), "600"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           text=True, preexec_fn=jvm.die_with_parent)
    try:
        assert mix.stdout.readline() == "ready\n"
        # Both have begun to spin: before that they meet locks.
        spin = ("running", "one-insn-loop")
        wait_until(lambda: all(names_cpu(mix.pid).get(n, 0) > 1e8 for n in spin), "they spin")
        before = [switches(mix.pid, n) for n in spin]
        r = sample(mix.pid, o.seconds, "-i", "2ms", "-t", "--include-threads", "^(running|epoll)$")
        after = [switches(mix.pid, n) for n in spin]
    finally:
        mix.kill()
        mix.wait()
    check(r.status == 0, "chosen: jsampler says %s" % r.messages)
    names = {jvm.thread_of(frames)[0] for frames, _ in r.folded}
    check(names <= {"running", "epoll"}, "chosen: threads %s" % names)
    expect("running" in names and after[0] > before[0], "the thread that was chosen was not sampled")
    check(after[1] == before[1], "a thread that was left out was stopped %d times" % (after[1] - before[1]))
    print("chosen: %d stops of the one, %d of the other" % (after[0] - before[0], after[1] - before[1]))


def names_cpu(pid):
    """{name: ns on a CPU}"""
    tasks = list(pathlib.Path("/proc/%d/task" % pid).iterdir())
    return {(t / "comm").read_text().strip(): int((t / "schedstat").read_text().split()[0]) for t in tasks}


def refused(o):
    refuse = environments_common.native("refuse")
    p = Program("churn", "threads", o.seconds + 2)
    run = subprocess.run([str(refuse), "perf_event_open=EPERM", "--", jvm.jsampler_path(), "-p", str(p.pid), "-d", "1",
                          "-F", "999", "-o", "/dev/null", "-f", "folded", "-v"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE)
    if "no process %d" % p.pid in run.stderr:
        raise Void("churn ended too early")
    check(run.returncode == 0 and "threads are stopped instead, 99 times" in run.stderr and
          "engine suspend" in run.stderr, "refused: %d %s" % (run.returncode, run.stderr))
    p.results()


def held_threads(pid):
    """Of a process: (threads that have a tracer, those that are stopped for it, those of them with a signal
    pending)."""
    traced = stopped = pending = 0
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            f = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if f["TracerPid"].strip() == "0":
            continue
        traced += 1
        stopped += f["State"][0] == "t"
        pending += f["State"][0] == "t" and int(f["SigPnd"], 16) | int(f["ShdPnd"], 16) != 0
    return traced, stopped, pending


def freeze(tracer, pid, rng):
    """Stands the process that stops threads still at a moment when it has stopped one, if such a moment is found soon."""
    for _ in range(40):
        os.kill(tracer, signal.SIGSTOP)
        jvm.wait_until(lambda: has_state(tracer, tracer, "T"), pause=0.0005)
        time.sleep(0.001)  # who was asked to stop does so by now, if it has a CPU
        held = held_threads(pid)
        if held[1]:
            return held
        os.kill(tracer, signal.SIGCONT)
        time.sleep(rng.uniform(0, 0.003))
    return held_threads(pid)


def kill_tracer(s, pid, rng, frozen):
    """How many threads it held. Whoever parses says so, writes what it has, and ends."""
    tracer, held = jvm.tracer_of(s.pid), (0, 0, 0)
    if not tracer:
        return held
    try:
        if frozen:
            held = freeze(tracer, pid, rng)
        os.kill(tracer, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return held


def kill(o):
    """The process that stops threads, sometimes while it has stopped one, or the one that parses: no thread stays stopped."""
    rng, killed, held = random.Random(o.seed), 0, [0, 0, 0]
    p = Program("signals", 3600)
    for i in range(o.times):
        s = subprocess.Popen([jvm.jsampler_path(), "-p", str(p.pid), "--engine", "suspend", "-i", "1ms",
                              "-o", "/dev/null", "-f", "folded"], stderr=subprocess.PIPE, text=True,
                             preexec_fn=jvm.die_with_parent)
        if i % 2: # to meet it while it has stopped a thread
            jvm.wait_until(lambda: jvm.suspending(s.pid) or s.poll() is not None)
        time.sleep(rng.uniform(0, 0.1))
        killed += s.poll() is None
        tracer = jvm.tracer_of(s.pid)
        if i % 4:
            held = [a + (b > 0) for a, b in zip(held, kill_tracer(s, p.pid, rng, frozen=i % 2))]
        if not i % 4 or not tracer:
            s.kill()
        said = s.communicate(timeout=jvm.PATIENCE)[1]
        check(not i % 4 or not tracer or "the process that stops threads has ended" in said, "its end is not told: %s" % said)
        stopped = []
        jvm.wait_until(lambda: not (stopped.clear() or stopped.extend(kill_test.stopped_threads(p.pid)) or stopped), pause=0.002)
        check(not stopped, "left behind: %s" % stopped)
        check(not tracer or tracer == s.pid or jvm.wait_until(lambda: has_ended(tracer)), "the process that stops threads goes on")
    p.proc.send_signal(signal.SIGTERM)
    for name, f in p.results().items():
        check(f["bad"] == 0, "%s after kill -9: %s" % (name, f))
        expect(f["done"] > 50, "%s after kill -9: %s" % (name, f))
    print("kill: %d of %d while it ran; with a thread traced %d, stopped %d, that had a signal pending %d" % (
        killed, o.times, *held))
    expect(o.times < 20 or held[1], "never killed while a thread was stopped")


def has_ended(pid):
    return not pathlib.Path("/proc/%d/stat" % pid).exists() or has_state(pid, pid, "Z")


SUBJECTS = {f.__name__: f for f in (calls, signals, churn, held, tracers, wall, chosen, refused, kill)}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("subjects", nargs="+", choices=SUBJECTS)
    p.add_argument("--seconds", type=int, default=4)
    p.add_argument("--times", type=int, default=30)
    p.add_argument("--bar", type=float, default=2, help="points that states may be off")
    p.add_argument("--exact", action="store_true", help="with nothing added for chance and a busy machine")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jdk")
    o = p.parse_args()
    for s in o.subjects:
        began = o.seconds
        tried(SUBJECTS[s], o)
        o.seconds = began
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
