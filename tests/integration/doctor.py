#!/usr/bin/env python3
"""jsampler doctor: what it says of a host and of JVMs of several kinds, and that asking does them no harm."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import jvm
import shell
from shell import check

REQUIRED = ["kernel", "container", "capabilities", "seccomp", "closed parsers", "closed tracer", "perf_event_paranoid", "perf_event_mlock_kb",
            "max_sample_rate", "kptr_restrict", "ptrace_scope", "open files", "locked memory", "priority", "perf events", "eBPF", "daemon"]


def too_few_stacks(text):
    """The target got no time for 200 samples in the five seconds that doctor takes, or three of 200 were incomplete."""
    try:
        stacks = {c["check"]: c for c in json.loads(text)["checks"]}.get("stacks", {})
    except ValueError:
        return False
    return stacks.get("level") == "warn" or (stacks.get("level") == "ok" and
                                             "tried: 200 sampled" not in stacks["text"])


def doctor(args=(), status=None, what="", **kw):
    """{check: its object} of the JSON form; the exit status must agree with the levels."""
    for _ in range(jvm.TRIES):
        p = shell.run(["doctor", "-f", "json", *args], **kw)
        if not too_few_stacks(p.stdout):
            break
    try:
        out = json.loads(p.stdout)
    except ValueError:
        check("%s: valid JSON" % what, False, p.stdout + p.stderr)
        return {}
    checks = {c["check"]: c for c in out["checks"]}
    fails = [c for c in out["checks"] if c["level"] == "fail"]
    check("%s: exit status says whether something is missing" % what, p.returncode == (1 if fails else 0) and
          out["works"] is not bool(fails) and (status is None or p.returncode == status) and not p.stderr,
          (p.returncode, fails, p.stderr))
    check("%s: each thing missing has its remedy" % what,
          all(c["remedy"] for c in out["checks"] if c["level"] in ("fail", "warn")), fails)
    return checks


def level(checks, name):
    return checks.get(name, {}).get("level")


def host():
    checks = doctor(what="host")
    check("host: every check is there, in order", list(checks) == REQUIRED, list(checks))
    check("host: perf events were tried", "samples with stack" in checks["perf events"]["text"] or
          level(checks, "perf events") == "fail", checks["perf events"])
    p = shell.run(["doctor"])
    check("host: text, 80 columns, a line each", shell.widest(p.stdout) <= 80 and
          all(any(l[6:].startswith(n) for l in p.stdout.splitlines()) for n in REQUIRED), p.stdout)
    p = subprocess.run("%s doctor | head -n 1" % shell.JS, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("host: | head is quiet", not p.stderr, p.stderr)
    if shell.can_be_nobody():
        checks = doctor(what="host, nobody", wrap=shell.nobody)
        check("host, nobody: no capabilities", "none" in checks["capabilities"]["text"] and
              "sudo" in checks["capabilities"]["remedy"], checks["capabilities"])
        checks = doctor(what="host, nobody, no real time", wrap=lambda argv: ["prlimit", "--rtprio=0", *shell.nobody(argv)])
        check("host, nobody, no real time", "no real time" in checks["priority"]["text"], checks["priority"])


def usage():
    for args, pattern in ((["-p", "x"], "not a PID"), (["-p", "1", "-p", "2"], "one process"), (["-f", "xml"], "json"),
                          (["--bogus"], "--bogus"), (["-p"], "needs an argument"), (["-p", "0"], "not a PID")):
        p = shell.run(["doctor", *args])
        check("doctor %s" % " ".join(args), p.returncode == 2 and pattern in p.stderr and
              p.stderr.count("\n") == 1 and not p.stdout, p.stderr)
    p = shell.run(["doctor", "no.such.Main"])
    check("doctor NAME that is none", p.returncode == 1 and "no.such.Main" in p.stderr, p.stderr)


def others():
    dead = subprocess.Popen(["true"])
    dead.wait()
    checks = doctor(["-p", dead.pid], 1, "no such process")
    check("no such process", level(checks, "process") == "fail", checks.get("process"))
    idle = subprocess.Popen(["sleep", "1000"], preexec_fn=jvm.die_with_parent)
    try:
        checks = doctor(["-p", idle.pid], 0, "not a JVM")
        check("not a JVM", level(checks, "JDK") == "skip" and level(checks, "stacks") == "skip" and
              "thread dump" not in checks, checks)
    finally:
        idle.kill()
        idle.wait()


def traces_of_attach(pid):
    root = pathlib.Path("/proc/%d/root/tmp" % pid)
    cwd = pathlib.Path("/proc/%d/cwd" % pid)
    return [p.name for p in [*root.glob(".attach_pid%d" % pid), *cwd.glob(".attach_pid%d" % pid)]]


def has_socket(pid):
    return pathlib.Path("/proc/%d/root/tmp/.java_pid%d" % (pid, pid)).exists()


def unharmed(what, target):
    """It runs on, printed nothing, and nothing is left behind."""
    check(what + ": the JVM runs on", target.proc.poll() is None, target.proc.poll())
    check(what + ": no trigger file is left", not traces_of_attach(target.pid))
    target.proc.stdin.close()
    rest = target.proc.stdout.read()
    check(what + ": it printed nothing", not rest and not target.buffer, (target.buffer + rest)[:500])
    check(what + ": and it ended as it should", target.proc.wait(jvm.PATIENCE) == 0, target.proc.returncode)


def busy(jdk, wrap, user):
    what = "JDK %d of %s" % (jdk.major, user)
    with shell.Busy(jdk, wrap=wrap) as target:
        checks = doctor(["-p", target.pid], 0, what)
        bad = [c for c in checks.values() if c["level"] in ("warn", "fail", "skip")]
        check(what + ": all well", not [c for c in bad if c["check"] in (
            "access", "its perf events", "JDK", "tables", "debug records", "attach", "stacks", "thread dump")], bad)
        check(what + ": release", checks["JDK"]["text"].startswith("HotSpot %d" % jdk.major), checks["JDK"])
        check(what + ": 200 stacks", "tried: 200 sampled" in checks["stacks"]["text"] and
              " 0 with Java" not in checks["stacks"]["text"], checks["stacks"])
        for name in ("closed parsers", "closed child"):
            uid = re.search(r" uid (\d+), CapEff 0, NoNewPrivs 1, Seccomp 2", checks[name]["text"])
            check("%s: %s" % (what, name), level(checks, name) == "ok" and uid and
                  (int(uid.group(1)) == os.geteuid()) == (os.geteuid() != 0), checks.get(name))
        check(what + ": main class", checks["main class"]["text"] == "Busy", checks.get("main class"))
        n = int(checks["thread dump"]["text"].split()[1]) if level(checks, "thread dump") == "ok" else 0
        check(what + ": waiting threads compared", n >= 4, checks["thread dump"])
        again = doctor(["-p", target.pid], 0, what + ", again")
        check(what + ", again: the listener is there", level(again, "thread dump") == "ok", again["thread dump"])
        unharmed(what, target)


def flags(jdk, what, options, expected, args=(), socket=None):
    with shell.Busy(jdk, flags=options) as target:
        checks = doctor(["-p", target.pid, *args], 0, what)
        for name, wanted in expected.items():
            check("%s: %s is %s" % (what, name, wanted), level(checks, name) == wanted, checks.get(name))
        if socket is not None:
            check("%s: %s attach socket" % (what, "an" if socket else "no"), has_socket(target.pid) == socket)
        unharmed(what, target)


def stopped(jdk):
    """A stopped JVM is not asked for its dump: it would answer when the trigger file is gone."""
    with shell.Busy(jdk) as target:
        os.kill(target.pid, signal.SIGSTOP)
        checks = doctor(["-p", target.pid], 0, "stopped")
        check("stopped: no dump", level(checks, "thread dump") == "skip", checks.get("thread dump"))
        os.kill(target.pid, signal.SIGCONT)
        unharmed("stopped", target)


def namespaces(jdk):
    """A JVM with its own PIDs, mounts, network and /tmp, as in a container."""
    script = "mount -t tmpfs none /tmp && exec \"$@\""
    wrap = lambda a: ["unshare", "-p", "-f", "-m", "-n", "--mount-proc", "sh", "-c", script, "sh", *a]
    if os.geteuid() != 0 or subprocess.run(wrap(["true"]), stderr=subprocess.DEVNULL).returncode:
        print("skip: no namespaces can be made here")
        return
    with shell.Busy(jdk, wrap=wrap) as target:
        pid = int(pathlib.Path("/proc/%d/task/%d/children" % (target.pid, target.pid)).read_text().split()[0])
        checks = doctor(["-p", pid], 0, "namespaces")
        check("namespaces: named", "pid, mnt, net; PID 1 inside" in checks["namespaces"]["text"], checks["namespaces"])
        check("namespaces: all well", level(checks, "stacks") == "ok" and level(checks, "thread dump") == "ok", checks)
        tmp = pathlib.Path("/proc/%d/root/tmp" % pid)
        check("namespaces: the socket is in its /tmp, no trigger file", (tmp / ".java_pid1").exists() and
              not (tmp / ".attach_pid1").exists() and not os.path.exists("/tmp/.java_pid1"))
        unharmed("namespaces", target)


def foreign(jdk):
    with shell.Busy(jdk) as target:
        checks = doctor(["-p", target.pid], 1, "root's JVM, nobody asks", wrap=shell.nobody)
        check("root's JVM, nobody asks: no access, sudo", level(checks, "access") == "fail" and
              "sudo jsampler -p %d" % target.pid in checks["access"]["remedy"], checks.get("access"))
        unharmed("root's JVM, nobody asks", target)


def hostile_socket(jdk):
    """A socket of the attach listener's name that is somebody else's is not talked to."""
    import socket
    import threading
    with shell.Busy(jdk, args=["idle"]) as target:
        path = "/tmp/.java_pid%d" % target.pid
        s = socket.socket(socket.AF_UNIX)
        s.bind(path)
        s.listen()
        asked = []
        threading.Thread(target=lambda: asked.append(s.accept()[0].recv(64)), daemon=True).start()
        checks = doctor(["-p", target.pid], 0, "a foreign socket")
        check("a foreign socket: nothing was sent to it", not any(asked), asked)
        check("a foreign socket: no dump is made up", level(checks, "thread dump") in ("skip", "ok"),
              checks.get("thread dump"))
        s.close()
        if os.path.exists(path):
            os.unlink(path)


def main():
    jdks = sorted(jvm.find_jdks().values())
    if not jdks:
        sys.exit(jvm.SKIP)
    host()
    usage()
    others()
    for jdk in jdks[:1] + jdks[-1:]:
        busy(jdk, lambda a: a, "this user")
        if shell.can_be_nobody():
            busy(jdk, shell.nobody, "nobody")
    jdk = jdks[0]
    flags(jdk, "-Xrs", ["-Xrs"], {"attach": "warn", "thread dump": "ok"}, socket=True)
    flags(jdk, "attach disabled", ["-XX:+DisableAttachMechanism"], {"attach": "warn", "thread dump": "skip"}, socket=False)
    flags(jdk, "--no-attach", [], {"attach": "ok", "thread dump": "skip"}, ["--no-attach"], socket=False)
    flags(jdk, "DebugNonSafepoints", ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"],
          {"debug records": "warn", "stacks": "ok"})
    flags(jdk, "-Xint", ["-Xint"], {"stacks": "ok", "thread dump": "ok"})
    stopped(jdk)
    namespaces(jdk)
    hostile_socket(jdk)
    if shell.can_be_nobody():
        foreign(jdk)
    shell.finish()


if __name__ == "__main__":
    main()
