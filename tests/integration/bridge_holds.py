#!/usr/bin/env python3
"""Nobody waits for an agent that holds a lock, keeps collections disabled, does not return from a handler, or calls
functions while the process ends. With tests/jvmpi/holds.c.

usage: bridge_holds.py [--jdk 17] [--case NAME]
"""

import os
import shutil
import subprocess
import sys
import time

import bridge
from bridge_edges import said, written

END = 30  # seconds that an end may take which waits 2 s at most; before, there was no limit


def holds(what, path, lib=None):
    return bridge.hosted(lib or bridge.agent("holds"), "%s %s" % (what, path))


def agent_says(jdk, tmp, what, wanted, flags=()):
    path = os.path.join(tmp, what)
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", "-Xcheck:jni", *flags, holds(what, path)], ("Jvmpi", "drop")) as java:
        java.wait_for("ready")
        got = said(path, java)
        status = java.end()
        bad = bridge.warnings(java)
    if got != wanted or status:
        bad.append("the agent says %r, exit status %d" % (got, status))
    return bad


def start(jdk, tmp):
    """The handler of GC_START may wait for a thread that has an event."""
    return agent_says(jdk, tmp, "start", "passed 1")


def run(jdk, tmp):
    """RunGC delivers on the calling thread, which may hold what the handlers take."""
    return agent_says(jdk, tmp, "run", "at once start 1 finish 1")


def pumped(jdk, tmp):
    """So it does while another thread's GC_START waits for the caller, each time and without waiting for that."""
    return agent_says(jdk, tmp, "pumped", "at once start 5 finish 5")


def keeper(jdk, tmp):
    """It does not wait for a thread that has GC disabled and waits for the caller; the events come afterwards."""
    return agent_says(jdk, tmp, "keeper", "at once early 0 afterwards 1")


def disable(jdk, tmp):
    """No class is told as unloaded, and no id given anew, while GC is disabled: by an agent without GC events, too."""
    return agent_says(jdk, tmp, "disable", "; unloaded 0 reused 0 afterwards 1")


def ends_itself(java):
    """Its exit status; None: it does not end."""
    try:
        return java.proc.wait(END)
    except subprocess.TimeoutExpired:
        return None


def ends(java):
    java.proc.stdin.close()
    return ends_itself(java)


def stuck(jdk, tmp):
    """The JVM ends beside a GC window that never does."""
    path = os.path.join(tmp, "stuck")
    with bridge.Java(jdk, tmp, [holds("stuck", path)], ("Jvmpi", "drop", "exit")) as java:
        java.wait_for("ready")
        bad = [] if said(path, java) == "stuck" else ["no GC_FINISH"]
        status = ends(java)
    return bad if status == 3 else [*bad, "exit status %s" % status]


def last(jdk, tmp):
    """Behind JVM_SHUT_DOWN of the first of two agents nothing begins on other threads, for neither."""
    libs = [shutil.copy(bridge.agent("holds"), os.path.join(tmp, "lib%d.so" % i)) for i in range(2)]
    with bridge.Java(jdk, tmp, [holds("last", lib + ".late", lib) for lib in libs], ("Jvmpi", "drop", "exit")) as java:
        java.wait_for("ready")
        time.sleep(0.5)
        status = ends(java)
    got = [written(lib + ".late") for lib in libs]
    return [] if status == 3 and got == ["late none"] * 2 else ["exit status %s, %s" % (status, got)]


def destructors(jdk, tmp):
    """Whether main() ends, System.exit() or ProfilerExit is called: functions come back to the thread inside exit()."""
    bad = []
    for what, args, wanted in (("exit", ("idle",), 0), ("exit", ("idle", "exit"), 3), ("leave", ("idle",), 9)):
        path = os.path.join(tmp, "destroyed%d" % wanted)
        with bridge.Java(jdk, tmp, [holds(what, path)], ("Jvmpi", *args)) as java:
            if what == "leave":
                status = ends_itself(java)
            else:
                java.wait_for("ready")
                status = ends(java)
        if status != wanted or written(path) != "destroyed":
            bad.append("%s %s: exit status %s, %s" % (what, " ".join(args), status, written(path)))
    return bad


CASES = (start, run, pumped, keeper, disable, stuck, last, destructors)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES))
