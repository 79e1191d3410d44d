#!/usr/bin/env python3
"""Privileges given up: what /proc/PID/status says of every thread in each phase, what is refused, what still works."""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jvm
import shell
from shell import check



def status_field(name):
    return re.search(r"^%s:\s*(\w+)" % name, pathlib.Path("/proc/self/status").read_text(), re.M).group(1)


CAP = {"DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "SETPCAP": 8, "SYS_PTRACE": 19, "SYS_ADMIN": 21,
       "SYS_NICE": 23, "SYS_RESOURCE": 24, "PERFMON": 38, "CHECKPOINT_RESTORE": 40}
MAY_KEEP = sum(1 << CAP[c] for c in ("DAC_READ_SEARCH", "SYS_PTRACE", "PERFMON", "CHECKPOINT_RESTORE"))
# Real-time priority for reading stacks: by a resource limit where it can be raised.
if not int(status_field("CapEff"), 16) >> CAP["SYS_RESOURCE"] & 1:
    MAY_KEEP |= 1 << CAP["SYS_NICE"]
REFUSED = ("execve", "execveat", "x32-execve", "ptrace", "process_vm_writev", "mount", "unshare", "socket",
           "setuid", "init_module", "io_uring_setup")
EPERM = 1


def status(path):
    """The fields of a status file; None when the thread is gone."""
    try:
        text = pathlib.Path(path).read_text()
    except OSError:
        return None
    f = dict(re.findall(r"^(\w+):\s*(\S+)", text, re.M))
    return {"eff": int(f["CapEff"], 16), "prm": int(f["CapPrm"], 16), "bnd": int(f["CapBnd"], 16),
            "inh": int(f["CapInh"], 16), "amb": int(f["CapAmb"], 16), "nnp": int(f["NoNewPrivs"]),
            "seccomp": int(f["Seccomp"])}


def threads(pid):
    try:
        tids = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return []
    return [s for s in (status("/proc/%d/task/%s/status" % (pid, t)) for t in tids) if s]


def is_dropped(s, may_keep, was_root):
    return (s["nnp"] == 1 and s["seccomp"] == 2 and not s["eff"] & ~may_keep and not s["prm"] & ~may_keep and
            s["inh"] == 0 and s["amb"] == 0 and (s["bnd"] == 0 or not was_root))


