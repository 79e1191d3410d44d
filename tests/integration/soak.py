#!/usr/bin/env python3
"""A day at 99 Hz in half an hour: memory and descriptors of jsampler, and of the JVM, stay flat.

Three at once, under the same JDK:
  steady  tests/java/demo, a program that only works
  churn   tests/java/shapes/Soak.java, where classes, code and threads come and go for ever
  again   the JVM of "steady" attached to every few seconds: nothing is left behind in it

What a profile takes by itself, its distinct stacks, reaches a small --max-memory in the first third;
nothing may grow from then on: the second third is compared with the last. In "churn", too: of code and methods
that are gone, copies are kept for what is in stacks only, and that under --max-memory (symbolizer/hotspot/forget.h).

usage: soak.py [--jdk 25] [--minutes 30] [--freq 4751] [--json FILE]
Exit status: 0 flat, 1 not, 77 when the JDK asked for is not here.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import jvm

EVERY_S = 5
LIMITS = {"steady": "8M", "churn": "16M"}
# What resident memory may grow by in the last third, MB and share: page caches of the reader, allocators.
GROWTH = {"steady": (4, 0.05), "churn": (4, 0.05)}


def status_of(pid):
    """Resident MB, descriptors, threads, mappings of a process."""
    with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as f:
        text = f.read()
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as f:
        maps = sum(1 for _ in f)
    return {"rss": int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024,
            "fds": len(os.listdir("/proc/%d/fd" % pid)),
            "threads": int(re.search(r"Threads:\s+(\d+)", text).group(1)), "maps": maps}


class Long:
    """A jsampler that runs all the time."""

    def __init__(self, name, pid, o, tmp):
        self.name, self.pid, self.series = name, pid, []
        self.out, self.log = os.path.join(tmp, name + ".folded"), os.path.join(tmp, name + ".log")
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen([jvm.jsampler_path(), "-p", str(pid), "-F", str(o.freq), "-v", "-o", self.out,
                                          "--threads", "--max-memory", LIMITS[name]], stdin=subprocess.DEVNULL, stderr=log,
                                         preexec_fn=jvm.die_with_parent)

    def look(self):
        if self.proc.poll() is None:
            self.series.append(status_of(self.proc.pid))

    def end(self):
        """Its messages and (stack, count)s."""
        early = self.proc.poll() is not None
        self.proc.send_signal(signal.SIGINT)
        status = self.proc.wait(4 * jvm.PATIENCE)
        with open(self.log, encoding="utf-8", errors="replace") as f:
            messages = f.read()
        if status or early:
            return messages, [], ["%s: ended early, exit status %d\n%s" % (self.name, status, messages[-2000:])]
        with open(self.out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            return messages, list(jvm.parse_folded(f)), []


def thirds(series, key):
    """Of the second and of the last third: the median, or the least of what goes up and down with the target's
    threads."""
    n = len(series) // 3
    kind = statistics.median if key == "rss" else min
    return [kind(s[key] for s in part) for part in (series[n:2 * n], series[-n:])]


def not_flat(name, series, keys):
    """What grew, as sentences; prints all."""
    bad = []
    for key in keys:
        before, after = thirds(series, key)
        values = [s[key] for s in series]
        print("%-18s %-8s first %8.1f  second third %8.1f  last third %8.1f  most %8.1f" % (
            name, key, values[0], before, after, max(values)))
        fixed, share = GROWTH[name] if key == "rss" else (2, 0.05)
        slack = fixed + share * before
        if after > before + slack:
            bad.append("%s: %s went from %.1f to %.1f" % (name, key, before, after))
    return bad


def attach_again(pid):
    """One short profile, as a service that takes one now and then would."""
    run = subprocess.run([jvm.jsampler_path(), "-p", str(pid), "-d", "1", "-o", "/dev/null", "-f", "folded"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent)
    return ["again: exit status %d: %s" % (run.returncode, run.stderr[-500:])] if run.returncode else []


def watch(o, longs, steady):
    """For so many minutes: looks at all of them; (the target's series, number of short profiles, what went wrong)."""
    target, bad, again = [], [], 0
    end = time.monotonic() + 60 * o.minutes
    while time.monotonic() < end and not bad:
        bad += attach_again(steady)
        again += 1
        time.sleep(EVERY_S)
        for x in longs:
            x.look()
        target.append(status_of(steady))
    return target, again, bad


def summary(x, o):
    """Prints what a long run collected; what is wrong with it."""
    messages, folded, bad = x.end()
    samples = sum(n for _, n in folded)
    complete = sum(n for frames, n in folded if jvm.is_complete(jvm.thread_of(frames)[2]))
    full = sum(n for frames, n in folded if "[storage limit]" in frames)
    print("%-18s %d samples, %d stacks, %.2f %% complete, %.1f h at 99 Hz of one CPU, %d [storage limit]" % (
        x.name, samples, len(folded), 100 * complete / max(1, samples), samples / 99 / 3600, full))
    for line in messages.splitlines()[-14:]:
        print("    | " + line)
    if not bad and samples < 1000:
        bad.append("%s: only %d samples" % (x.name, samples))
    return bad


def soak(jdk, o, tmp):
    demo, shapes = jvm.compile_java(jdk, "demo"), jvm.compile_java(jdk, "shapes")
    churn_flags = ["-XX:+UseSerialGC", "-Xmx64m", "-XX:ReservedCodeCacheSize=12m", "-XX:CompileCommand=quiet",
                   "-XX:CompileCommand=dontinline,Deopt$Round::inner"]
    with jvm.Jvm(jdk, demo, "Demo", ["100000"], ["-Xmx256m"]) as a, jvm.Jvm(jdk, shapes, "Soak", [], churn_flags) as b:
        a.wait_ready()
        b.wait_ready()
        longs = [Long("steady", a.pid, o, tmp), Long("churn", b.pid, o, tmp)]
        target, again, bad = watch(o, longs, a.pid)
        for x in longs:
            bad += not_flat(x.name, x.series, ["rss", "fds", "threads", "maps"])
        # What a JVM maps and keeps resident is its own affair.
        bad += not_flat("the JVM of steady", target, ["fds", "threads"])
        print("attached %d times besides" % again)
        for x in longs:
            bad += summary(x, o)
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"jdk": jdk.major, "target": target, **{x.name: x.series for x in longs}}, f)
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk", default="25,21,17")
    p.add_argument("--minutes", type=float, default=30)
    # 48 times 99: half an hour is a day; a prime, so that nothing in the target keeps step with it.
    p.add_argument("--freq", type=int, default=4751)
    p.add_argument("--json")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    with tempfile.TemporaryDirectory(prefix="jsampler-soak-") as tmp:
        bad = soak(jdk, o, tmp)
    for b in bad:
        print("FAILED:", b)
    print("soak: %.0f minutes, %s" % (o.minutes, "%d failures" % len(bad) if bad else "flat"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
