#!/usr/bin/env python3
"""The bridge at its edges: agents that are loaded into a running JVM, one too many, behind the JVM's end, and beside
another agent that holds what the bridge needs. With tests/jvmpi/edges.c.

usage: bridge_edges.py [--jdk 17] [--case NAME]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import bridge
import jvm
from bridge_stream import answer_of, attach_load

AGENTS_MAX = 8  # jvm-bridge/host/base/bridge.h
FUNCTIONS = 27  # of the interface: all but ProfilerExit
LATE = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
FAILED = 5  # WIRE_ATTACH_JVM, jvm-bridge/stream/wire.h


def edges(what, path, more=""):
    return bridge.hosted(bridge.agent("edges"), "%s %s" % (what, path), more)


def written(path):
    return pathlib.Path(path).read_text() if os.path.exists(path) else "nothing was written"


def said(path, java):
    """What the agent writes, sooner or later."""
    deadline = time.monotonic() + jvm.PATIENCE
    while not os.path.exists(path) or not os.path.getsize(path):
        if java.proc.poll() is not None or time.monotonic() > deadline:
            return "nothing; exit status %s" % java.proc.poll()
        time.sleep(0.01)
    return written(path)


def late(jdk, tmp):
    """Agents that fail are said and harm nobody; the one that works gets the start-up sequence, then what happens."""
    trace, lib = os.path.join(tmp, "trace"), bridge.agent("tracer")
    loads = [("agent=/nowhere/x.so", FAILED, "agent '/nowhere/x.so'"), ("agent=%s" % bridge.BRIDGE, FAILED, "no JVM_OnLoad"),
             ("agent=%s:fail" % lib, FAILED, "JVM_OnLoad returned -1"), ("agent=%s:%s" % (lib, trace), 0, "JVM_OnLoad"),
             ("agent=%s:%s" % (lib, trace), 0, "is already loaded")]
    bad = []
    with bridge.Java(jdk, tmp, LATE, ("Jvmpi", "flood", "1")) as java:
        java.wait_for("ready")
        for options, wanted, word in loads:
            got = answer_of(attach_load(jdk, java.pid, options))
            last = [l for l in java.errors().splitlines() if l.startswith("jsampler-bridge:")][-1:]
            if got != wanted or not last or word not in last[0]:
                bad.append("%s: answer %s, last line %s" % (options, got, last))
        status = java.end()
    lines = written(trace).splitlines()
    wanted = ["> Class Load : java.lang.Object", "> Class Load : Jvmpi", "> Init done", "> Class Load : Wide1_0", "> Shut down"]
    # The classes that there are come in no order.
    at = [lines.index(w) if w in lines else -1 for w in wanted]
    if status or -1 in at or max(at[:2]) > at[2] or at[2:] != sorted(at[2:]) or lines[-1] != wanted[-1]:
        bad.append("exit status %d, lines %s of %d" % (status, at, len(lines)))
    return bad


def late_registers(jdk, tmp):
    """has_run=registers with a bridge that has been there before."""
    path, bad = os.path.join(tmp, "has_run"), []
    for more, wanted in (("", "has run 1"), ("has_run=registers,", "has run 0")):
        with bridge.Java(jdk, tmp, LATE) as java:
            java.wait_for("ready")
            options = "%sagent=%s:has_run %s" % (more, bridge.agent("edges"), path)
            answers = [answer_of(attach_load(jdk, java.pid, o)) for o in ("", options)]
            java.end()
        if answers != [0, 0] or written(path) != wanted:
            bad.append("%r loaded later: answers %s, %s" % (more, answers, written(path)))
    return bad


def too_many(jdk, tmp):
    """One more than there may be ends the JVM's start; the same one twice is one."""
    libs = [shutil.copy(bridge.agent("tracer"), os.path.join(tmp, "lib%d.so" % i)) for i in range(AGENTS_MAX + 1)]
    flags = [bridge.hosted(lib, lib + ".trace") for lib in libs]
    bad = bridge.start_fails(jdk, tmp, flags, ["lib%d.so" % AGENTS_MAX, "there are already %d agents" % AGENTS_MAX])
    with bridge.Java(jdk, tmp, [*flags[:AGENTS_MAX], flags[0]]) as java:
        status = java.end()
        text = java.text()
    traces = ["> Shut down" in written(lib + ".trace") for lib in libs[:AGENTS_MAX]]
    if status or not all(traces) or "is already loaded" not in text:
        bad.append("%d agents: exit status %d, at their end %s: %s" % (AGENTS_MAX, status, traces, text[-300:]))
    return bad


