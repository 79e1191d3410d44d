#!/usr/bin/env python3
"""Java threads wait neither for the bridge's sending thread nor for the sampler: that thread is held still while they
load more classes than the stream can take, and while the sampler ends. Samplers that end in the midst of a replay,
beside a program that is busy: the next one is served.

usage: bridge_stall.py [--jdk 17]
"""

import argparse
import ctypes
import os
import sys
import tempfile
import time

import bridge
import bridge_stream
import bridge_wire as wire
import jvm

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long] * 4
LIBC.ptrace.restype = ctypes.c_long
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # linux/ptrace.h
WALL = 0x40000000  # __WALL, linux/wait.h
POLL = "7"  # __NR_poll, x86-64
TIMES = ("0x32", "0x1f4")  # TICK_MS and IDLE_MS in jvm-bridge/stream/stream.c


def ptrace(request, tid):
    if LIBC.ptrace(request, tid, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace %#x of %d" % (request, tid))


class Held:
    """The sending thread, stopped where it waits: in poll(), native to the JVM, which needs nothing of it there."""

    def __init__(self, pid):
        self.pid = pid
        self.tid = next(tid for _ in range(100_000) for tid in map(int, os.listdir("/proc/%d/task" % pid)) if self.waits(tid))

    def waits(self, tid):
        """It polls its eventfd and its socket."""
        try:
            with open("/proc/%d/task/%d/syscall" % (self.pid, tid)) as f:
                words = f.read().split()
        except OSError:
            return False
        return words[0] == POLL and words[2] == "0x2" and words[3] in TIMES

    def __enter__(self):
        deadline = time.monotonic() + jvm.PATIENCE
        while time.monotonic() < deadline:
            if self.waits(self.tid):
                ptrace(SEIZE, self.tid)
                ptrace(INTERRUPT, self.tid)
                os.waitpid(self.tid, WALL)
                if self.waits(self.tid):
                    return self
                ptrace(DETACH, self.tid)
            time.sleep(0.01)
        raise TimeoutError("the bridge's thread never waits")

    def __exit__(self, *exc):
        ptrace(DETACH, self.tid)


def held(jdk, tmp):
    path = os.path.join(tmp, "s")
    listener = wire.Listener(path)
    with bridge_stream.flooding(jdk, tmp, path) as java:
        peer = listener.accept()
        if not peer.read(bridge_stream.is_kind(wire.REPLAY_END), jvm.PATIENCE):
            return ["no replay"]
        with Held(java.pid):
            bridge_stream.flood(java, 1)  # or it never gets here
        lost = []
        if not peer.read(lambda kind, r: kind == wire.LOST and not lost.append(r["lost"]), jvm.PATIENCE):
            return ["nothing was lost: the stream was never full"]
        if not peer.read(bridge_stream.is_kind(wire.REPLAY_END), jvm.PATIENCE):
            return ["no replay after the loss"]
        with Held(java.pid):
            bridge_stream.flood(java, 2)
            peer.close()
            bridge_stream.flood(java, 3)
        bad = peer.bad[:3]
        peer = listener.accept()
        if not peer.read(bridge_stream.is_kind(wire.REPLAY_END), jvm.PATIENCE):
            return ["no replay for the next sampler"]
        names = bridge_stream.named(peer, wire.CLASS_LOAD)
        bad += ["Wide3_%d is not known" % i for i in range(0, 80, 2) if "Wide3_%d" % i not in names][:3]
        worst = [l for l in java.text().splitlines() if l.startswith("flooded")]
        print("JDK %d: %d records lost while nobody sent; classes loaded, us: %s" % (jdk.major, lost[0], "; ".join(worst)))
        bad += peer.bad[:3]
        peer.close()
    listener.close()
    return bad


BUSY = 4  # WIRE_ATTACH_BUSY, jvm-bridge/stream/wire.h


def connected(jdk, pid, listener):
    """The connection, and how often the bridge said that it has one."""
    deadline, busy = time.monotonic() + jvm.PATIENCE, 0
    while time.monotonic() < deadline:
        answer = bridge_stream.answer_of(bridge_stream.attach_load(jdk, pid, "stream=" + listener.path))
        if answer == 0:
            return listener.accept(), busy
        if answer != BUSY:
            raise RuntimeError("load answers %s" % answer)
        busy += 1
    raise TimeoutError("a connection never ends")


def hasty(jdk, tmp, times=12):
    listener = wire.Listener(os.path.join(tmp, "s"))
    flags = ["-XX:+UseSerialGC", "-Xcheck:jni", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
    with bridge.Java(jdk, tmp, flags, ("Jvmpi", "load", 3600)) as java:
        java.wait_for("ready")
        refused = 0
        for i in range(times):
            peer, busy = connected(jdk, java.pid, listener)
            refused += busy
            peer.read(lambda kind, r: len(peer.records) > i * i * 20, jvm.PATIENCE)
            peer.close()
        peer, busy = connected(jdk, java.pid, listener)
        bad = [] if peer.read(bridge_stream.is_kind(wire.REPLAY_END), jvm.PATIENCE) else ["no replay for the last one"]
        bad += peer.bad[:3]
        # A replay that nobody reads ends at once: 3 s are waited for it.
        if jvm.STRICT and refused + busy:
            bad.append("%d of %d were told of another jsampler" % (refused + busy, times))
        print("JDK %d: %d samplers ended early, %d were told of another one" % (jdk.major, times, refused + busy))
        peer.close()
        if java.proc.poll() is not None:
            bad.append("the JVM ended: %s" % java.text()[-1000:])
    listener.close()
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    o = p.parse_args()
    found = jvm.find_jdks()
    jdks = [jvm.pick_jdk(o.jdk)] if o.jdk else [found[m] for m in sorted({min(found, default=0), max(found, default=0)}) if m]
    if not jdks:
        sys.exit(jvm.SKIP)
    bad = []
    for jdk in jdks:
        for case in (held, hasty):
            with tempfile.TemporaryDirectory(prefix="js-") as tmp:
                bad += ["JDK %d: %s" % (jdk.major, b) for b in case(jdk, tmp)]
    for b in bad:
        print("FAILED:", b)
    print("%d failures" % len(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
