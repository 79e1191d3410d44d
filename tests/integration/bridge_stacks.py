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


def rows(jdk, tmp, flags, *program):
    """[(samples, innermost method)] of a program under HPROF, and how it ended."""
    out = os.path.join(tmp, "out.txt")
    argv = [str(jdk.home / "bin/java"), "-XX:+UseSerialGC", "-XX:-UseOnStackReplacement", *flags,
            bridge.hosted("hprof", "cpu=samples,interval=2,cutoff=0,depth=8,file=" + out, SIGNAL + bridge.NO_METHODS),
            "-cp", str(jvm.compile_java(jdk, "hprof")), *program]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bridge.DONE)
    found = re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) 3\d{5} (\S+)$", open(out).read(), re.M)
    bad = [] if done.returncode == 0 and QUOTED not in done.stdout else ["status %d: %s" % (done.returncode, done.stdout[-500:])]
    return [(int(n), name) for n, name in found], bad


def place(jdk, tmp):
    """Time is billed where it is spent, in a loop without a safepoint; a thread that sleeps has not run. Once C2 had inlined the loop,
    which it does after some 5,000 calls, nothing in its code would tell whose it is (docs/jvmpi.md, "Stacks by signals")."""
    found, bad = rows(jdk, tmp, ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Hot::counted"], "Hot", "2")
    total = sum(n for n, name in found if name.startswith("Hot."))
    share = sum(n for n, name in found if name == "Hot.counted") / max(1, total)
    if total < 10 or share < 0.95:
        bad.append("%.3f of %d samples in the loop: %s" % (share, total, found))
    return bad + ["a sleeping thread has run"] * ("java.lang.Thread.sleep" in [name for _, name in found])


def inlined(jdk, tmp):
    """A call of a stub in an inlined loop is not billed to what follows the loop in the code. JDK 8's still is."""
    if jdk.major == 8:
        return []
    found, bad = rows(jdk, tmp, ["-XX:CompileCommand=quiet", "-XX:CompileCommand=inline,Inlined::inlined",
                                 "-XX:CompileCommand=dontinline,Inlined::called"], "Inlined", "2")
    total = sum(n for n, name in found if "CRC32" in name or name.startswith("Inlined."))
    caller = sum(n for n, name in found if name == "Inlined.caller")
    return bad + ["%d of %d samples in the caller" % (caller, total)] * (total < 10 or caller > total / 5)


def carried(jdk, tmp):
    """Of virtual threads each method has its share, and the scheduler's frames are not theirs."""
    if jdk.major < 21:
        return []
    # Compiled from the first call on: interpreted until they are hot, both would begin with equal shares.
    flags = ["-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Carried::*",
             "-XX:CompileCommand=dontinline,Carried::often", "-XX:CompileCommand=dontinline,Carried::rarely"]
    for i in range(jvm.TRIES):  # once more, longer, where a busy machine left time for few samples
        found, bad = rows(jdk, tmp, flags, "Carried", "16", str(300 * 4 ** i))
        often, rarely = (sum(n for n, name in found if name == "Carried." + m) for m in ("often", "rarely"))
        total = often + rarely
        if total >= 20:
            break
    if total < 20 or abs(often - 0.75 * total) > 0.05 * total + 4 * (0.75 * 0.25 * total) ** 0.5:
        bad.append("%d samples in often(), %d in rarely()" % (often, rarely))
    with open(os.path.join(tmp, "out.txt")) as f:
        return bad + ["a carrier's frames"] * bool(re.search(r"\tCarried\.work\(.*\n\tjdk\.internal\.vm\.", f.read()))


def refused(jdk, tmp):
    """The option is one of two."""
    with bridge.Java(jdk, tmp, ["-agentpath:%s=stacks=x" % bridge.BRIDGE]) as java:
        status = java.proc.wait(bridge.DONE)
        text = java.errors()
    return [] if status and "unknown option 'stacks=x'" in text else ["status %d: %s" % (status, text)]


if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, (calls, handler, closed, place, inlined, carried, refused)))
