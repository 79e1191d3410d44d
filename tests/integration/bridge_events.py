#!/usr/bin/env python3
"""Each of JVMPI's events counted against a program that makes a known number of them: with tests/jvmpi/events.c and
tests/java/jvmpi/Events.java. Every row of docs/jvmpi.md whose check is there is looked at.

usage: bridge_events.py [--jdk 17] [--case NAME]
"""

import os
import subprocess
import sys

import bridge
import jvmpi_doc

NO_ESCAPES = ["-XX:-DoEscapeAnalysis"]
# What -Xcheck:jni says of Events.java itself: nothing.
KINDS = {
    "methods": ["METHOD_ENTRY", "METHOD_ENTRY2", "METHOD_EXIT"],
    "inserted": ["METHOD_ENTRY", "METHOD_ENTRY2", "METHOD_EXIT"],
    "monitors": ["MONITOR_CONTENDED_ENTER", "MONITOR_CONTENDED_ENTERED", "MONITOR_CONTENDED_EXIT", "MONITOR_WAIT", "MONITOR_WAITED",
                 "RAW_MONITOR_CONTENDED_ENTER", "RAW_MONITOR_CONTENDED_ENTERED", "RAW_MONITOR_CONTENDED_EXIT"],
    "deadlock": ["MONITOR_DUMP"],
    "alloc": ["OBJECT_ALLOC", "RequestEvent"],
    "eliminated": ["HEAP_DUMP", "OBJECT_ALLOC", "MONITOR_DUMP"],
    "attach": ["MONITOR_DUMP", "MONITOR_CONTENDED_EXIT"],
    "refs": ["JNI_GLOBALREF_ALLOC", "JNI_GLOBALREF_FREE", "JNI_WEAK_GLOBALREF_ALLOC", "JNI_WEAK_GLOBALREF_FREE"],
    "steps": ["INSTRUCTION_START"],
    "hook": ["CLASS_LOAD_HOOK"],
    "heap": ["HEAP_DUMP", "OBJECT_DUMP"],
    "arena": ["ARENA_NEW", "ARENA_DELETE", "OBJECT_MOVE"],
    "storm": [],
    "unload": ["HEAP_DUMP"],
}


def is_had(jdk, name):
    """By the table of docs/jvmpi.md."""
    return any(jvmpi_doc.name_of(r) == name and r.get(str(jdk.major)) == "yes" for r in jvmpi_doc.rows())


def run(jdk, tmp, kind, flags=(), more="", env=None, out="done"):
    report = os.path.join(tmp, "report")
    if os.path.exists(report):
        os.unlink(report)
    agent = bridge.agent("events")
    with bridge.Java(jdk, tmp, [*flags, "-Xcheck:jni", bridge.hosted(agent, "%s %s" % (kind, report), more)],
                     ("Events", agent, "methods" if kind == "inserted" else kind), env) as java:
        try:
            status = java.proc.wait(bridge.DONE)
        except subprocess.TimeoutExpired:
            return ["%s: it does not end" % kind]
        text, bad = java.text(), bridge.warnings(java)
    lines = open(report).read().splitlines() if os.path.exists(report) else []
    bad += [l for l in lines if l.startswith("FAIL")]
    ok = {l.split(" ", 1)[1].rsplit(" ", 1)[0] for l in lines if l.startswith("ok ")}
    bad += ["%s was not checked" % n for n in KINDS[kind] if n not in ok and is_had(jdk, n) and not env]
    bad += ["%s was checked, and the page says that there is none" % n for n in KINDS[kind] if n in ok and not is_had(jdk, n)]
    if status or out not in text:
        bad.append("%s: exit status %d: %s" % (kind, status, text[-800:]))
    return bad


def methods(jdk, tmp):
    # The receivers of METHOD_ENTRY2 have to be asked for up to JDK 15. While METHOD_EXIT is on, HotSpot makes a local
    # reference of each object that a method returns, for whatever native code there is above: -Xcheck:jni counts these.
    bad = run(jdk, tmp, "methods", more="events=METHOD_ENTRY+METHOD_ENTRY2+METHOD_EXIT,")
    return [b for b in bad if "JNI local refs" not in b]


def monitors(jdk, tmp):
    return run(jdk, tmp, "monitors")


def deadlock(jdk, tmp):
    return run(jdk, tmp, "deadlock")


def alloc(jdk, tmp):
    """Compiled by C1 and C2, interpreted only, and with each collector."""
    bad = []
    for flags in (["-XX:+UseSerialGC"], ["-XX:+UseSerialGC", "-Xint"], ["-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC"], ["-XX:+UseG1GC"]):
        bad += ["%s: %s" % (" ".join(flags), b) for b in run(jdk, tmp, "alloc", [*NO_ESCAPES, *flags])]
    return bad


def eliminated(jdk, tmp):
    """Dumps while compiled code has removed objects from frames that are walked: no JVM stands still."""
    bad = run(jdk, tmp, "eliminated", bridge.use("Serial"), more="events=MONITOR_DUMP,")
    return bad if jdk.major >= 16 else [b for b in bad if "OBJECT_ALLOC" not in b]  # there the compiler removes none


def attach(jdk, tmp):
    """From JDK 23 on GetObjectMonitorUsage crashes the JVM while a thread is being attached."""
    return run(jdk, tmp, "attach", more="events=MONITOR_DUMP,")


def refs(jdk, tmp):
    return run(jdk, tmp, "refs")


def steps(jdk, tmp):
    # Up to JDK 17 -Xcheck:jni counts the references to all classes that inserting calls needs.
    return [b for b in run(jdk, tmp, "steps", more="calls=inserted,") if "JNI local refs" not in b]


def hook(jdk, tmp):
    return run(jdk, tmp, "hook", out="text malloc, text own")


def heap(jdk, tmp):
    bad = []
    for gc in bridge.collectors(jdk):
        bad += ["%s: %s" % (gc, b) for b in run(jdk, tmp, "heap", bridge.use(gc))]
    return bad


def limit(jdk, tmp):
    """A heap that is larger than the limit: FAIL, a line, and the JVM runs on."""
    return run(jdk, tmp, "heap", ["-XX:+UseSerialGC"], "dump_limit=1,", {"JVMPI_EVENTS_LIMIT": "1"}, "exceed dump_limit=1 ")


def arena(jdk, tmp):
    return run(jdk, tmp, "arena")


def storm(jdk, tmp):
    """All events at once, with dumps and collections: no JVM stands still or crashes."""
    bad = []
    for gc in ("Serial", "G1"):
        bad += ["%s: %s" % (gc, b) for b in run(jdk, tmp, "storm", bridge.use(gc)) if "JNI local refs" not in b]
    return bad


def unload(jdk, tmp):
    """A heap dump names no class that was unloaded before it came."""
    return run(jdk, tmp, "unload", bridge.use("Serial"))


CASES = (methods, monitors, deadlock, alloc, eliminated, attach, refs, steps, hook, heap, limit, arena, storm, unload)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES))
