#!/usr/bin/env python3
"""Reads a running JVM from outside (live_hotspot) and compares with what the JVM says of itself: compiled
methods (jcmd Compiler.codelist; JDK 8 has none: its compilation log) and threads (jcmd Thread.print).

usage: live_hotspot.py [--jdk 17] [--gc G1,Parallel,Serial,Z] [--flags "-XX:..."] [--seconds 6]
Exit status: 0 they agree, 1 they do not, 77 when the JDK asked for is not here.
"""

import argparse
import html
import os
import re
import subprocess
import sys
import tempfile

import jvm

COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"],
              # Experimental in 11.
              "Z": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
              "Shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"]}
NAMES = {"a name that is much longer than fifteen bytes", "Gr\u00fc\u00dfe aus dem Thread",
         "\u4f60\u597d \U0001f600 worker", "main, renamed while running", "Reference Handler", "Finalizer"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


def jcmd(jdk, pid, *what):
    run = subprocess.run([str(jdk.home / "bin/jcmd"), str(pid), *what], stdout=subprocess.PIPE, text=True,
                         errors="replace", timeout=jvm.PATIENCE, check=True)
    return run.stdout.splitlines()


def codelist(lines):
    """(compile id, code begin) -> "level method", as jcmd has it."""
    found = {}
    for line in lines:
        m = re.match(r"\s*(\d+)\s+(-?\d+)\s+-?\d+\s+(.*) \[0x\w+, (0x\w+) - ", line)
        if m:
            found[m[1], m[4]] = m[2] + " " + m[3]
    return found


def compilation_log(path):
    """The same from the log of JDK 8, which has what is gone by now, too."""
    found = {}
    for line in read(path):
        if not line.startswith("<nmethod "):
            continue
        a = dict(re.findall(r"(\w+)='([^']*)'", line))
        if "method" in a:
            holder, name, signature = html.unescape(a["method"]).split(" ")
            found[a["compile_id"], a["entry"]] = "%s %s.%s%s" % (
                a.get("level", "0"), holder.replace("/", "."), name, signature)
    return found


def compare_codes(jdk, ours, theirs):
    """The JVM compiles and sweeps on between the two readings; what both have must be the same."""
    mine = {}
    for line in ours:
        number, rest = line.split(" ", 1)
        text, begin = rest.rsplit(" ", 1)
        mine[number, begin] = text
    # Hidden classes have '+' in the Symbol where the external name has '/'; VM anonymous classes, before 15, nothing.
    if jdk.major < 15:
        theirs = {k: re.sub(r"/0x[0-9a-f]+(?=\.)", "", v) for k, v in theirs.items()}
    both = mine.keys() & theirs.keys()
    wrong = [k for k in both if mine[k].replace("+0x", "/0x") != theirs[k]]
    for k in wrong[:5]:
        print("WRONG", k, "ours:", mine[k], "theirs:", theirs[k])
    print("codes: ours %d, theirs %d, both %d, different %d" % (len(mine), len(theirs), len(both), len(wrong)))
    enough = len(mine) if jdk.major == 8 else max(len(mine), len(theirs))
    return not wrong, len(both) >= 0.97 * enough and len(both) > 100


def compare_threads(ours, theirs):
    mine = {line.rsplit(" ", 1)[1]: line.rsplit(" ", 1)[0] for line in ours}
    other = {}
    for line in theirs:
        m = re.match(r'"(.*)" #\d+ .*tid=(0x[0-9a-f]+) ', line)
        if m:
            other[m[2]] = m[1]
    # jcmd's output goes through the JVM's own character set.
    plain = {a for a in mine.keys() & other.keys() if mine[a].isascii()}
    wrong = [a for a in plain if mine[a] != other[a]]
    for a in wrong:
        print("WRONG thread", a, mine[a], other[a])
    missing = NAMES - set(mine.values())
    if missing:
        print("missing threads:", missing)
    print("threads: ours %d, theirs %d, names compared %d" % (len(mine), len(other), len(plain)))
    return not wrong and not missing and len(plain) >= len(mine) - 3


def log_flags(jdk, tmp):
    if jdk.major > 8:
        return []
    return ["-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation", "-XX:LogFile=" + os.path.join(tmp, "log")]


def run_one(jdk, flags, seconds):
    classes = jvm.compile_java(jdk, "hotspot")
    probe = jvm.build_dir() / "tests/integration/live_hotspot"
    with tempfile.TemporaryDirectory(prefix="jsampler-live-") as tmp, \
            jvm.Jvm(jdk, classes, "Live", [str(seconds)], ["-Xmx512m", *flags, *log_flags(jdk, tmp)]) as target:
        target.wait_ready()
        codes, threads = os.path.join(tmp, "codes"), os.path.join(tmp, "threads")
        # On a busy machine much is compiled between our reading and the JVM's: wrong is wrong at once,
        # too little in common may be the time between.
        for _ in range(2 * jvm.TRIES):
            status = subprocess.run([str(probe), str(target.pid), codes, threads], timeout=jvm.PATIENCE).returncode
            if status:
                return False
            if jdk.major == 8:
                theirs = compilation_log(os.path.join(tmp, "log"))
            else:
                theirs = codelist(jcmd(jdk, target.pid, "Compiler.codelist"))
            right, enough = compare_codes(jdk, read(codes), theirs)
            right = compare_threads(read(threads), jcmd(jdk, target.pid, "Thread.print")) and right
            if enough or not right:
                break
        return right and enough


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk")
    p.add_argument("--gc", default="G1")
    p.add_argument("--flags", default="")
    p.add_argument("--seconds", type=int, default=6)
    a = p.parse_args()
    jdk = jvm.pick_jdk(a.jdk)
    ok = True
    for gc in a.gc.split(","):
        flags = [*COLLECTORS[gc], *a.flags.split()]
        print("--- JDK %d %s" % (jdk.major, " ".join(flags)), flush=True)
        one = run_one(jdk, flags, a.seconds)
        print("ok" if one else "FAILED", flush=True)
        ok = ok and one
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
