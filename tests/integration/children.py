#!/usr/bin/env python3
"""Processes that a target starts.

java:   launchers that do not exec, one below another, a daemon: the JVM is sampled from its start, with names and complete
        stacks, below a root frame of its own, and its samples add up to the CPU time that it used. As root and as another user.
attach: -p with and without --children; --no-children; what is said when nothing was sampled.
many:   a thousand children that end at once, more at a time than are followed, children of 100 ms: what is not sampled is said.
rights: a child that becomes another user's by a set-user-ID program is left alone.

usage: children.py [--jdk 17] java|attach|many|rights
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import jvm
from environments_common import native

FREQUENCY = 499
COMPLETE = 0.995 if jvm.STRICT else 0.95
CPU = 0.03 if jvm.STRICT else 0.10 # of a child's CPU time, besides what chance gives
LAST = 0.05 # seconds of a process that its account may lack: what it used between the last reading and its end
TICK = 0.01 # the kernel tells user time from its own by what a thread does at each tick; the longest that there are
NOBODY = 65534

failed = []


def check(what, ok, detail=""):
    print("%s: %s%s" % ("ok" if ok else "FAILED", what, "" if ok else "\n" + str(detail)))
    if not ok:
        failed.append(what)


def run(*argv, user=None, timeout=jvm.PATIENCE):
    """jsampler argv; a Recording."""
    prefix = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"] if user else []
    with tempfile.TemporaryDirectory(prefix="jsampler-kids-") as tmp:
        os.chmod(tmp, 0o777)
        out = os.path.join(tmp, "out.folded")
        program = jvm.public(pathlib.Path(jvm.jsampler_path())) if user else jvm.jsampler_path()
        p = subprocess.run([*prefix, program, "-v", "-F", str(FREQUENCY), "-o", out, *map(str, argv)], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, cwd=tmp,
                           preexec_fn=jvm.die_with_parent)
        folded = []
        if os.path.exists(out):
            with open(out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
                folded = list(jvm.parse_folded(f))
        return jvm.Recording(p.returncode, folded, p.stderr.decode(errors="replace"))


def can_be_nobody():
    return os.getuid() == 0 and jvm.may_sample()


def count(folded, wanted=lambda frames: True):
    return sum(n for frames, n in folded if wanted(frames))


def root_of(comm):
    return lambda frames: re.match(r"\[%s pid=\d+\]$" % re.escape(comm), frames[0])


def near(samples, seconds, period=1 / FREQUENCY):
    due = seconds / period
    return abs(samples - due) <= CPU * due + 3 * due ** 0.5


def is_sampled(frames):
    return not frames[-1].startswith("[not sampled")


def attached_near(r, samples):
    """A busy machine leaves a program that runs for a second little CPU time: what counts is that all of it is sampled."""
    used = r.fact(r"CPU time of the target ([\d.]+) s", 0)
    return samples > 0 and near(samples, used)


def user_part(what, r, samples, rows, user, system):
    """Without the kernel's part, whose samples are due at random as its ticks are: a sound program is four standard deviations
    off once in 16,000 times. What has no sample is not left to chance."""
    used = user + system
    deviation = (user * system / used * (1 / FREQUENCY + TICK)) ** 0.5
    check(what + ": %.3f s sampled of %.3f outside of the kernel" % (samples / FREQUENCY, user),
          abs(samples / FREQUENCY - user) <= CPU * user + 4 * deviation, r.messages)
    shown = (samples + rows) / FREQUENCY
    check(what + ": %.3f s shown of %.3f" % (shown, used), abs(shown - used) <= CPU * used + LAST, r.messages)
    check(what + ": what was used in the kernel is called that",
          any(f[-1] == "[not sampled: kernel]" for f, _ in r.folded if root_of("java")(f)), r.messages)


def sampled_java(what, r, user, system):
    rows = count(r.folded, lambda f: root_of("java")(f) and not is_sampled(f))
    of_java = [(frames, n) for frames, n in r.folded if root_of("java")(frames) and is_sampled(frames)]
    everything = count(of_java)
    complete = count(of_java, jvm.is_complete)
    check(what + ": the JVM has samples of its own", everything > 0, r.messages)
    if not everything:
        return
    check(what + ": its method is named", count(of_java, lambda f: any("Children.work" in x for x in f)) > everything / 4,
          of_java[:5])
    check(what + ": its start is sampled", any("create_vm" in x for f, _ in of_java for x in f), r.messages)
    check(what + ": %.2f %% complete" % (100 * complete / everything), complete >= COMPLETE * everything, r.messages)
    if "kernel frames are not permitted" in r.messages:
        user_part(what, r, everything, rows, user, system)
    else:
        used = user + system
        check(what + ": %.3f s sampled of %.3f" % (everything / FREQUENCY, used), near(everything, used), r.messages)


def cpu_of_children(path):
    """What a shell's `times` wrote: CPU seconds of the processes that it waited for, outside of the kernel and in it, their
    end included, where the kernel takes a heap of gigabytes apart."""
    text = open(path).read() if os.path.exists(path) else ""
    parts = [int(minutes) * 60 + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", text)]
    return tuple(parts[2:4]) if len(parts) >= 4 else (0, 0)


def java(jdk):
    classes = jvm.public(jvm.compile_java(jdk, "children"))
    program = jdk.home / "bin/java"
    users = [None] + ([NOBODY] if can_be_nobody() else [])
    for user in users:
        name = "JDK %d, %s" % (jdk.major, user or "own user")
        with tempfile.TemporaryDirectory(prefix="jsampler-kids-") as tmp:
            os.chmod(tmp, 0o777)
            cpu = os.path.join(tmp, "cpu")
            work = "%s -cp %s Children 1500; times >%s" % (program, classes, cpu)
            launchers = {"a launcher that does not exec": ["sh", "-c", work],
                         "two of them": ["sh", "-c", "sh -c '%s'; true" % work],
                         "a daemon": ["sh", "-c", "(setsid sh -c '%s' &) ; true" % work]}
            for what, argv in launchers.items():
                if os.path.exists(cpu):
                    os.unlink(cpu)
                r = run("--", *argv, user=user)
                check("%s, %s: exit status" % (name, what), r.status == 0, r.messages)
                used = cpu_of_children(cpu)
                check("%s, %s: it ended by itself" % (name, what), sum(used) > 1, r.messages)
                sampled_java("%s, %s" % (name, what), r, *used)
            r = run("--", program, "-cp", classes, "Children", "300", user=user)
            check(name + ", a command without children: no root frame", r.status == 0 and r.folded and
                  not any(" pid=" in f[0] for f, _ in r.folded), r.folded[:3])


def used_before(program):
    """Events on threads, another user: what a child used before sampling began is not said to be missing."""
    p = subprocess.Popen(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "sh", "-c",
                          "%s burn 60; true" % program], start_new_session=True)
    try:
        jvm.wait_until(lambda: jvm.cpu_seconds(pid_of_child(p.pid)) > 1)
        r = run("-p", p.pid, "-d", "1", "--children", user=NOBODY)
        missing = sum(float(x) for x in re.findall(r"not sampled: [\d.]+ s \(([\d.]+) % of the CPU time", r.messages))
        check("--children, another user: %.1f %% missing" % missing, r.folded and missing < 30, r.messages)
    finally:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()


def pid_of_child(pid):
    children = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid))
    jvm.wait_until(lambda: children.read_text().split())
    return int(children.read_text().split()[0])


def attach(_):
    program = native("children")
    if not program:
        sys.exit(jvm.SKIP)
    name = os.path.basename(program)
    burn = "%s burn 1.5; true" % program
    p = subprocess.Popen(["sh", "-c", "sleep 0.5; %s burn 1; true" % program], start_new_session=True,
                         preexec_fn=jvm.die_with_parent)
    r = run("-p", p.pid, "--children")
    p.wait()
    check("--children: one that starts meanwhile", near(count(r.folded, root_of(name)), 1.0), r.messages)
    p = subprocess.Popen(["sh", "-c", "%s burn 60; true" % program], start_new_session=True,
                         preexec_fn=jvm.die_with_parent)
    try:
        pid_of_child(p.pid)
        r = run("-p", p.pid, "-d", "1", "--children")
        check("--children: one that is there already", attached_near(r, count(r.folded, root_of(name))), r.messages)
        r = run("-p", p.pid, "-d", "1")
        check("-p: children are left alone", not r.folded, r.folded)
        check("-p: and it is said", re.search(r"no samples: sh used \d+ ms; its child %s .*was not followed" % name, r.messages),
              r.messages)
    finally:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    if can_be_nobody():
        used_before(program)
    for more in ([], ["--engine", "suspend"]):
        r = run(*more, "--no-children", "--", "sh", "-c", burn)
        what = " ".join(["--no-children"] + more)
        check(what + ": nothing of the child", not count(r.folded, lambda f: "burn" in f), r.folded)
        check(what + ": it is said", re.search(r"its child.* used 1\.[45]\d s and was not followed", r.messages), r.messages)
    check("--no-children: its name", name in run("--no-children", "--", "sh", "-c", burn).messages)
    r = run("--engine", "suspend", "--", "sh", "-c", burn)
    check("--engine suspend: it is said", "was not followed" in r.messages and "suspend" in r.messages, r.messages)
    r = run("--engine", "suspend", "--children", "-p", os.getpid())
    check("--engine suspend --children: refused", r.status == 2 and "--children" in r.messages, r.messages)
    r = run("-d", "2", "--", program, "daemon", "6")
    check("-d ends it, a daemon or not", r.status == 0 and attached_near(r, count(r.folded)), r.messages)
    check("a daemon: it is said that it goes on", "are still running; they are sampled" in r.messages, r.messages)


def many(_):
    program = native("children")
    if not program:
        sys.exit(jvm.SKIP)
    r = run("--", program, "each", "1000", "0")
    seen = r.fact(r"the target, and (\d+) that it started", 0)
    check("1,000 that end at once", r.status == 0, r.messages)
    print("seen %d; %d samples" % (seen, count(r.folded)))
    r = run("--", program, "all", "400", "0.01")
    check("400 at once: it is said how many were not followed", re.search(r"\d+ child processes were not followed", r.messages),
          r.messages)
    unread = r.fact(r"not sampled: (\d+) sample", 0)
    check("400 at once: what has no stack is counted", r.status == 0 and
          count(r.folded) + unread > 100, r.messages)
    r = run("--", program, "each", "40", "0.1")
    unread = r.fact(r"not sampled: (\d+) sample", 0)
    # The target forks, so its children have its name.
    check("40 of 100 ms: %d and %d not sampled" % (count(r.folded), unread), near(count(r.folded) + unread, 4.0), r.messages)
    check("40 of 100 ms: at least 60 % of it has stacks", count(r.folded) > 0.6 * 4 * FREQUENCY, r.messages)
    roots = {f[0] for f, _ in r.folded}
    check("40 of 100 ms: each has a root of its own", len(roots) > 30, roots)


def rights(_):
    program = native("children")
    if not program or not can_be_nobody():
        sys.exit(jvm.SKIP)
    with tempfile.TemporaryDirectory(prefix="jsampler-kids-", dir="/var/tmp") as tmp:
        os.chmod(tmp, 0o755)
        other = os.path.join(tmp, "setuid")
        shutil.copy(program, other)
        os.chmod(other, 0o4755)
        r = run("--", "sh", "-c", "%s burn 1; %s burn 1" % (other, program), user=NOBODY)
        check("a set-user-ID program: nothing of it", r.status == 0 and not count(r.folded, root_of("setuid")), r.messages)
        check("a set-user-ID program: its siblings are sampled", near(count(r.folded, root_of(os.path.basename(program))), 1.0),
              r.messages)
        check("a set-user-ID program: what is missing is said", re.search(r"has no samples|not sampled", r.messages), r.messages)
        r = run("--", "sh", "-c", "%s burn 1; true" % other)
        check("a set-user-ID program, as root: sampled", near(count(r.folded, root_of("setuid")), 1.0), r.messages)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jdk", default="17")
    parser.add_argument("what", choices=("java", "attach", "many", "rights"))
    o = parser.parse_args()
    jdk = jvm.pick_jdk(o.jdk) if o.what == "java" else None
    {"java": java, "attach": attach, "many": many, "rights": rights}[o.what](jdk)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
