#!/usr/bin/env python3
"""Targets whose life goes on: exec, start, end, stop, debuggers, libraries that come late, many at once."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import jvm
from environments_common import (Background, NOBODY, burn, check, check_run, child_of, demo, java_named, jdks, main, native,
                                 note, odd, run, spin)


HARDLY_ANY_CPU_S = 0.1  # some hundred threads that end, at most
SETTLED_S = 3.5  # a younger process may be starting (perf_policy.c), and is sampled by timers of CPUs at first


def java_command(jdk, seconds, flags=()):
    return [str(jdk.home / "bin/java"), "-Xmx256m", *flags, "-cp", str(jvm.compile_java(jdk, "demo")), "Demo",
            str(seconds)]


def command_until(good, options, command, seconds):
    """Runs and samples the command, up to three times, each four times as long, until good(run) holds."""
    for i in range(jvm.TRIES):
        with tempfile.TemporaryDirectory() as tmp:
            out = tmp + "/out.folded"
            r = run("-o", out, *options, "--", *command(seconds * 4 ** i))
            r.folded = list(jvm.parse_folded(open(out, errors="replace"))) if os.path.exists(out) else []
        r.good = r.status == 0 and good(r)
        if r.good or r.status != 0:
            break
    return r


def first_instruction():
    """A JVM that jsampler starts: Java frames with names as soon as there are any."""
    for jdk in jdks():
        r = command_until(lambda r: r.has(r"\[json-api tid=") and r.share(r"^Demo\$") > 0.3 and
                          r.has(r"^java/lang/System\.initPhase|^java/lang/module/|^jdk/internal/(module|loader)") and
                          r.complete() > 0.97, ["-F", "499", "-t"], lambda seconds: java_command(jdk, seconds), 2)
        check("%d, from the first instruction" % jdk.major, r.good and r.out == "ready\n" and
              len([x for x in r.lines() if x.startswith("jsampler:")]) == 0, r)
        # The dynamic loader has a few ms in all: a rate at which 20 samples are expected there.
        r = command_until(lambda r: r.has(r"_dl_start|_dl_relocate|ld-linux"), ["-F", "4999"],
                          lambda seconds: java_command(jdk, seconds), 1)
        check("... with the loader and the launcher", r.good, r)


def many_starts():
    """Attached at any moment of a JVM's start: a profile or nothing, never a wrong message."""
    for jdk in jdks():
        for i in range(0, 6, 2):
            for seconds in (1.2, 6, 30):
                p = subprocess.Popen(java_command(jdk, 600), stdout=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)
                time.sleep(0.012 * i * i)
                r = run("-p", p.pid, "-d", seconds, "-F", "999")
                p.kill()
                p.wait()
                if r.status != 0 or r.says("jsampler: ") or r.has(r"_\[[01jci]\]$"):
                    break
            check("%d, attached %d ms after the start" % (jdk.major, 12 * i * i), r.status == 0 and
                  r.has(r"_\[[01jci]\]$") and not r.says("jsampler: "), r)


def end():
    """A JVM that ends, killed and by itself, while it is sampled."""
    jdk = jdks()[0]
    for how in ("killed", "by itself"):
        for seconds in (3, 15, 60):
            with demo(jdk, seconds=seconds if how == "by itself" else 600) as t:
                b = Background("-p", t.pid, "-d", "1000")
                burn(t.pid, seconds / 3)
                if how == "killed":
                    t.proc.kill()
                r = b.end(sig=None)
            if r.status != 0 or (r.has(r"^Demo\$") and r.complete() > 0.97):
                break
        check("the JVM ends, %s" % how, r.status == 0 and r.says("the target ended") and r.has(r"^Demo\$") and
              r.complete() > 0.97, r)


