#!/usr/bin/env python3
"""stacks=signal: stacks from where the CPU is used, and nothing that the program would notice. With tests/jvmpi/stacks.c.

usage: bridge_stacks.py [--jdk 17] [--case NAME]
"""

import os
import re
import subprocess
import sys

import bridge
import jvm
from bridge_edges import written

SIGNAL = "stacks=signal,"
QUOTED = "jsampler-bridge: stacks=signal: "


def said(java):
    return [l[len(QUOTED):] for l in java.errors().splitlines() if l.startswith(QUOTED)]


def agent_says(jdk, tmp, what, wanted, words=None, flags=()):
    """The agent's words, and those of the bridge on stderr (None: none)."""
    path = os.path.join(tmp, what)
    with bridge.Java(jdk, tmp, [*flags, bridge.hosted(bridge.agent("stacks"), "%s %s" % (what, path), SIGNAL)]) as java:
        java.wait_for("ready")
        status = java.end()
        lines = said(java)
    bad = [] if written(path) == wanted and not status else ["exit status %d: %s" % (status, written(path))]
    if [words] * bool(words) != [words for l in lines if words and words in l] or bool(lines) != bool(words):
        bad.append("the bridge said %s" % lines)
    return bad


def calls(jdk, tmp):
    """System calls that SA_RESTART does not restart are not interrupted."""
    return agent_says(jdk, tmp, "calls", "interrupted 0, made 1, shown 1")


def handler(jdk, tmp):
    """A program that takes SIGURG later has it for itself from the next suspension on."""
    return agent_says(jdk, tmp, "handler", "before 1, then 0, has run 1", "handles SIGURG itself now")


def closed(jdk, tmp):
    """What the program opens in the place of a clock that it closed is not touched."""
    return agent_says(jdk, tmp, "closed", "opened 1, lost 0")


def hot(jdk, tmp, more):
    """(share of samples in Hot.counted, share of those without a stack of it, the bridge's words)"""
    out = os.path.join(tmp, "out.txt")
    argv = [str(jdk.home / "bin/java"), "-XX:+UseSerialGC", "-XX:-UseOnStackReplacement",
            bridge.hosted("hprof", "cpu=samples,interval=2,cutoff=0,depth=8,file=" + out, more + bridge.NO_METHODS),
            "-cp", str(jvm.compile_java(jdk, "hprof")), "Hot", "2"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bridge.DONE)
    text = open(out).read()
    rows = re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) 3\d{5} (\S+)$", text, re.M)
    total = sum(int(n) for n, name in rows if name.startswith("Hot."))
    counted = sum(int(n) for n, name in rows if name == "Hot.counted")
    return total, counted / max(1, total), [name for _, name in rows], done


def place(jdk, tmp):
    """Time is billed where it is spent, in a loop without a safepoint; a thread that sleeps has not run."""
    total, share, names, done = hot(jdk, tmp, SIGNAL)
    bad = [] if done.returncode == 0 and QUOTED not in done.stdout else ["status %d: %s" % (done.returncode, done.stdout[-500:])]
    if total < 10 or share < 0.95:
        bad.append("%.3f of %d samples in the loop" % (share, total))
    return bad + ["a sleeping thread has run"] * ("java.lang.Thread.sleep" in names)


def refused(jdk, tmp):
    """The option is one of two."""
    with bridge.Java(jdk, tmp, ["-agentpath:%s=stacks=x" % bridge.BRIDGE]) as java:
        status = java.proc.wait(bridge.DONE)
        text = java.errors()
    return [] if status and "unknown option 'stacks=x'" in text else ["status %d: %s" % (status, text)]


if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, (calls, handler, closed, place, refused)))