def frozen(jdk, tmp):
    """Behind JVM_SHUT_DOWN no function comes back, whether main() ends or System.exit() is called."""
    bad = []
    for args, wanted in ((("idle",), 0), (("idle", "exit"), 3)):
        path = os.path.join(tmp, "frozen%d" % wanted)
        with bridge.Java(jdk, tmp, [edges("frozen", path)], ("Jvmpi", *args)) as java:
            java.wait_for("ready")
            status = java.end()
        if status != wanted or written(path) != "called %d, back:" % FUNCTIONS:
            bad.append("%s: exit status %d, %s" % (" ".join(args), status, written(path)))
    return bad


def held(jdk, tmp):
    """can_suspend of another agent: nothing is suspended, and the result says so."""
    path, bad = os.path.join(tmp, "held"), []
    for first, wanted in (([], "suspended 0 resumed 0"), (["-agentpath:%s" % bridge.agent("edges")], "suspended 10 resumed 13")):
        with bridge.Java(jdk, tmp, [*first, edges("suspend", path)]) as java:
            java.wait_for("ready")
            status = java.end()
        if status or written(path) != wanted:
            bad.append("%s: exit status %d, %s" % (first, status, written(path)))
    return bad


def lent(jdk, tmp):
    """The bridge has can_suspend only while a thread is suspended; JVMTI_ERROR_NOT_AVAILABLE is 98."""
    path = os.path.join(tmp, "lent")
    with bridge.Java(jdk, tmp, [edges("lent", path)]) as java:
        java.wait_for("ready")
        status = java.end()
    wanted = "suspended 0, during 98 after 0, then 10, pairs 0 refused 0"
    return [] if status == 0 and written(path) == wanted else ["exit status %d, %s" % (status, written(path))]


def refused(jdk, tmp):
    """An event that cannot be had is not enabled, as is known before the JVM lives."""
    path, bad = os.path.join(tmp, "refused"), []
    for first, wanted in (([], "answer 0"), (["-agentpath:%s=refuse" % bridge.agent("edges")], "answer 1")):
        with bridge.Java(jdk, tmp, [*first, edges("refused", path, "early,")]) as java:
            java.wait_for("ready")
            status = java.end()
        if status or written(path) != wanted:
            bad.append("%s: exit status %d, %s" % (first, status, written(path)))
    return bad


def by_jcmd(jdk, tmp):
    """jcmd cuts what it takes for an option of its own, agent=, but not agent:."""
    path = os.path.join(tmp, "trace")
    with bridge.Java(jdk, tmp, LATE) as java:
        java.wait_for("ready")
        options = "agent:%s:%s" % (bridge.agent("tracer"), path)
        p = subprocess.run([str(jdk.home / "bin/jcmd"), str(java.pid), "JVMTI.agent_load", str(bridge.BRIDGE), options],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bridge.DONE)
        status = java.end()
    if jdk.major >= 9 and (p.returncode or status or "> Init done" not in written(path)):
        return ["%s; exit status %d, %.80s" % (p.stdout, status, written(path))]
    return []


def first_found(jdk, tmp):
    """A bare name is looked for among the JDK's own libraries first, then where the loader looks."""
    trace, dirs = os.path.join(tmp, "trace"), [os.path.join(tmp, d) for d in ("own", "loader")]
    for d, name in zip(dirs, ("tracer", "counter")):
        os.mkdir(d)
        shutil.copy(bridge.agent(name), os.path.join(d, "libjvmpi_twice.so"))
    flags = ["-Dsun.boot.library.path=%s" % dirs[0], bridge.hosted("jvmpi_twice", trace)]
    with bridge.Java(jdk, tmp, flags, env={"LD_LIBRARY_PATH": dirs[1]}) as java:
        java.wait_for("ready")
        status = java.end()
    return [] if status == 0 and "> Init done" in written(trace) else ["exit status %d, %.80s" % (status, written(trace))]


def nulls(jdk, tmp):
    """An agent that gives NULL, garbage and what has gone to every function, whenever it is called, harms nobody."""
    bad = []
    for more in ("", "early,", "stacks=signal,"):
        path = os.path.join(tmp, "nulls" + more)
        with bridge.Java(jdk, tmp, [bridge.hosted(bridge.agent("nulls"), path, more)], ("Jvmpi", "drop")) as java:
            java.wait_for("ready")
            called = said(path, java)
            status = java.end()
        if (called, status, written(path)) != ("called", 0, "to the end"):
            bad.append("%s%s, exit status %d, %s: %s" % (more, called, status, written(path), java.text()[-500:]))
    return bad


CASES = (late, late_registers, too_many, frozen, held, lent, refused, by_jcmd, first_found, nulls)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES))
