#!/usr/bin/env python3
"""The HPROF agent in the bridge: exact calls, the text's shape, and refused options.

usage: hprof.py [--jdk 17] [--case NAME]
"""

import os
import re
import signal
import subprocess
import sys

import bridge
import jvm


def run(jdk, tmp, options, main="Calls"):
    out = os.path.join(tmp, "out.txt")
    argv = [str(jdk.home / "bin/java"), bridge.hosted("hprof", options + ",file=" + out), "-cp",
            str(jvm.compile_java(jdk, "hprof")), main]
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


def cpu_time(jdk, tmp):
    """The sum of self of a thread's traces is its CPU time within 2 %, and the calls are exact."""
    status, said, text = run(jdk, tmp, "cpu=times,thread=y,depth=1,cutoff=0", "Times")
    used = int(re.search(r"^used (\d+)$", said, re.M).group(1))
    thread = re.search(r'^THREAD START \(obj=\w+, id = (\d+), name="timed"', text, re.M).group(1)
    traces = set(re.findall(r"^TRACE (\d+): \(thread=%s\)$" % thread, text, re.M))
    total = int(re.search(r"^CPU TIME \(ms\) BEGIN \(total = (\d+)\)", text, re.M).group(1))
    rows = re.findall(r"^ *\d+ +([\d.]+)% +[\d.]+% +(\d+) (3\d{5}) (\S+)$", text, re.M)
    spent = sum(float(share) for share, _, trace, _ in rows if trace in traces) * total / 100
    calls = {name: int(n) for _, n, trace, name in rows if trace in traces and name.startswith("Times.")}
    bad = [said] if status else []
    if abs(spent - used) > 0.02 * used:
        bad.append("%.0f ms by the table, %d by the thread's clock" % (spent, used))
    return bad if calls == {"Times.deep": 120000, "Times.step": 20000, "Times.run": 1} else [*bad, "calls are %s" % calls]


def samples(jdk, tmp):
    status, said, text = run(jdk, tmp, "cpu=samples,interval=1")
    shape = r"^JAVA PROFILE 1\.0\.1, created .*^--------$.*^TRACE 3\d{5}:$\n\t.*^CPU SAMPLES BEGIN \(total = [1-9]\d*\) .*^CPU SAMPLES END$"
    bad = [said] * bool(status) + ([] if re.search(shape, text, re.M | re.S) else ["no such text: " + text[-300:]])
    return bad + read_back(text, tmp)


def read_back(text, tmp):
    """jsampler's sum of the samples is HPROF's total."""
    folded = os.path.join(tmp, "out.folded")
    done = subprocess.run([jvm.jsampler_path(), "convert", os.path.join(tmp, "out.txt"), "-o", folded],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return [done.stderr]
    shown = sum(int(line.rsplit(" ", 1)[1]) for line in open(folded))
    rows = re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) 3\d{5} ", text, re.M)
    return [] if shown == sum(map(int, rows)) else ["%d samples converted, %s written" % (shown, rows)]


def quit_dumps(jdk, tmp):
    """SIGQUIT writes a dump, the JVM runs on, and its end writes another."""
    out = os.path.join(tmp, "quit.txt")
    argv = [str(jdk.home / "bin/java"), bridge.hosted("hprof", "cpu=samples,file=" + out), "-cp",
            str(jvm.compile_java(jdk, "hprof")), "Calls", "1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
        while "ready" not in (p.stdout.readline() or "ready"):
            pass
        p.send_signal(signal.SIGQUIT)
        said = p.communicate(timeout=bridge.DONE)[0]
    dumps = open(out).read().count("CPU SAMPLES END") if os.path.exists(out) else 0
    return [] if p.returncode == 0 and dumps == 2 else ["status %d, %d dumps: %s" % (p.returncode, dumps, said)]


def refused(jdk, tmp):
    bad = []
    for options, words in (("cpx=1", "unknown option: cpx"), ("cpu=times,format=b", "not supported"),
                           ("interval=0", "must be a number from 1"), ("cutoff=x", "must be a ratio")):
        status, said, _ = run(jdk, tmp, options)
        if status != 1 or words not in said:
            bad.append("%s: %d %s" % (options, status, said))
    return bad


if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, (old, times, cpu_time, samples, quit_dumps, refused)))