def probe(pid):
    binary = str(jvm.build_dir() / "tests/integration/privs_probe")
    p = subprocess.Popen([binary, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    results = {}
    for line in p.stdout:
        if line.strip() == "done":
            break
        name, number = line.split()
        results.setdefault(name, []).append(int(number))
    all_threads = threads(p.pid)
    p.stdin.close()
    p.wait()
    root = os.geteuid() == 0
    for name in REFUSED:
        check("refused in both threads: " + name, results.get(name) == [EPERM, EPERM], results.get(name))
    check("files can be opened", results.get("open") == [0, 0], results)
    check("the target's memory and maps can be read", results.get("open-mem") == [0] and
          results.get("read-maps") == [0], results)
    check("status of the probe", all_threads and all(is_dropped(s, MAY_KEEP, root) for s in all_threads),
          all_threads)


def child_threads(pid):
    """list and doctor look at a process in a child: that is what parses."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            return [s for child in f.read().split() for s in threads(int(child))]
    except OSError:
        return []


def follow(args, wrap=lambda a: a, samples=None, look=threads, thread="jsampler-drain"):
    """Runs jsampler; (Popen, every state its threads were seen in, in order): to its end, or with the PID that it
    samples, till its thread of that name has run for a second and that process for half a second of CPU time."""
    p = subprocess.Popen(wrap([shell.JS, *map(str, args)]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
    seen, until = [], time.monotonic() + jvm.PATIENCE
    while time.monotonic() < until and p.poll() is None:
        seen.append(look(p.pid))
        if samples and thread + "\n" in jvm.texts_of(p.pid, "comm"):
            jvm.burn(samples, 0.5)
            samples, until = None, time.monotonic() + 1
    return p, [s for s in seen if s]


def phases(what, seen, may_keep, was_root):
    """First with privileges, then all threads without, and never back."""
    dropped = [all(is_dropped(s, may_keep, was_root) for s in at) for at in seen]
    check(what + ": all threads without privileges while sampling", dropped and dropped[-1], seen[-1:])
    first = dropped.index(True) if True in dropped else len(dropped)
    check(what + ": never back", all(dropped[first:]))
    check(what + ": several threads were seen", max(map(len, seen)) > 1, max(map(len, seen)))
    if was_root:
        check(what + ": none is kept to read with", all(s["eff"] == 0 and s["prm"] == 0 for s in seen[-1]), seen[-1])


def as_root(target):
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        private = pathlib.Path(tmp, "private")
        private.mkdir(0o700)
        os.chown(private, shell.NOBODY, shell.NOBODY)
        out = private / "out.folded"
        p, seen = follow(["-p", target.pid, "-F", 499, "-o", out], samples=target.pid)
        phases("root, another user's JVM and directory", seen, MAY_KEEP | 1 << CAP["DAC_OVERRIDE"], True)
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=jvm.PATIENCE)
        check("it was written", p.returncode == 0 and out.exists(), err)
        text = out.read_text() if out.exists() else ""
        check("Java frames are named", "Busy.compute" in text and "Busy.read" in text, text[:2000])
        kptr = pathlib.Path("/proc/sys/kernel/kptr_restrict").read_text().strip()
        if kptr == "0":
            check("kernel functions are named", re.search(r"read\w*_\[k\]", text), text[:2000])

        p, seen = follow(["-p", target.pid, "-F", 499, "-o", tmp + "/out.folded"], samples=target.pid)
        if os.stat(tmp).st_uid == 0:
            check("no CAP_DAC_OVERRIDE for a directory of one's own",
                  not seen[-1][0]["prm"] >> CAP["DAC_OVERRIDE"] & 1, seen[-1][0])
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=jvm.PATIENCE)
        check("... and it was written too", p.returncode == 0 and os.path.getsize(tmp + "/out.folded") > 0)

        p, seen = follow(["snapshot", "-p", target.pid, "-n", 100000, "-o", tmp + "/out.recording"], samples=target.pid)
        phases("root, a snapshot", seen, MAY_KEEP | 1 << CAP["DAC_OVERRIDE"], True)
        p.kill()
        p.communicate(timeout=jvm.PATIENCE)


def suspending(target):
    """Threads are stopped by another process, so that what parses holds no more than it does with perf events."""
    for options in (["-e", "wall", "-i", "5ms"], ["--engine", "suspend", "-i", "2ms"]):
        p, seen = follow(["-p", target.pid, *options, "-f", "folded", "-o", "-"], samples=target.pid, thread="jsampler-frozen")
        phases("root, " + " ".join(options), seen, MAY_KEEP, True)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=jvm.PATIENCE)
        check("Java frames are named", p.returncode == 0 and "Busy.compute" in out, err)


def as_nobody(target):
    p, seen = follow(["-p", target.pid, "-F", 499], wrap=shell.nobody, samples=target.pid)
    # The first states are those of setpriv itself, which is root.
    phases("nobody, nobody's JVM", seen, 0, False)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=jvm.PATIENCE)
    check("folded stacks on stdout", p.returncode == 0 and "Busy.compute" in out, err)


def saved_profiles():
    """Commands that parse files of others wait for their first byte without privileges."""
    for args in (["convert", "-", "-f", "folded", "-o", "-"], ["report", "-"], ["diff", "-", "/dev/null"]):
        p = subprocess.Popen([shell.JS, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
        until, dropped, last = time.monotonic() + jvm.PATIENCE, False, None
        while time.monotonic() < until and not dropped:
            last = threads(p.pid)
            dropped = bool(last) and all(is_dropped(s, 1 << CAP["DAC_OVERRIDE"], os.geteuid() == 0) for s in last)
            time.sleep(0.02)
        limits = pathlib.Path("/proc/%d/limits" % p.pid).read_text()
        out, err = p.communicate(input="a;b 3\n", timeout=jvm.PATIENCE)
        check(args[0] + ": with a limit of memory", re.search(r"^Max data size +\d+ +\d+ ", limits, re.M), limits)
        check(args[0] + ": without privileges before it reads", dropped, (last, err))
        check(args[0] + ": does its work", args[0] == "diff" or (p.returncode == 0 and "b" in out), (out, err))


def other_commands(target):
    for args in (["list"], ["doctor", "-p", target.pid]):
        # They are quick: one that ended between two looks is no proof of anything.
        for _ in range(50):
            p, seen = follow(args, look=child_threads)
            p.communicate(timeout=jvm.PATIENCE)
            dropped = any(at and all(is_dropped(s, 0, True) for s in at) for at in seen)
            if dropped:
                break
        check("%s parses without any privilege" % args[0], dropped, seen[-1:])


def dumps_core(argv, cwd, wait):
    """Whether a process that SIGQUIT ends dumps a core. wait(process): until it may be sent."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    wait(p)
    p.send_signal(signal.SIGQUIT)
    _, status, _ = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return os.WCOREDUMP(status)


def cores(target):
    """What was read of another user's memory does not come to lie in a file, or in a program that collects cores."""
    with tempfile.TemporaryDirectory() as tmp:
        if not dumps_core(["sleep", "60"], tmp, lambda p: time.sleep(0.2)):
            print("skip: core files (none are made here)")
            return
        record = [shell.JS, "-p", str(target.pid), "-f", "folded", "-o", "/dev/null"]
        check("no core of jsampler", not dumps_core(record, tmp, lambda p: jvm.wait_until(
            lambda: "jsampler-drain\n" in jvm.texts_of(p.pid, "comm"))))
        for f in os.listdir(tmp):
            os.unlink(os.path.join(tmp, f))
        subprocess.run([shell.JS, "-f", "folded", "-o", "/dev/null", "--", "sh", "-c", "sleep 0.3; kill -QUIT $$"],
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp, timeout=jvm.PATIENCE, check=False,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if pattern[0] not in "|/":
            check("... but of a command that it starts", len(os.listdir(tmp)) == 1, os.listdir(tmp))


# Has a libjvm.so mapped, and is another program after SIGUSR1.
TURNCOAT = """import mmap, os, signal, sys
def other(*_): os.execv("/bin/sh", ["sh", "-c", "while :; do :; done"])
signal.signal(signal.SIGUSR1, other)
with open(sys.argv[1], "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
while True:
    pass"""


def only_jvm():
    """What was a JVM when sudo's helper looked, and no longer is, is not profiled; nor on, once it calls execve."""
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        library = pathlib.Path(tmp, "libjvm.so")
        library.write_bytes(bytes(4096))
        helper = pathlib.Path(shutil.copy(jvm.ROOT / "packaging/group/jsampler-jvm", tmp))
        program = pathlib.Path(tmp, "jsampler")
        for what, turns, status in (("before the recording", "kill -USR1 $pid; until grep -q sh /proc/$pid/comm; do :; done", 1),
                                    ("during the recording", "(sleep 1; kill -USR1 $pid) >/dev/null 2>&1 &", 0)):
            program.write_text('#!/bin/sh\nfor pid in "$@"; do :; done\n%s\nexec %s "$@"\n' % (turns, shell.JS))
            program.chmod(0o755)
            target = subprocess.Popen(shell.nobody([sys.executable, "-I", "-S", "-c", TURNCOAT, str(library)]),
                                      preexec_fn=jvm.die_with_parent)
            jvm.wait_until(lambda: str(library) in pathlib.Path("/proc/%d/maps" % target.pid).read_text())
            start = time.monotonic()
            p = subprocess.run([str(helper), "-d", "20", str(target.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent)
            check("a target that becomes another program " + what, p.returncode == status and target.poll() is None and
                  time.monotonic() - start < 15 and (p.stdout if status == 0 else "is no JVM" in p.stderr and not p.stdout), (p.returncode, p.stdout[-300:], p.stderr))
            target.kill()
            target.wait()


def main():
    jdk = jvm.pick_jdk(None)
    if not shell.can_be_nobody():
        print("skipped: not root, or no setpriv")
        sys.exit(jvm.SKIP)
    with shell.Busy(jdk, wrap=shell.nobody) as target:
        probe(target.pid)
        as_root(target)
        suspending(target)
        as_nobody(target)
        saved_profiles()
        other_commands(target)
        cores(target)
    only_jvm()
    shell.finish()


if __name__ == "__main__":
    main()
