#!/usr/bin/env python3
"""kill -9 of jsampler at random moments: the JVM goes on, no thread is stopped, nothing is left.

usage: kill.py [--jdk 17] [--times 1000] [--suspend]
--suspend: threads are stopped, and each of jsampler's processes is killed alone, which the others have to notice.
"""

import argparse
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

import jvm

FLAGS = ["-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Ops::left",
         "-XX:CompileCommand=dontinline,Ops::right"]


def operations(path):
    with open(path, "rb") as f:
        return struct.unpack("<2q", f.read(16))[1]


def stopped_threads(pid):
    """Threads in a stopped state, or with a tracer."""
    bad = []
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            fields = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines()
                          if ":\t" in line)
        except OSError:
            continue  # it ended
        if fields["State"].strip()[0] in "Tt" or fields["TracerPid"].strip() != "0":
            bad.append("%s: %s, tracer %s" % (task.name, fields["State"], fields["TracerPid"]))
    return bad


def descendants(pid):
    return [pid] + [d for text in jvm.texts_of(pid, "children") for c in text.split() for d in descendants(int(c))]


def is_gone(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


SUSPENDING = (["--engine", "suspend", "-i", "1ms"], ["-e", "wall", "-i", "2ms"])


def kill_one_of_several(java, out, rng):
    """Whether it was killed, and who is left after patience."""
    p = subprocess.Popen([jvm.jsampler_path(), "-p", str(java.pid), "-d", "0.3", "-o", out, *rng.choice(SUSPENDING)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=jvm.die_with_parent, start_new_session=True)
    time.sleep(rng.uniform(0, 0.3))
    processes = descendants(p.pid)
    victim = rng.choice(processes)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        victim = None
    p.wait(jvm.PATIENCE)
    jvm.wait_until(lambda: all(map(is_gone, processes)))
    return victim is not None, [x for x in processes if not is_gone(x)]


def kill_once(java, out, rng):
    p = subprocess.Popen([jvm.jsampler_path(), "-p", str(java.pid), "-F", "1000", "-o", out],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=jvm.die_with_parent, start_new_session=True)
    time.sleep(rng.uniform(0, 0.15))
    ended = p.poll()
    if ended is None:
        os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    return ended is None, []


def is_stopped_for_good(pid):
    found = stopped_threads(pid)
    return found if found and not jvm.wait_until(lambda: not stopped_threads(pid), pause=0.002) else []


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--times", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--suspend", action="store_true")
    o = p.parse_args()
    jdk, rng = jvm.pick_jdk(o.jdk), random.Random(o.seed)
    classes = jvm.compile_java(jdk, "shapes")
    bad, killed = [], 0
    with tempfile.TemporaryDirectory(prefix="jsampler-kill-") as tmp:
        path, out = os.path.join(tmp, "ops"), os.path.join(tmp, "results", "out.folded")
        os.mkdir(os.path.dirname(out))
        with jvm.Jvm(jdk, classes, "Ops", ["cost", path, "2"], FLAGS) as java:
            java.wait_ready()
            for i in range(o.times):
                one, still = kill_one_of_several(java, out, rng) if o.suspend else kill_once(java, out, rng)
                killed += one
                before = operations(path)
                bad += is_stopped_for_good(java.pid) if o.suspend else stopped_threads(java.pid)
                bad += ["goes on after kill %d: %s" % (i + 1, still)] if still else []
                if o.suspend and os.path.exists(out):
                    os.unlink(out)
                if not jvm.wait_until(lambda: operations(path) != before, pause=0.002):
                    bad.append("no operation in %d s after kill %d" % (jvm.PATIENCE, i + 1))
                if bad or java.proc.poll() is not None:
                    break
            alive = java.proc.poll() is None
        left = os.listdir(os.path.dirname(out))
    if not alive:
        bad.append("the JVM ended")
    if killed < o.times * 0.9:
        bad.append("jsampler ended by itself %d times" % (o.times - killed))
    if left:
        bad.append("left behind: %s" % left)
    print("killed %d times; %s" % (killed, "; ".join(bad[:5]) or "the JVM goes on, nothing left"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
