#!/usr/bin/env python3
"""Threads parked in many shapes: their stacks, walked from outside, against the JVM's own thread dump.

    stack_dump.py [--jdk 17] [--flags=-Xint]
"""

import argparse
import re
import subprocess
import sys

import jvm

# 8 has decimal hashes behind the names of classes without a name of their own, later JDKs addresses.
HIDDEN = re.compile(r"[+/.]0x[0-9a-f]+|/\d+(?=\.)")
FRAME = re.compile(r"^\tat (.*)\(.*\)$")
# A dump leaves out the frame that both the virtual thread and its carrier stand on.
CONTINUATION = re.compile(r"^jdk\.internal\.vm\.Continuation\.enterSpecial")
# Each virtual thread of Parked.java keeps its carrier.
FLAGS = ["-Xmx256m", "-Djdk.virtualThreadScheduler.parallelism=4"]
MAX_DEPTH = 1024  # -XX:MaxJavaStackTraceDepth: a dump shows no more
NEEDED = ("park", "sleep", "wait", "monitor", "accept", "deep", "compiled", "reflection", "read", "osr")


def parse_dump(text):
    """{tid: (name, frames, mounted frames)}, leaf first; None: a virtual thread that JDK 21 leaves out."""
    threads, frames = {}, None
    # Up to 11 no newline stands behind a lock whose owner was scalar replaced.
    for line in text.replace(")\tat ", ")\n\tat ").splitlines():
        if line.startswith('"'):
            m = re.match(r'^"(.*?)"(?: #\d+)?(?: \[(\d+)\])?', line)
            nid = re.search(r"nid=(0x[0-9a-f]+|\d+)", line)
            tid = int(m.group(2)) if m.group(2) else int(nid.group(1), 0) if nid else 0
            frames = []
            threads[tid] = (m.group(1), frames, [])
            current = tid
        elif "Carrying virtual thread" in line and frames is not None:
            threads[current] = (*threads[current][:2], None)
        elif "Mounted virtual thread" in line and frames is not None:
            frames = []
            threads[current] = (*threads[current][:2], frames)
        elif FRAME.match(line) and frames is not None:
            frames.append(clean(FRAME.match(line).group(1)))
    return threads


def clean(name):
    return HIDDEN.sub("", name).replace("/", ".")


def parse_walks(text):
    """{tid: (facts, frames)}, leaf first."""
    walks, frames = {}, None
    for line in text.splitlines():
        if line.startswith("thread "):
            words = line.split()
            frames = []
            walks[int(words[1])] = (dict(zip(words[2::2], words[3::2])), frames)
        elif line.startswith("    "):
            frames.append(clean(line.strip()))
    return walks


def same(walk, frames, mounted, frozen):
    if mounted is None:
        entry = max((i for i, f in enumerate(walk) if CONTINUATION.match(f)), default=None)
        return entry is not None and entry > 0 and walk[entry + 1:] == frames
    if not mounted:
        return walk == frames or (len(frames) == MAX_DEPTH and walk[:MAX_DEPTH] == frames)
    walk = [f for f in walk if not CONTINUATION.match(f)]
    for keep in range(len(mounted), 0, -1):
        if walk == mounted[:keep] + frames and (keep == len(mounted)) != frozen:
            return True
    return False


def check(dump, walks, look):
    failures, checked = [], []
    for tid, (name, frames, mounted) in dump.items():
        if not frames or name == "Attach Listener" or "CompilerThread" in name:
            continue
        facts, walk = walks.get(tid, ({}, None))
        if walk is None:
            failures.append((name, "not walked", [], frames))
            continue
        checked.append(name)
        if not same(walk, frames, mounted, facts["frozen"] == "1"):
            failures.append((name, facts, walk, (mounted or []) + frames))
        elif facts["end"] != "0" or (not look and facts["resynchronised"] != "0"):
            failures.append((name, facts, [], []))
    return checked, failures


def report(failures):
    for name, why, walk, frames in failures:
        print("FAILED: %s: %s" % (name, why))
        at = next((i for i, (a, b) in enumerate(zip(walk, frames)) if a != b), min(len(walk), len(frames)))
        for f in walk[max(0, at - 2):at + 6]:
            print("    walked  ", f)
        for f in frames[max(0, at - 2):at + 6]:
            print("    JVM says", f)


def run(jdk, flags):
    classes = jvm.compile_java(jdk, "step")
    binary = str(jvm.build_dir() / "tests/integration/stack_dump")
    bad = 0
    with jvm.Jvm(jdk, classes, "Parked", flags=[*FLAGS, *flags]) as target:
        target.wait_ready()
        pid = str(target.pid)
        dump = parse_dump(subprocess.run([str(jdk.home / "bin/jcmd"), pid, "Thread.print"],
                                         stdout=subprocess.PIPE, text=True, check=True).stdout)
        for how in ([], ["look"]):
            out = subprocess.run([binary, pid, *how], stdout=subprocess.PIPE, text=True, check=True).stdout
            walks = parse_walks(out)
            checked, failures = check(dump, walks, bool(how))
            report(failures)
            print("JDK %d %s, %s: %d threads compared, %d failures" % (
                jdk.major, " ".join(flags), how[0] if how else "stopped", len(checked), len(failures)))
            missing = [n for n in NEEDED if "p-" + n not in checked]
            if jdk.major >= 21 and not any(f["frozen"] == "1" for f, _ in walks.values()):
                missing.append("a virtual thread with outer frames in the heap")
            if missing:
                print("FAILED: not compared:", *missing)
            bad += len(failures) + len(missing)
    return bad == 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk")
    p.add_argument("--flags", default="")
    a = p.parse_args()
    return 0 if run(jvm.pick_jdk(a.jdk), a.flags.split()) else 1


if __name__ == "__main__":
    sys.exit(main())
