#!/usr/bin/env python3
"""What the daemon's processes hold, what who takes over its worker cannot do (closed_trials.c), and that nothing is left when any
of them is killed.

usage: closed_daemon.py
Exit status: 0 it holds, 1 not, 77 not root, or no JDK is here.
"""

import errno
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import closed
import daemon
import jvm
import shell
from shell import check

KILLS = int(os.environ.get("JSAMPLER_KILLS", "8"))
# As those of the attaching child, PERFMON, CHECKPOINT_RESTORE; SYS_NICE where limits of priorities cannot be raised.
BROKER_CAPS = closed.ATTACH_CAPS | 1 << 23 | 1 << 38 | 1 << 40


def trials(names):
    """In the worker, in place of its reading the first file that a JVM has mapped."""
    names = [n for n in names if n not in closed.ALLOWED_TO_SAMPLE]
    jdk = sorted(jvm.find_jdks().values())[0]
    with closed.Victims() as victims, tempfile.TemporaryDirectory() as tmp:
        d = daemon.Daemon(tmp, env=victims.environment(0, "all"))
        busy = daemon.Busy(jdk, jvm.compile_java(jdk, "cli"))
        jvm.wait_until(lambda: names[-1] + ": " in d.said())
        d.stop()
        busy.stop()
        said = dict(re.findall(r"^(\w+): (errno \d+|signal \d+)$", d.said(), re.M))
        wanted = {n: "errno %d" % (errno.EACCES if n in closed.OPENED else closed.ANSWERED[n]) if n in closed.OPENED or
                  n in closed.ANSWERED else "signal %d" % signal.SIGSYS for n in names}
        bad = {n: said.get(n) for n in names if said.get(n) != wanted[n]}
        check("the daemon's worker: %d things are refused" % len(names), not bad, (bad, d.said()[-500:] if bad else ""))
        check("... and nothing was harmed", victims.unharmed())


# What the filter leaves to the keeper, and Landlock or the file's owner refuse: see sampler/closed/keeping_calls.c.
KEPT_OUT = closed.OPENED | {"write_mem", "write_own_mem", "write_shadow", "cron", "core_pattern", "write_at_home", "create",
                            "create_unnamed", "rename_file", "remove_file", "setuid_bit"}


def keeper_trials():
    """In the keeper, in place of its first answer. As the victims have its ids, it is not their owner who refuses."""
    names = [n for n in closed.trial_names() if n != "x32"]
    with closed.Victims() as victims, tempfile.TemporaryDirectory() as tmp:
        own = closed.subprocess.Popen(["setpriv", "--reuid", str(daemon.OWNER), "--regid", str(daemon.OWNER), "--clear-groups", "sleep",
                                       "1000"], preexec_fn=jvm.die_with_parent)
        victims.processes[daemon.OWNER] = own
        for path in (os.path.dirname(victims.file), victims.file):
            os.chown(path, daemon.OWNER, daemon.OWNER)
        d = daemon.Daemon(tmp, env={**victims.environment(daemon.OWNER, ""), "CLOSED_KEEP": "1"})
        jvm.wait_until(lambda: "all tried\n" in d.said())
        d.stop()
        said = dict(re.findall(r"^(\w+): (errno \d+|signal \d+)$", d.said().split("all tried\n")[0], re.M))
        wanted = {n: {"errno %d" % e for e in (errno.EACCES, errno.EPERM, errno.EXDEV)} if n in KEPT_OUT else
                  {"errno %d" % closed.ANSWERED[n]} if n in closed.ANSWERED else {"signal %d" % signal.SIGSYS} for n in names}
        bad = {n: said.get(n) for n in names if said.get(n) not in wanted[n]}
        check("the daemon's keeper: %d things are refused" % len(names), not bad, (bad, d.said()[-500:] if bad else ""))
        check("... and nothing was harmed", victims.unharmed())


def holds(pid, caps):
    f = closed.fields(pid)
    return (f and f["Seccomp"] == "2" and f["NoNewPrivs"] == "1" and int(f["CapEff"], 16) & ~caps == 0 and
            int(f["CapPrm"], 16) & ~caps == 0 and (caps or "0" not in f["Uid"].split()))


def processes(d):
    worker, keeper = d.process("worker"), d.process("keeper")
    return worker, keeper, closed.descendants(worker)[1:2] if worker else []


def closed_ones():
    with tempfile.TemporaryDirectory() as tmp:
        d = daemon.Daemon(tmp)
        seen = jvm.wait_until(lambda: all(processes(d)) and holds(processes(d)[0], 0) and holds(processes(d)[1], 0) and
                              holds(processes(d)[2][0], BROKER_CAPS))
        check("the daemon's worker, keeper and broker hold what they need, and no more", seen,
              [closed.fields(p) for p in closed.descendants(d.proc.pid)])
        d.stop()


def kill_one(i, left):
    with tempfile.TemporaryDirectory() as tmp:
        d = daemon.Daemon(tmp)
        time.sleep(0.05 + 0.45 * (i // 4 % 10) / 10)
        all_ = closed.descendants(d.proc.pid)
        held = {to for p in all_ for to in closed.open_files(p).values() if to.startswith("socket:")}
        victim = all_[i % len(all_)]
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if victim != d.proc.pid:
            time.sleep(0.1)
            all_ += closed.descendants(d.proc.pid)
            d.proc.terminate()
        try:
            d.proc.wait(20)
        except closed.subprocess.TimeoutExpired:
            left.append((i, "goes on", d.said()[-300:]))
            d.proc.kill()
            d.proc.wait()
        if not jvm.wait_until(lambda: all(map(closed.is_gone, all_))):
            left.append((i, [closed.fields(p).get("Name") for p in all_ if not closed.is_gone(p)]))
        if held & closed.sockets():
            left.append((i, held & closed.sockets()))
        left += [(i, str(p)) for p in pathlib.Path(tmp, "store").rglob("*") if p.name.endswith((".tmp", ".new"))]


def main():
    if not shell.can_be_nobody() or not jvm.find_jdks():
        print("skipped: not root, no setpriv, or no JDK")
        sys.exit(jvm.SKIP)
    closed_ones()
    left = []
    for i in range(KILLS):
        kill_one(i, left)
    check("the daemon, each process killed alone, %d times: nothing is left" % KILLS, not left, left)
    trials(sys.argv[1:] or closed.trial_names())
    keeper_trials()
    shell.finish()


if __name__ == "__main__":
    main()
