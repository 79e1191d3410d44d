#!/usr/bin/env python3
"""The HPROF agent in the bridge: exact calls, the text's shape, and refused options.

usage: hprof.py [--jdk 17] [--case NAME]
"""

import os
import re
import subprocess
import sys

import bridge
import jvm


def run(jdk, tmp, options):
    out = os.path.join(tmp, "out.txt")
    argv = [str(jdk.home / "bin/java"), bridge.hosted("hprof", options + ",file=" + out), "-cp",
            str(jvm.compile_java(jdk, "hprof")), "Calls"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bridge.DONE)
    return done.returncode, done.stdout, open(out).read() if os.path.exists(out) else ""


def old(jdk, tmp):
    status, said, text = run(jdk, tmp, "cpu=old")
    wanted = [r"^2000 Calls\.leaf\(I\)J Calls\.run\(\)V \d+$", r"^2000 Calls\.thrower\(I\)V Calls\.run\(\)V \d+$"]
    return [w for w in wanted if not re.search(w, text, re.M)] + ([said] if status else [])


def times(jdk, tmp):
    status, said, text = run(jdk, tmp, "cpu=times,depth=1,cutoff=0")
    bad = [said] if status else []
    for name, calls in (("leaf", 2000), ("thrower", 2000), ("run", 2)):
        if not re.search(r"^ *\d+ +[\d.]+% +[\d.]+% +%d 3\d{5} Calls\.%s$".replace("%d", str(calls)).replace("%s", name), text, re.M):
            bad.append("%d calls of %s are not there" % (calls, name))
    return bad


def samples(jdk, tmp):
    status, said, text = run(jdk, tmp, "cpu=samples,interval=1")
    shape = r"^JAVA PROFILE 1\.0\.1, created .*^--------$.*^TRACE 3\d{5}:$\n\t.*^CPU SAMPLES BEGIN \(total = [1-9]\d*\) .*^CPU SAMPLES END$"
    return [said] * bool(status) + ([] if re.search(shape, text, re.M | re.S) else ["no such text: " + text[-300:]])


def refused(jdk, tmp):
    bad = []
    for options, words in (("cpx=1", "unknown option: cpx"), ("cpu=times,format=b", "not supported"),
                           ("monitor=y", "not in this build"), ("heap=all", "not in this build")):
        status, said, _ = run(jdk, tmp, options)
        if status != 1 or words not in said:
            bad.append("%s: %d %s" % (options, status, said))
    return bad


if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, (old, times, samples, refused)))