def exec_away():
    """execve under the sampler: both programs are in the profile, each by its own names."""
    jdk = jdks()[0]
    for seconds in (2.5, 10, 40):
        with odd("exec", *java_command(jdk, 1200)) as t:
            b = Background("-p", t.pid, "-t")
            burn(t.pid, 0.2 * seconds)
            t.tell()
            burn(t.pid, seconds)
            r = b.end()
            os.kill(t.pid, 0)
        good = (r.share("^odd_spin_until_told$") > 0.03 and r.has(r"\[json-api tid=") and r.has(r"^Demo\$Json\.once") and
                r.complete() > 0.97)
        if good or r.status != 0:
            break
    check("a program that becomes a JVM", r.status == 0 and good, r)
    # The first perf_event_open is held back until the target is another program. Only that of the main thread:
    # strace -f would hold back the first one of the drain thread as well, and its rings would overflow.
    if shutil.which("strace"):
        with odd("exec", native("odd_target"), "threads", "1") as t:
            b = Background("-p", t.pid, wrap=["strace", "-qq", "-o", "/dev/null", "-e", "trace=perf_event_open", "-e",
                                              "inject=perf_event_open:delay_enter=1500000:when=1"])
            time.sleep(0.5)
            t.tell()
            b.wait_for_events()
            burn(t.pid, 1)
            r = b.end(group=True)
            check("execve while jsampler attaches", r.status == 0 and r.share("^odd_spin$") > 0.95, r)
    # -- sh: the shell is what is started, and it becomes the JVM.
    loop = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exec \"$@\""
    r = command_until(lambda r: r.share(r"^Demo\$") > 0.3 and r.complete() > 0.97 and r.has(r"^\[dash\]$|^evaltree"),
                      ["-F", "499"], lambda seconds: ["sh", "-c", loop, "sh", *java_command(jdk, seconds)], 2)
    check("a shell that becomes a JVM", r.good, r)
    program = pathlib.Path(native("odd_target"))
    with odd("exec", program, "nodump") as u:
        b = Background("-p", u.pid)
        burn(u.pid, 0.5)
        u.tell()
        burn(u.pid, 0.5)
        r = b.end()
        check("a program that becomes one that is not dumpable", r.status == 0 and
              r.has("^odd_spin_until_told$") and r.has("^odd_spin$"), r)


def becomes(argv, *options, meanwhile=lambda b: None):
    """A run that sees its target, a user's, become another program; the messages about that, and what the second one's samples are."""
    suspends = "suspend" in options
    with odd("exec", *argv, uid=NOBODY) as t:
        b = Background("-p", t.pid, *options, wrap=["nice"] if suspends else [])
        if suspends:
            jvm.wait_until(lambda: "jsampler-stop" in subprocess.run(["ps", "-o", "comm=", "--ppid", str(b.proc.pid)],
                                                                      stdout=subprocess.PIPE, text=True).stdout)
        burn(t.pid, 0.5)
        meanwhile(b)
        t.tell()
        burn(t.pid, 1.5)
        r = b.end()
    said = re.search(r"^(\d+) samples? .* are of a program that the target executed", r.err, re.M)
    return r, [line for line in r.lines() if "called execve" in line], int(said.group(1)) if said else 0


def unreadable():
    """What the target becomes may not be read: said once, with the cause, and how many samples have no names for that."""
    program = pathlib.Path(native("odd_target"))
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        of_root = shutil.copy(program, tmp + "/setuid")
        os.chmod(of_root, 0o4755)
        r, said, samples = becomes([of_root, "threads", "1"])
        check("a program that becomes a set-user-ID one: said once", len(said) == 1 and "other rights" in said[0] and
              samples > r.samples() / 3, r)
        r, said, _ = becomes([of_root, "threads", "1"], "--engine", "suspend")
        check("... with --engine suspend", len(said) == 1 and "other rights" in said[0] and r.share("^odd_spin_until_told$") > 0.9, r)
    r, said, samples = becomes([program, "threads", "1"], meanwhile=lambda b: os.kill(child_of(b.proc.pid), signal.SIGKILL))
    check("a program that becomes another one when the broker is dead: said once, and why", len(said) == 1 and
          "that keeps the privileges has ended" in said[0] and samples > r.samples() / 3, r)


def cpu_seconds(r):
    """CPU time of the target, as -v says; 0: it could not be read at the end."""
    said = re.search(r"CPU time of the target ([\d.]+) s", r.err)
    return float(said.group(1)) if said else 0


