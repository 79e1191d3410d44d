#!/usr/bin/env python3
"""The stream of the bridge against wire.h: replay, events, a peer that stalls or dies, attach and detach.

usage: bridge_stream.py stream|attach [--jdk 17] [--times 200]
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import bridge
import bridge_wire as wire
import jvm

WAIT = jvm.PATIENCE


def is_kind(kind):
    return lambda k, r: k == kind


def named(peer, kind, key="name"):
    return {r[key] for k, _, _, r in peer.records if k == kind}


def stream_of(path):
    return "-agentpath:%s=stream=%s" % (bridge.BRIDGE, path)


# What comes.

def described(peer):
    """The replay and the events of the load program."""
    bad = []
    if not peer.read(is_kind(wire.REPLAY_END), WAIT):
        return ["no replay"]
    n = dict(peer.counts)
    for kind, least in (("CLASS_LOAD", 200), ("THREAD_START", 5), ("DYNAMIC_CODE", 100)):
        if n.get(kind, 0) < least:
            bad.append("replay: %d of %s" % (n.get(kind, 0), kind))
    replayed = {r["name"] for k, f, _, r in peer.records if k == wire.THREAD_START and f & wire.REPLAYED}
    if "main" not in replayed or "Reference Handler" not in replayed:
        bad.append("threads of the replay: %s" % sorted(replayed))
    wanted = {wire.CLASS_UNLOAD, wire.GC_PAUSE, wire.CODE_UNLOAD, wire.THREAD_END}
    seen, compiled = set(), set()

    def all_there(kind, r):
        seen.add(kind)
        if kind == wire.CODE_LOAD and len(r["scopes"]) > 1:
            compiled.add(peer.methods[r["method"]][:2])
        return wanted <= seen and ("Throwaway", "run") in compiled
    if not peer.read(all_there, WAIT):
        bad.append("missing: %s; inlining in %d methods, Throwaway.run %s" % (
            [wire.NAMES[k] for k in wanted - seen], len(compiled), ("Throwaway", "run") in compiled))
    if not any(t.startswith("worker-") for t in named(peer, wire.THREAD_START)):
        bad.append("no thread of the program")
    tids = {r["tid"] for k, _, _, r in peer.records if k == wire.THREAD_START and r["name"].startswith("worker-")}
    if 0 in tids:
        bad.append("a started thread without its tid")
    if not peer.sync(4711, WAIT):
        bad.append("no SYNC")
    return bad


def events(jdk, tmp, option):
    path = os.path.join(tmp, "s")
    listener = wire.Listener(path)
    with bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", "-Xcheck:jni", option(path)], ("Jvmpi", "load", "300")) as java:
        peer = listener.accept(WAIT)
        bad = described(peer) + peer.bad
        peer.ask(wire.ASK_BYE)
        peer.read(is_kind(wire.BYE), WAIT)
        if peer.records[-1][0] != wire.BYE or peer.records[-1][3]["why"] != 2:
            bad.append("the last record is %s" % wire.NAMES[peer.records[-1][0]])
        peer.close()
        # Ready for the next; one that sends rubbish is shown the door.
        peer = listener.accept(WAIT)
        if not peer.read(is_kind(wire.REPLAY_END), WAIT):
            bad.append("no second replay")
        bad += peer.bad
        peer.conn.sendall(b"rubbish" * 4)
        peer.read(is_kind(wire.BYE), WAIT)
        peer.close()
        peer = listener.accept(WAIT)
        peer.read(is_kind(wire.HELLO), WAIT)
        bad += bridge.warnings(java)
        peer.close()
        if java.proc.poll() is not None:
            bad.append("the JVM ended: %s" % java.text()[-1000:])
    listener.close()
    return bad


def shut_down(jdk, tmp):
    """The end of the JVM is told, and comes in time."""
    path = os.path.join(tmp, "s")
    listener = wire.Listener(path)
    with bridge.Java(jdk, tmp, [stream_of(path)], ("Jvmpi", "idle", "exit")) as java:
        peer = listener.accept(WAIT)
        peer.read(is_kind(wire.REPLAY_END), WAIT)
        status = java.end()
        peer.read(None, WAIT)
    listener.close()
    byes = [r["why"] for k, _, _, r in peer.records if k == wire.BYE]
    if status != 3 or not peer.ended or byes not in ([], [1]):
        return ["exit status %d, BYE %s, end %s" % (status, byes, peer.ended)]
    return []


# A peer that stalls, a peer that dies.

def flood(java, n):
    """The program loads 80 classes of 90 kB, which is more than the ring and the socket hold; it tells when it did."""
    java.proc.stdin.write(b"\n")
    java.proc.stdin.flush()
    java.wait_for("flooded %d" % n)


def flooding(jdk, tmp, path):
    return bridge.Java(jdk, tmp, ["-XX:+UseSerialGC", stream_of(path)], ("Jvmpi", "flood", "80"))


def stalled(jdk, tmp):
    path = os.path.join(tmp, "s")
    listener = wire.Listener(path)
    with flooding(jdk, tmp, path) as java:
        peer = listener.accept(WAIT)
        bad = [] if peer.read(is_kind(wire.REPLAY_END), WAIT) else ["no replay"]
        flood(java, 1)  # nobody reads
        if not peer.read(is_kind(wire.LOST), WAIT):
            bad.append("nothing lost")
        elif not peer.read(is_kind(wire.REPLAY_END), WAIT):
            bad.append("no replay after the loss")
        # What the program kept is known now.
        names = named(peer, wire.CLASS_LOAD)
        bad += ["Wide1_%d is not known" % i for i in range(0, 80, 2) if "Wide1_%d" % i not in names]
        bad += peer.bad[:3]
        peer.close()
    listener.close()
    return bad


def killed(jdk, tmp):
    path = os.path.join(tmp, "s")
    code = ("import sys,time; sys.path.insert(0,%r); import bridge_wire as w; l=w.Listener(%r); p=l.accept(%d);"
            "p.read(lambda k,r:k==w.REPLAY_END,%d); print('ready',flush=True); time.sleep(600)")
    sampler = subprocess.Popen([sys.executable, "-c", code % (os.path.dirname(os.path.abspath(__file__)), path, WAIT, WAIT)],
                               stdout=subprocess.PIPE, preexec_fn=jvm.die_with_parent)
    bad = []
    with flooding(jdk, tmp, path) as java:
        if sampler.stdout.readline() != b"ready\n":
            bad.append("no stream")
        flood(java, 1)
        sampler.send_signal(signal.SIGKILL)
        sampler.wait()
        os.unlink(path)
        flood(java, 2)
        listener = wire.Listener(path)
        peer = listener.accept(WAIT)
        if not peer.read(is_kind(wire.REPLAY_END), WAIT):
            bad.append("no replay for the next sampler")
        bad += peer.bad[:3]
        peer.close()
        listener.close()
    return bad


def stream(jdks, o):
    bad = []
    for jdk in jdks:
        cases = [("events", lambda t: events(jdk, t, stream_of)),
                 ("as an agent", lambda t: events(jdk, t, lambda p: bridge.hosted(bridge.STREAM, p))),
                 ("exit", lambda t: shut_down(jdk, t)), ("stalled", lambda t: stalled(jdk, t)),
                 ("killed", lambda t: killed(jdk, t))]
        for name, case in cases:
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="js-") as tmp:
                found = case(tmp)
            print("JDK %d, %s: %s (%.1f s)" % (jdk.major, name, "; ".join(found[:4]) or "ok", time.monotonic() - begin),
                  flush=True)
            bad += ["JDK %d, %s: %s" % (jdk.major, name, b) for b in found]
    return bad


# Attach and detach.

def attach_load(jdk, pid, options):
    """The answer to the attach protocol's load of the bridge: (code, text)."""
    path = "/tmp/.java_pid%d" % pid
    if not os.path.exists(path):
        subprocess.run([str(jdk.home / "bin/jcmd"), str(pid), "VM.version"], stdout=subprocess.DEVNULL, check=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(path)
        s.sendall(b"1\0load\0%s\0true\0%s\0" % (os.fsencode(str(bridge.BRIDGE)), os.fsencode(options)))
        text = b""
        while True:
            more = s.recv(4096)
            if not more:
                return text.decode()
            text += more


def answer_of(text):
    """JDK 8 answers "0", a line with the number alone."""
    m = re.search(r"return code: (\d+)", text) or re.match(r"0\n(\d+)\n?$", text)
    return int(m[1]) if m else text


def resources(pid):
    with open("/proc/%d/status" % pid) as f:
        rss = int(re.search(r"RssAnon:\s*(\d+)", f.read())[1])
    return len(os.listdir("/proc/%d/task" % pid)), len(os.listdir("/proc/%d/fd" % pid)), rss


def once(jdk, java, listener, seconds):
    answer = answer_of(attach_load(jdk, java.pid, "stream=" + listener.path))
    if answer != 0:
        return ["load answers %s" % answer]
    peer = listener.accept(WAIT)
    bad = [] if peer.read(is_kind(wire.REPLAY_END), WAIT) else ["no replay"]
    busy = os.path.join(os.path.dirname(listener.path), "busy")
    if seconds == 0:
        other = wire.Listener(busy)
        took = []
        for _ in range(3):
            begin = time.monotonic()
            if answer_of(attach_load(jdk, java.pid, "stream=" + busy)) != 4:
                bad.append("a second sampler is not told that the first is there")
            took.append(time.monotonic() - begin)
        # Everybody who attaches waits for the answer; it was 3 s once.
        if min(took) > 2:
            bad.append("a second sampler is told so after %.1f s" % min(took))
        other.close()
    peer.read(None, seconds)
    bad += peer.bad[:3]
    peer.close()
    return bad


def weak_references(jdk, pid):
    """JNI's, as the JVM counts them; None: it does not say (JDK 8)."""
    p = subprocess.run([str(jdk.home / "bin/jcmd"), str(pid), "Thread.print"], stdout=subprocess.PIPE, text=True, timeout=WAIT)
    m = re.search(r"weak refs: (\d+)", p.stdout)
    return int(m[1]) if m else None


def released(jdk, java, listener):
    """The ids of some hundred classes, a weak reference each, go with the connection that needed them."""
    if answer_of(attach_load(jdk, java.pid, "stream=" + listener.path)) != 0:
        return ["no connection"]
    peer = listener.accept(WAIT)
    bad = [] if peer.read(is_kind(wire.REPLAY_END), WAIT) else ["no replay"]
    while_connected = weak_references(jdk, java.pid)
    peer.close()
    deadline = time.monotonic() + 60
    while while_connected is not None and time.monotonic() < deadline:
        left = weak_references(jdk, java.pid)
        if while_connected > 300 and left < 50:
            return bad
        time.sleep(0.2)
    return bad if while_connected is None else [*bad, "%s weak references, and %s afterwards" % (while_connected, left)]


def quiet(pid, threads, timeout=WAIT, fds=0):
    """The stream's thread has done with the connection."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        now = resources(pid)
        if now[0] <= threads and now[1] <= fds:
            return True
        time.sleep(0.02)
    return False


def attach(jdks, o):
    bad = []
    for jdk in jdks:
        # The heap's own growth is none of ours.
        flags = ["-Xcheck:jni", "-XX:+UseSerialGC", "-Xms64m", "-XX:+AlwaysPreTouch"]
        flags += ["-XX:+EnableDynamicAgentLoading"] if jdk.major > 20 else []
        with tempfile.TemporaryDirectory(prefix="js-") as tmp, bridge.Java(jdk, tmp, flags) as java:
            java.wait_for("ready")
            listener = wire.Listener(os.path.join(tmp, "s"))
            found = []
            for options, wanted in (("steam=1", 1), ("stream=rel", 2), ("stream=/" + "x" * 120, 2),
                                    ("stream=" + tmp + "/nobody", 3), ("agent=/nowhere/x.so", 5), ("", 0)):
                got = answer_of(attach_load(jdk, java.pid, options))
                if got != wanted:
                    found.append("%s: %s, not %s" % (options[:20], got, wanted))
            found += once(jdk, java, listener, 0)
            # The pump and what the JVM makes once are there now; from here on nothing is added.
            quiet(java.pid, 0, 0.5)
            threads, fds, rss = resources(java.pid)
            # What the JVM does for itself it does once; what leaks is there after each round.
            for left in reversed(range(jvm.TRIES)):
                for _ in range(o.times):
                    found += once(jdk, java, listener, o.seconds)
                    if found:
                        break
                settled = bool(found) or quiet(java.pid, threads, 30, fds)
                last = resources(java.pid)
                if found or not left or (settled and last[1] <= fds and last[2] <= rss + 3000):
                    break
                print("JDK %d: again, after %s at first and %s now" % (jdk.major, (threads, fds, rss), last), flush=True)
                threads, fds, rss = last
            if not found and last[0] > threads:
                found.append("%d threads, %d at first" % (last[0], threads))
            print("JDK %d: %d times: threads %d, %d; descriptors %d, %d; anonymous memory %d, %d kB" % (
                jdk.major, o.times, threads, last[0], fds, last[1], rss, last[2]))
            if last[1] > fds:
                found.append("%d descriptors, %d at first" % (last[1], fds))
            # A connection's ring and table have megabytes.
            if last[2] > rss + 3000:
                found.append("%d kB of memory, %d at first" % (last[2], rss))
            found += released(jdk, java, listener)
            found += bridge.warnings(java)
            if java.end():
                found.append("exit status %s: %s" % (java.proc.returncode, java.text()[-1000:]))
            listener.close()
        print("JDK %d: attach %s" % (jdk.major, "; ".join(found[:4]) or "ok"), flush=True)
        bad += ["JDK %d: %s" % (jdk.major, b) for b in found]
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", choices=("stream", "attach"))
    p.add_argument("--jdk")
    p.add_argument("--times", type=int, default=15)
    p.add_argument("--seconds", type=float, default=0.05, help="of stream each time")
    o = p.parse_args()
    found = jvm.find_jdks()
    jdks = [jvm.pick_jdk(o.jdk)] if o.jdk else [found[m] for m in sorted(found)]
    if not jdks:
        sys.exit("no JDK found in /usr/lib/jvm")
    bad = {"stream": stream, "attach": attach}[o.what](jdks, o)
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
