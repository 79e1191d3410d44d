#!/usr/bin/env python3
"""What is closed where rights are missing: root with what container engines leave to it, without CAP_SYS_PTRACE; and a
/proc that hides other users' processes (hidepid=2); a container's filter that refuses Landlock, or filters.

usage: closed_rights.py
Exit status: 0 it holds, 1 not, 77 not root.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import closed
import environments_common
import jvm
import shell
from shell import check

ENGINES = {"perf": ["-F", "999"], "suspend": ["--engine", "suspend", "-F", "499"], "wall": ["-e", "wall", "-i", "5ms"]}
# Of docker-run(1), "--cap-add".
CONTAINER = ["setpriv", "--inh-caps=-all", "--bounding-set=-all,+" + ",+".join(
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap"
    .split())]
HIDDEN = ["unshare", "-m", "sh", "-ec", 'mount -t proc -o hidepid=2 proc /proc; exec "$@"', "sh"]
SPIN = ["sh", "-c", "while :; do :; done"]


def start(wrap):
    return subprocess.Popen([*wrap, *SPIN], preexec_fn=jvm.die_with_parent)


def stop(*processes):
    for p in processes:
        p.kill()
        p.wait()


def record(wrap, tmp, engine, pid):
    out = pathlib.Path(tmp, engine + ".folded")
    p = subprocess.run([*wrap, shell.JS, "record", "-v", *ENGINES[engine], "-d", "0.4", "-o", str(out), "-p", str(pid)],
                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE,
                       preexec_fn=jvm.die_with_parent)
    return p, out.read_text() if out.exists() else ""


def without_ptrace():
    """It may sample who has no more than itself, and then keeps what that takes; of others it says what is missing."""
    same, user = start(CONTAINER), start(closed.as_user([]))
    try:
        with tempfile.TemporaryDirectory() as tmp:
            for engine in ENGINES:
                p, text = record(CONTAINER, tmp, engine, same.pid)
                said = "keeps root's ids and capabilities" in p.stderr
                check("no CAP_SYS_PTRACE, %s: an equal is sampled, its files are opened" % engine, p.returncode == 0 and
                      "dash" in text and "cannot open '/usr" not in p.stderr and said == (engine != "perf"), p.stderr)
                p, _ = record(CONTAINER, tmp, engine, user.pid)
                check("no CAP_SYS_PTRACE, %s: another user's is refused" % engine, p.returncode == 1 and
                      re.search("lacks CAP_SYS_PTRACE; run it as that user, or on the host", p.stderr), p.stderr)
        p = subprocess.run([*CONTAINER, shell.JS, "doctor", "-f", "json"], stdout=subprocess.PIPE, text=True)
        checks = {c["check"]: c for c in json.loads(p.stdout)["checks"]}
        check("no CAP_SYS_PTRACE: doctor", checks["closed parsers"]["level"] == "ok" and checks["closed tracer"]["level"] == "warn" and
              "--cap-add SYS_PTRACE" in checks["closed tracer"]["remedy"], checks)
    finally:
        stop(same, user)


def attaching_without_ptrace():
    """A JVM that has no more is attached to, for the bridge and for doctor's thread dump."""
    jdk = sorted(jvm.find_jdks().values())[-1]
    with tempfile.TemporaryDirectory() as tmp:
        target = shell.Busy(jdk, wrap=lambda a: [*CONTAINER, *a])
        try:
            p = subprocess.run([*CONTAINER, shell.JS, "record", "-v", "--bridge", "on", "-F", "199", "-d", "1", "-o", tmp + "/x.folded",
                                "-p", str(target.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent)
            maps = pathlib.Path("/proc/%d/maps" % target.pid).read_text()
            check("no CAP_SYS_PTRACE: an equal JVM loads the bridge", p.returncode == 0 and "libjsampler-bridge" in maps, p.stderr)
            p = subprocess.run([*CONTAINER, shell.JS, "doctor", "-f", "json", "-p", str(target.pid)], stdout=subprocess.PIPE, text=True)
            dump = {c["check"]: c for c in json.loads(p.stdout)["checks"]}["thread dump"]
            check("no CAP_SYS_PTRACE: doctor compares with an equal JVM's dump", dump["level"] == "ok", dump)
        finally:
            target.stop()


def hidden(target, engine):
    """As root: who parses, and who stops threads, have ids that see no process in /proc."""
    with tempfile.TemporaryDirectory() as tmp:
        p = subprocess.Popen([*HIDDEN, shell.JS, "record", *ENGINES[engine], "-d", "20", "-f", "folded", "-o", tmp + "/x", "-p",
                              str(target.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             preexec_fn=jvm.die_with_parent)
        seen = jvm.wait_until(lambda: closed.is_closed(closed.fields(p.pid), shell.NOBODY) and
                              (engine == "perf" or closed.is_tracer(p.pid, target.pid, "root")))
        check("hidepid=2, %s: closed" % engine, seen, [closed.fields(d) for d in closed.descendants(p.pid)])
        closed.time.sleep(0.3)
        p.terminate()
        err = p.communicate(timeout=jvm.PATIENCE)[1]
        text = pathlib.Path(tmp, "x").read_text() if pathlib.Path(tmp, "x").exists() else ""
        check("hidepid=2, %s: samples have names" % engine, p.returncode == 0 and "dash" in text and "cannot" not in err, err)


def hidepid():
    target = start(closed.as_user([]))
    try:
        for engine in ENGINES:
            hidden(target, engine)
        p = subprocess.run([*HIDDEN, *closed.as_user([shell.JS, "doctor", "-f", "json", "-p", str(target.pid)])], text=True,
                           stdout=subprocess.PIPE)
        checks = {c["check"]: c for c in json.loads(p.stdout)["checks"]}
        check("hidepid=2: doctor shows a user what is closed", all(checks[c]["level"] == "ok" for c in (
            "closed parsers", "closed tracer")), checks)
    finally:
        stop(target)


REFUSE = str(environments_common.native("refuse"))
NO_LANDLOCK, NO_FILTER = "no Landlock here", "without a filter of system calls"
# What a container's filter answers, and what is said.
REFUSED = {"landlock_create_ruleset=EPERM": NO_LANDLOCK, "landlock_create_ruleset=ENOSYS": NO_LANDLOCK, "seccomp=EPERM": NO_FILTER,
           "seccomp=ENOSYS": NO_FILTER}


def parent_is_killed():
    """A user's command whose parent, the broker, is killed: the recording ends as others, and says that it cannot know the exit status."""
    with tempfile.TemporaryDirectory() as tmp:
        p, broker, command = closed.start_command(tmp, "wall --", 2)
        jvm.wait_until(lambda: closed.is_tracer(p.pid, command, "user")) # it is going to sample
        os.kill(broker, signal.SIGKILL)
        err = p.communicate(timeout=jvm.PATIENCE)[1]
        check("the parent of a command is killed", p.returncode == 127 and "exit status of 'sh' is not known" in err, (p.returncode, err))


def refused_from_outside():
    """It works, and what is missing is said: of a filter always, of Landlock with -v, and of both by doctor."""
    target = start(closed.as_user([]))
    try:
        for rule, said in REFUSED.items():
            for engine in ("perf", "wall"):
                for user, wrap in (("root", []), ("user", closed.as_user([]))):
                    with tempfile.TemporaryDirectory() as tmp:
                        shell.os.chmod(tmp, 0o777)
                        p, text = record([*wrap, REFUSE, rule, "--"], tmp, engine, target.pid)
                    check("%s, %s, %s: samples, and it is said" % (rule, user, engine), p.returncode == 0 and "dash" in text and
                          said in p.stderr and p.stderr.count(NO_FILTER) == (2 if said == NO_FILTER else 0), p.stderr) # and in the summary
            p = shell.run(["report", closed.SAVED[0]], wrap=lambda a: [REFUSE, rule, "--", *a])
            check("%s: report" % rule, p.returncode == 0 and "Truth" in p.stdout and (said == NO_FILTER) == (NO_FILTER in p.stderr),
                  p.stderr)
            p = shell.run(["doctor", "-f", "json"], wrap=lambda a: [REFUSE, rule, "--", *a])
            checks = {c["check"]: c for c in json.loads(p.stdout)["checks"]}
            check("%s: doctor" % rule, checks["closed parsers"]["level"] == ("ok" if said == NO_LANDLOCK else "warn") and
                  ("Landlock" if said == NO_LANDLOCK else "filter") in str(checks["closed parsers"]), checks["closed parsers"])
        # By seccomp(2) the parsers have their filter all the same; the broker, which parses nothing, then has none.
        with tempfile.TemporaryDirectory() as tmp:
            p, text = record([REFUSE, "PR_SET_SECCOMP=EPERM", "--"], tmp, "perf", target.pid)
        check("PR_SET_SECCOMP=EPERM: samples, with a filter", p.returncode == 0 and "dash" in text and NO_FILTER not in p.stderr,
              p.stderr)
        with tempfile.TemporaryDirectory() as tmp:
            p, text = record([REFUSE, "PR_SET_SECCOMP=EPERM", "seccomp=EPERM", "--"], tmp, "perf", target.pid)
        check("all filters refused: samples, and it is said", p.returncode == 0 and "dash" in text and NO_FILTER in p.stderr, p.stderr)
    finally:
        stop(target)


def main():
    if not shell.can_be_nobody():
        print("skipped: not root, or no setpriv")
        sys.exit(jvm.SKIP)
    without_ptrace()
    if jvm.find_jdks():
        attaching_without_ptrace()
    hidepid()
    parent_is_killed()
    refused_from_outside()
    shell.finish()


if __name__ == "__main__":
    main()
