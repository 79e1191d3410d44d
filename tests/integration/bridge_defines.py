#!/usr/bin/env python3
"""What an agent is told before it is used, and when it goes: threads, classes that are not linked yet, classes that it has
met through a method only, more classes than JNI promises local references for. With tests/jvmpi/defines.c.

usage: bridge_defines.py [--jdk 17] [--case NAME]
"""

import os
import re
import sys

import bridge
import jvm
from bridge_edges import LATE, said
from bridge_stream import answer_of, attach_load

MANY = 70_000
LATER = 1000  # more than the source has lines; as in defines.c


def defines(what, path):
    return "agent=%s:%s %s" % (bridge.agent("defines"), what, path)


def at_start(what, path):
    return "-agentpath:%s=%s" % (bridge.BRIDGE, defines(what, path))


def order(jdk, tmp):
    """No event on a thread whose THREAD_START has not been handled, in an agent that is attached to busy threads."""
    path = os.path.join(tmp, "order")
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", *LATE], ("Jvmpi", "drop")) as java:
        java.wait_for("ready")
        answer = answer_of(attach_load(jdk, java.pid, defines("order", path)))
        got = said(path, java)
        status = java.end()
    return [] if (answer, got, status) == (0, "early none", 0) else ["answer %s, %s, exit status %s" % (answer, got, status)]


def linked_late(jdk, tmp, what, wanted):
    path = os.path.join(tmp, what)
    with bridge.Java(jdk, tmp, ["-Xcheck:jni", at_start(what, path)], ("Jvmpi", "late")) as java:
        java.wait_for("ready")
        first = said(path, java)
        java.proc.stdin.write(b"\n")
        java.proc.stdin.flush()
        for _ in range(1200):
            last = said(path, java)
            if last != first:
                break
            jvm.time.sleep(0.01)
        java.proc.stdin.close()  # it ends
        status = java.proc.wait(bridge.DONE)
        bad = bridge.warnings(java)
    if (first, last, status) != (*wanted, 0):
        bad.append("%r, %r, exit status %d" % (first, last, status))
    return bad


def unprepared(jdk, tmp):
    return linked_late(jdk, tmp, "unprepared", ("answered 1", "answered 1, then its CLASS_LOAD with methods"))


def overtaken(jdk, tmp):
    """Linked between the question and the answer: what the agent hears last has the methods."""
    return linked_late(jdk, tmp, "overtaken", ("in the handler", "last whole"))


def met(jdk, tmp):
    path = os.path.join(tmp, "met")
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", "-Xcheck:jni", at_start("met", path)], ("Jvmpi", "drop")) as java:
        java.wait_for("ready")
        got = said(path, java)
        status = java.end()
        bad = bridge.warnings(java)
    if got != "unloaded many, named all" or status:
        bad.append("%s, exit status %d" % (got, status))
    return bad


def count(jdk, tmp):
    path = os.path.join(tmp, "count")
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", *LATE], ("Jvmpi", "many", MANY)) as java:
        java.wait_for("ready")
        answer = answer_of(attach_load(jdk, java.pid, defines("count", path)))
        got = said(path, java)
        status = java.end()
    if answer or not got.isdigit() or int(got) < MANY or status:
        return ["answer %s, %s classes, exit status %s" % (answer, got, status)]
    return []


def code(jdk, tmp):
    """Compiled code that was there before the agent, and before it enabled the event."""
    path = os.path.join(tmp, "code")
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", "-Xcheck:jni", *LATE], ("Jvmpi", "many", 3000)) as java:
        java.wait_for("ready")
        answer = answer_of(attach_load(jdk, java.pid, defines("code", path)))
        got = said(path, java)
        status = java.end()
        bad = bridge.warnings(java)
    if (answer, got, status) != (0, "many then many", 0):
        bad.append("answer %s, %s, exit status %s" % (answer, got, status))
    return bad


def lines_later(data, add):
    """A class file whose tables of lines say that much more."""
    name = data.index(b"\x01\x00\x0fLineNumberTable")
    # Its number: constants are counted from the first one.
    at, n = 10, 1
    while at < name:
        tag = data[at]
        at += 3 + int.from_bytes(data[at + 1:at + 3], "big") if tag == 1 else {5: 9, 6: 9, 7: 3, 8: 3, 15: 4, 16: 3}.get(tag, 5)
        n += 2 if tag in (5, 6) else 1
    out, key = bytearray(data), n.to_bytes(2, "big")
    at = data.find(key, name)
    while at >= 0:
        size, count = int.from_bytes(data[at + 2:at + 6], "big"), int.from_bytes(data[at + 6:at + 8], "big")
        if count and size == 2 + 4 * count:
            for i in range(at + 10, at + 8 + 4 * count, 4):
                out[i:i + 2] = (int.from_bytes(data[i:i + 2], "big") + add).to_bytes(2, "big")
        at = data.find(key, at + 1)
    return bytes(out)


def lines(jdk, tmp):
    """A method has the lines of its class's last definition."""
    path, file = os.path.join(tmp, "lines"), os.path.join(tmp, "Late.class")
    with open(bridge.classes_of(jdk) / "Jvmpi$Late.class", "rb") as f, open(file, "wb") as to:
        to.write(lines_later(f.read(), LATER))
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", at_start("lines", "%s %s" % (path, file))], ("Jvmpi", "busy")) as java:
        java.wait_for("ready")
        got = said(path, java)
        status = java.end()
    m = re.match(r"redefined 1, line (\d+), then (\d+)$", got)
    return [] if m and 0 < int(m[1]) < LATER < int(m[2]) and status == 0 else ["%s, exit status %s" % (got, status)]


def carrier(jdk, tmp):
    """A thread that carries a virtual one is seen to do what that does."""
    path = os.path.join(tmp, "carrier")
    if jdk.major < 21:
        return []
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", "-Xcheck:jni", at_start("carrier", path)], ("Jvmpi", "carrier")) as java:
        java.wait_for("ready")
        got = said(path, java)
        status = java.end()
        bad = bridge.warnings(java)
    if (got, status) != ("runs, its frames, stops", 0):
        bad.append("%s, exit status %s" % (got, status))
    return bad


CASES = (order, unprepared, overtaken, met, count, code, lines, carrier)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES))