def ended_threads():
    """
    Of a thread that is about to leave its CPU for good, the kernel no longer knows the tid: samples have -1 instead. Asking the
    broker for a file of such a thread was against its rules, and ended it.
    """
    cpu = 0
    for seconds in (3, 10, 30):
        with tempfile.TemporaryDirectory() as tmp:
            out = pathlib.Path(tmp, "out.folded")
            r = run("-o", out, "-F", "4999", "-v", "--threads", "--", native("ending_threads"), seconds, timeout=200)
            r.folded = list(jvm.parse_folded(out.read_text().splitlines())) if out.exists() else []
        cpu += cpu_seconds(r)
        ended = [f[0] for f, _ in r.folded if "tid=-1]" in f[0] or "(ended)" in f[0]]
        if ended or r.status != 0 or r.says("Broken pipe|has ended"):
            break
    check("threads that have ended: nothing ends with them", r.status == 0 and cpu_seconds(r) > 0 and
          not r.says("Broken pipe|has ended"), r)
    if not ended and cpu < HARDLY_ANY_CPU_S:
        note("no sample was of a thread that has no tid any more: in all tries the target got %.3f s of CPU time" % cpu)
        return
    check("... and their name says so", ended and all(f == "[(ended) tid=-1]" for f in ended), r)


def broker_killed():
    """Only the samples are left then, and what was open before; the message says how it ended, and what to do."""
    with odd("threads", 1) as t:
        b = Background("-p", t.pid)
        burn(t.pid, 0.5)
        os.kill(child_of(b.proc.pid), signal.SIGKILL)
        burn(t.pid, 0.5)
        r = b.end()
    said = [line for line in r.lines() if "keeps the privileges has ended" in line]
    check("the broker is killed: said once, and how", r.status == 0 and len(said) == 1 and "signal 9" in said[0] and
          "names may be missing" in said[0] and r.has("^odd_spin"), r)


def late_library():
    """Privileges are gone when the target loads a library: it is opened and named all the same."""
    lib = native("late.so", "late_library.c", ("-O1", "-shared", "-fPIC"))
    for uid in (None, NOBODY):
        with odd("late-dlopen", lib, uid=uid) as t:
            b = Background("-p", t.pid)
            burn(t.pid, 0.4)
            status = pathlib.Path("/proc/%d/status" % b.proc.pid).read_text()
            t.tell()
            burn(t.pid, 0.6)
            r = b.end()
            caps = int(re.search(r"^CapEff:\s+(\w+)", status, re.M).group(1), 16)
            check("a library that comes late, target of %s" % (uid or "root"), r.status == 0 and
                  r.share("^late_inner$") > 0.2 and r.has("^odd_spin_until_told$"), r)
            check("... without most capabilities", bin(caps).count("1") <= 5, hex(caps))


def several():
    """-p A,B: each process under a root of its own."""
    first, last = jdks()[0], jdks()[-1]
    with demo(first) as a, demo(last) as b, spin() as c:
        def each_under_its_root(r):
            shares = {}
            for frames, n in r.folded:
                shares.setdefault(frames[0], []).append((frames, n))
            roots = ["[java pid=%d]" % a.pid, "[java pid=%d]" % b.pid]
            good = all(any("Demo$" in x for f, _ in shares.get(root, []) for x in f) for root in roots)
            third = [k for k in shares if k.endswith("pid=%d]" % c.pid)]
            return (r.status == 0 and good and len(third) == 1 and len(shares) == 3 and r.complete() > 0.97 and
                    all(re.search(r"tid=\d+\]$", f[1]) for f, _ in r.folded))
        burn(a.pid, 1)
        burn(b.pid, 1)
        check_run("several processes", each_under_its_root, "-p", "%d,%d" % (a.pid, b.pid), "-p", c.pid, "-d", "3", "-t")
        dead = subprocess.Popen(["true"])
        dead.wait()
        r = run("-p", "%d,%d" % (a.pid, dead.pid), "-d", "1")
        check("several, one is not there", r.refused("process %d" % dead.pid), r)
        k = Background("-p", "%d,%d" % (a.pid, b.pid))
        burn(b.pid, 0.5)
        b.proc.kill()
        burn(a.pid, 1)
        r = k.end()
        check("several, one ends", r.status == 0 and r.has(r"\[java pid=%d\]" % a.pid), r)


