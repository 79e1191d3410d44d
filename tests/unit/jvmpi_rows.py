#!/usr/bin/env python3
"""docs/jvmpi.md has a row for each function and event, says something of each JDK, and each row's check exists.

What a row says is looked at by that check of tests/jvmpi, in JVMs (tests/integration/bridge.py).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import jvmpi_doc  # noqa: E402

JDKS = ("8", "11", "17", "21", "25", "26", "27", "28")
RULES = 4
ELSEWHERE = {"ProfilerExit": "tests/integration/bridge.py"}  # it ends the JVM


def functions():
    header = (ROOT / "jvm-bridge/jvmpi/jvmpi.h").read_text()
    struct = header[header.index("jint version;"):header.index("} JVMPI_Interface;")]
    return ["GetEnv", *(n for n in re.findall(r"\(\*(\w+)\)\(", struct) if n[0] != "f" and n != "NotifyEvent")]


def events():
    text = (ROOT / "jvm-bridge/host/support.c").read_text()
    return re.findall(r"\{NAMED\((\w+)\)", text)


def main():
    table, bad = jvmpi_doc.rows(), []
    checks = jvmpi_doc.checks_of("")
    names = functions() + events()
    if len(names) != 29 + 37 + 4:
        bad.append("%d functions and events in the sources" % len(names))
    for r in table:
        name = jvmpi_doc.name_of(r)
        if len(r) != len(JDKS) + 3 or any(r.get(j) not in ("yes", "no") for j in JDKS):
            bad.append("%s: a JDK is missing, or says neither yes nor no" % name)
        where = ELSEWHERE.get(r["check"])
        if r["check"] not in checks and not (where and r["check"] in (ROOT / where).read_text()):
            bad.append("%s: there is no check %r" % (name, r["check"]))
    of = [jvmpi_doc.name_of(r) for r in table]
    bad += ["%s has no row" % n for n in names if n not in of]
    bad += ["%s has two rows" % n for n in set(of) if of.count(n) > 1]
    if len(of) != len(names) + RULES:
        bad.append("%d rows for %d functions and events and %d rules" % (len(of), len(names), RULES))
    print("\n".join(bad) or "%d rows" % len(of))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