def stopped():
    with spin() as t:
        os.kill(t.pid, signal.SIGSTOP)
        jvm.wait_until(lambda: ") T " in pathlib.Path("/proc/%d/stat" % t.pid).read_text())
        r = run("-p", t.pid, "-d", "1")
        check("a stopped target: an empty profile and a note", r.status == 0 and not r.out and r.says("no samples"), r)
        state = pathlib.Path("/proc/%d/stat" % t.pid).read_text().rpartition(")")[2].split()[0]
        check("... which stays stopped", state == "T", state)
        os.kill(t.pid, signal.SIGCONT)
        check_run("... and runs again", lambda r: r.status == 0 and r.samples() > 10, "-p", t.pid, "-d", "0.7")


def stolen_share(before, now):
    """Of the time that these lines of /proc/stat lie apart (proc_stat(5)): what the hypervisor gave to others."""
    spent = [b - a for a, b in zip(before, now)]
    return spent[7] / max(1, sum(spent[:8]))


def cpu_times():
    return [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]


def held_up_once(t):
    """The run, its samples and lost ones as a part of what is due by the target's CPU time, and how far that may be from 1: 5 %, and
    what is before the first sample and after the last one of a busy machine's few."""
    b = Background("-p", t.pid, "-d", "3", "-F", "99", "-v")
    burn(t.pid, 0.2)  # on a busy machine, 1 s of CPU time takes more than 3 s
    os.kill(b.proc.pid, signal.SIGSTOP)
    burn(t.pid, 6)
    os.kill(b.proc.pid, signal.SIGCONT)
    r = b.end(sig=None)
    told = jvm.Recording(r.status, r.folded, r.err)
    due = 99 * told.fact(r"CPU time of the target ([\d.]+) s", 1)
    return r, sum(told.fact(r"samples (\d+), lost (\d+)", (0, 0))) / due, max(0.05, 2 / due)


def held_up():
    """jsampler itself stopped, until after its time: what it has not got is counted. The target is sampled by its own CPU time,
    since timers of CPUs find by chance what shares a CPU with others. A timer that expires while the hypervisor runs something else
    is late, and counts once, however late: that machine is asked again."""
    with spin() as t:
        time.sleep(SETTLED_S)
        for _ in range(jvm.TRIES):
            before = cpu_times()
            r, whole, near = held_up_once(t)
            stolen = stolen_share(before, cpu_times())
            if r.status != 0 or whole >= 1 - near or stolen < 0.01:
                break
            note("%.3f of what is due, but the hypervisor took %.0f %% of the time" % (whole, 100 * stolen))
        else:
            return
        check("... by the thread's own CPU time", r.says("events on threads") and not r.says("events on CPUs"), r)
        check("stopped while it samples: samples and lost ones are %.3f of what is due" % whole,
              r.status == 0 and abs(whole - 1) < near, r)


def debugged():
    """A debugger or strace on the target is no matter: the perf engine does not trace."""
    jdk = jdks()[0]
    for tool in ("strace", "gdb"):
        if not shutil.which(tool):
            note("no %s here" % tool)
            continue
        with demo(jdk) as t:
            argv = (["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(t.pid)] if tool == "strace" else
                    ["gdb", "-q", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-ex",
                     "handle SIGSEGV nostop noprint pass", "-ex", "continue", "-p", str(t.pid)])
            d = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 preexec_fn=jvm.die_with_parent)
            wait_for_tracer(t.pid)
            check_run("a target under %s" % tool, java_named, "-p", t.pid, "-d", "2")
            d.send_signal(signal.SIGINT)
            try:
                d.communicate(input=b"detach\nquit\n", timeout=10)
            except subprocess.TimeoutExpired:
                d.kill()
                d.wait()


def wait_for_tracer(pid):
    """Until all threads are attached to and run again."""
    def all_traced():
        states = jvm.texts_of(pid, "status")
        return all(re.search(r"^TracerPid:\s+[1-9]", s, re.M) and not re.search(r"^State:\s+[tT]", s, re.M)
                   for s in states)
    jvm.wait_until(all_traced, 60, 0.1)


if __name__ == "__main__":
    main({f.__name__: f for f in (first_instruction, many_starts, end, exec_away, unreadable, ended_threads,
                                  broker_killed, late_library, several, stopped, held_up, debugged)})
