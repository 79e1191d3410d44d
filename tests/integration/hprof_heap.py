#!/usr/bin/env python3
"""The HPROF agent's heap=, monitor=y, format=b, net=, and what it says of bad options and full disks: programs with known
numbers of objects and a contention that they measure themselves (tests/java/hprof).

usage: hprof_heap.py [--jdk 17] [--case NAME]
"""

import collections
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading

import bridge
import hprof_binary
import jvm

KEPT, GONE = 3000, 5000  # Heap.java's


def start(jdk, options, main, *args, flags=(), **more):
    argv = [str(jdk.home / "bin/java"), "-Xcheck:jni", *flags, bridge.hosted("hprof", options, "quiet,"), "-cp",
            str(jvm.compile_java(jdk, "hprof")), main, *args]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def run(jdk, options, main="Heap", *args, **more):
    with start(jdk, options, main, *args, **more) as p:
        try:
            said = p.communicate(timeout=bridge.DONE)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            return -1, "it does not end: " + p.communicate()[0]
    return p.returncode, said


def complaints(status, said):
    """JDK 8's java makes its argument strings without looking for an exception."""
    bad = [] if status == 0 else ["status %d: %s" % (status, said[-600:])]
    return bad + [l for l in bridge.complaints(said) if "WARNING in native method" not in l]


def sites_of(text):
    """{(class, first frame's line): (live bytes, live, bytes, all)}"""
    traces = dict(re.findall(r"^TRACE (\d+):\n\t(.*)$", text, re.M))
    found = {}
    for row in re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) (\S+)$", text, re.M):
        found[row[5], traces.get(row[4], "?").split("(")[0]] = tuple(map(int, row[:4]))
    return found


def sites(jdk, tmp):
    """Exactly what the program allocates, live and gone."""
    out = os.path.join(tmp, "sites.txt")
    status, said = run(jdk, "heap=sites,depth=2,cutoff=0,file=" + out, flags=["-XX:-DoEscapeAnalysis", "-XX:+UseSerialGC"])
    text = open(out).read()
    found = sites_of(text)
    wanted = {("Heap$Kept", "Heap.make"): (KEPT, KEPT), ("Heap$Gone", "Heap.make"): (0, GONE),
              ("Heap$Kept[]", "Heap.make"): (1, 1), ("int[][]", "Heap.make"): (1, 1), ("int[]", "Heap.make"): (10, 10)}
    bad = complaints(status, said)
    for key, (live, made) in wanted.items():
        row = found.get(key, (0, 0, 0, 0))
        if (row[1], row[3]) != (live, made):
            bad.append("%s in %s: %s live, %s made, not %d and %d" % (*key, row[1], row[3], live, made))
    if not re.search(r"SITES BEGIN \(ordered by live bytes\) .*\n {10}percent {10}live {10}alloc'ed  stack class\n rank ", text):
        bad.append("the table has not its head")
    return bad


def objects_of(text):
    """{id: (class, {field: id})} of OBJ records."""
    found = {}
    for head, body in re.findall(r"^OBJ ([0-9a-f]+ \(.*\))\n((?:\t.*\n)*)", text, re.M):
        m = re.match(r"(\w+) \(sz=(\d+), trace=(\d+), class=(\S+)@\w+\)", head)
        fields = dict(re.findall(r"^\t(\S+)\t+(\w+)$", body, re.M))
        found[m.group(1)] = (m.group(4), int(m.group(2)), m.group(3), fields)
    return found


def dump_text(jdk, tmp):
    """The chain of kept objects, each with its trace and its size."""
    out = os.path.join(tmp, "dump.txt")
    status, said = run(jdk, "heap=dump,depth=2,file=" + out)
    bad, text = complaints(status, said), open(out).read()
    kept = {i: o for i, o in objects_of(text).items() if o[0] == "Heap$Kept"}
    linked = sum("next" in o[3] and o[3]["next"] in kept for o in kept.values())
    if (len(kept), linked) != (KEPT, KEPT - 1):
        bad.append("%d objects of Heap$Kept, %d linked" % (len(kept), linked))
    traces = {o[2] for o in kept.values()}
    where = dict(re.findall(r"^TRACE (\d+):\n\t(.*)$", text, re.M))
    if len(traces) != 1 or "Heap.make" not in where.get(traces.pop(), ""):
        bad.append("the trace of Heap$Kept is not where it is made")
    for word in ("ROOT", "CLS", "ARR"):
        if not re.search("^%s [0-9a-f]+ \\(" % word, text, re.M):
            bad.append("no " + word)
    return bad if text.rstrip().endswith("HEAP DUMP END") else [*bad, "no end"]


def histogram_of(jdk, pid):
    done = subprocess.run([str(jdk.home / "bin/jcmd"), str(pid), "GC.class_histogram"], stdout=subprocess.PIPE, text=True,
                          timeout=bridge.DONE, check=True)
    rows = re.findall(r"^ *\d+: +(\d+) +\d+ +(\S+)", done.stdout, re.M)
    return collections.Counter({name: int(n) for n, name in rows})


def heap_of(jdk, tmp, dumper, bad):
    """A dump at SIGQUIT of a program at rest, and what jcmd counts before and behind it: the first jcmd starts a thread."""
    out = os.path.join(tmp, dumper + ".hprof")
    with start(jdk, "heap=all,depth=3,format=b,doe=n,dumper=%s,file=%s" % (dumper, out), "Heap", "300", "wait",
               flags=["-XX:+UseSerialGC"]) as p:
        while "ready" not in p.stdout.readline():
            pass
        histogram_of(jdk, p.pid)
        before = histogram_of(jdk, p.pid)
        p.send_signal(signal.SIGQUIT)
        lines = iter(p.stdout.readline, "")
        next((l for l in lines if "done." in l), None)
        after = histogram_of(jdk, p.pid)
        said = p.communicate("\n", timeout=bridge.DONE)[0]
    bad += complaints(p.returncode, said)
    return hprof_binary.File(out), before, after


def fields_check(f):
    """Values of one object, by the program's source."""
    h = f.heaps[-1]
    ids = [i for i, (k, _, _) in h.instances.items() if h.classes[k].name == "Heap$Kept"]
    wanted = {"i": 0x01020304, "l": 0x1122334455667788, "b": 7, "d": 1.5, "z": 1, "c": ord("x"), "ref": 0}
    values = [f.fields(h, i)[0] for i in ids]
    bad = [] if all(v[n] == w for v in values for n, w in wanted.items()) else ["fields are %s" % values[:1]]
    bad += [] if sum(v["next"] in ids for v in values) == KEPT - 1 else ["next does not link"]
    statics = next(k for k in h.classes.values() if k.name == "Heap").statics
    if (statics.get("statics"), statics.get("ANSWER"), statics.get("KEPT")) != (0x0a0b0c0d0e0f1011, 42, KEPT):
        bad.append("statics are %s" % statics)
    return bad


# What jcmd counts and JVMTI's walk of the heap does not reach, class by class.
NOT_LISTED = "objects of classes that are not linked, of arrays and of primitive types: JVMTI lists linked classes"
LOCKS = "locks of classes that are not initialized, int[0]: only the JVM refers to them"
THREADS = "threads of compilers and the like, which JVMTI does not show, and what only they refer to"
OF_CLASSES = "only fields of java.lang.Class refer to it, names and reflection's caches: JVMTI does not follow these"
REFLECTION = ("Ljava.lang.reflect.Constructor;", "Ljava.lang.reflect.Field;", "Ljava.lang.reflect.Method;", "Ljava.lang.Class;",
              "Ljava.lang.Object;", "B", "C", "S")
ACCESSORS = ("sun.reflect.", "jdk.internal.reflect.")
UNREACHED = {
    "java.lang.Class": NOT_LISTED, "[I": LOCKS,
    **dict.fromkeys(("java.lang.Thread", "java.lang.Thread$FieldHolder", "java.lang.Object",
                     "java.security.AccessControlContext"), THREADS),
    **dict.fromkeys(("java.lang.String", "java.lang.Class$ReflectionData", "java.lang.ref.SoftReference",
                     "java.lang.reflect.Constructor", "java.lang.reflect.Field", "java.lang.reflect.Method",
                     *("[" + name for name in REFLECTION)), OF_CLASSES),
    **{p + "%sConstructorAccessorImpl" % kind: OF_CLASSES for p in ACCESSORS for kind in ("Delegating", "Native")},
}
# Of one of them, but for NOT_LISTED and LOCKS, which grow with the JDK's archive; JDK 8's jcmd leaves reflection's caches.
UNREACHED_MAX, UNREACHED_8 = 30, 150


def differences(jdk, ours, before, after, dumper):
    """Each class has as many instances as jcmd counts before or behind, but for UNREACHED, which may have less. The JVM's
    dumper is a bean that makes many more."""
    bad, limit = [], UNREACHED_8 if jdk.major == 8 else UNREACHED_MAX
    for name in set(ours) | set(before) | set(after):
        less = min(before[name], after[name]) - ours[name]
        more = ours[name] - max(before[name], after[name])
        why = UNREACHED.get(name)
        allowed = float("inf") if why in (NOT_LISTED, LOCKS) else limit if why else 0
        if less > allowed or (more > 0 and (dumper == "jvmpi" or name.startswith(("Heap", "[LHeap")))):
            bad.append("%d of %s, jcmd counts %d and %d" % (ours[name], name, before[name], after[name]))
    return bad


def binary_of(jdk, tmp, dumper):
    bad = []
    f, before, after = heap_of(jdk, tmp, dumper, bad)
    if len(f.heaps) != 1:
        return [*bad, "%d dumps" % len(f.heaps)]
    if dumper == "jvmpi" and f.dangling:
        bad.append("%d references to what is not there" % f.dangling)
    bad += fields_check(f) + differences(jdk, f.histogram(), before, after, dumper)
    bad += sites_check(f)
    if dumper == "jvmpi" and sum(n for t, n in f.heaps[-1].traces.items() if t > 300000) < KEPT:
        bad.append("objects have no traces")
    return bad


def sites_check(f):
    rows = [r for r in f.sites[-1][3] if f.classes.get(r[1]) == "Heap$Kept" and r[0] == 0]
    top = [f.traces[r[2]][0][1] for r in rows]
    if [(r[4], r[6]) for r in rows] != [(KEPT, KEPT)] or top != ["make"]:
        return ["sites of Heap$Kept: %s in %s" % (rows, top)]
    return []


def files_of(jdk, tmp, dumper):
    """Three dumps, the first two at SIGQUIT; the name of the third file is in use."""
    out = os.path.join(tmp, dumper + ".files")
    with open(out + ".2", "w") as f:
        f.write("mine")
    options = "cpu=samples,interval=1,heap=dump,depth=3,format=b,force=n,dumper=%s,file=%s" % (dumper, out)
    with start(jdk, options, "Heap", "300", "wait") as p:
        while "ready" not in p.stdout.readline():
            pass
        for _ in range(2):
            p.send_signal(signal.SIGQUIT)
            next((l for l in iter(p.stdout.readline, "") if "done." in l), None)
        said = p.communicate("\n", timeout=bridge.DONE)[0]
    return out, complaints(p.returncode, said)


def binary_files(jdk, tmp):
    """Each heap dump has a file, whole by itself, with what comes behind it; force=n spares those that are there."""
    bad = []
    for dumper in ("jvmpi", "vm"):
        out, complained = files_of(jdk, tmp, dumper)
        bad += complained
        for number in ("", ".1", ".3"):
            f = hprof_binary.File(out + number)
            found = len(f.heaps), len(f.samples), f.histogram()["Heap$Kept"], "Finalizer" in [t[0] for t in f.threads.values()]
            if found != (1, 1, KEPT, True):
                bad.append("%s%s: dumps, tables, objects, thread are %s" % (dumper, number, found))
        if pathlib.Path(out + ".2").read_text() != "mine":
            bad.append("force=n did not spare a file")
    return bad


def binary_jvmpi(jdk, tmp):
    return binary_of(jdk, tmp, "jvmpi")


def binary_vm(jdk, tmp):
    return binary_of(jdk, tmp, "vm")


def binary_samples(jdk, tmp):
    out = os.path.join(tmp, "samples.hprof")
    status, said = run(jdk, "cpu=samples,interval=1,format=b,file=" + out, "Calls", "0.5")
    f = hprof_binary.File(out)
    total, rows = f.samples[-1]
    names = {f.traces[t][0][1] for _, t in rows if f.traces[t]}
    bad = complaints(status, said)
    return bad if total >= sum(n for n, _ in rows) > 0 and "spin" in names else [*bad, "%s of %s" % (total, names)]


def deadlocked(jdk, pid):
    """{(waiter, owner)} of the deadlock that Thread.print finds."""
    done = subprocess.run([str(jdk.home / "bin/jcmd"), str(pid), "Thread.print", "-l"], stdout=subprocess.PIPE, text=True,
                          timeout=bridge.DONE, check=True)
    return set(re.findall(r'^"([^"]+)":\n +waiting to lock monitor .*\n +which is held by "([^"]+)"', done.stdout, re.M))


def kept_out(text, numbers):
    """{(waiter, owner)} of the MONITOR DUMP."""
    names = {i: n for n, i in numbers.items()}
    dump = re.search(r"MONITOR DUMP BEGIN\n(.*?)MONITOR DUMP END", text, re.S).group(1)
    pairs = re.findall(r"\towner: thread (\d+), entry count: \d+\n\twaiting to enter: (.*)\n", dump)
    return {(names.get(w), names.get(owner)) for owner, waiters in pairs for w in re.findall(r"thread (\d+)", waiters)}


def monitors(jdk, tmp):
    """Within 5 % of what the program measures; a deadlock is in the dump of SIGQUIT as in Thread.print."""
    out, printed = os.path.join(tmp, "monitors.txt"), set()
    with start(jdk, "monitor=y,depth=3,file=" + out, "Contend", "deadlock") as p:
        said = ""
        for line in iter(p.stdout.readline, ""):
            said += line
            if "locked" in line:
                printed = deadlocked(jdk, p.pid)
                p.send_signal(signal.SIGQUIT)
            if "done." in line:
                break
        said += p.communicate("\n", timeout=bridge.DONE)[0]
    text, bad = open(out).read(), complaints(p.returncode, said)
    waited = int(re.search(r"waited (\d+)", said).group(1))
    total = int(re.search(r"MONITOR TIME BEGIN \(total = (\d+) ms\)", text).group(1))
    if abs(total - waited) > 0.05 * waited:
        bad.append("%d ms in the table, %d ms by the program" % (total, waited))
    if not re.search(r"^ +1 +[\d.]+% +[\d.]+% +5 3\d{5} Contend\$Lock \(Java\)$", text, re.M):
        bad.append("no row of the lock")
    if not re.search(r"^WAITED: MONITOR LContend\$Lock;, time_waited=(4[5-9]|5\d|6\d), thread 2\d{5}$", text, re.M):
        bad.append("no WAITED")
    if kept_out(text, thread_numbers(text)) != printed or not printed:
        bad.append("who waits for whom: %s, by Thread.print %s" % (kept_out(text, thread_numbers(text)), printed))
    return bad + deadlock_check(text)


def thread_numbers(text):
    return {n: i for i, n in re.findall(r'^THREAD START \(obj=\w+, id = (\d+), name="([^"]*)"', text, re.M)}


def deadlock_check(text):
    numbers = thread_numbers(text)
    dump = re.search(r"MONITOR DUMP BEGIN\n(.*?)MONITOR DUMP END", text, re.S).group(1)
    bad = []
    for owner, waiter, of in (("first", "second", "Contend$Lock"), ("second", "first", "java/lang/Object")):
        pattern = r"    MONITOR L%s;\n\towner: thread %s, entry count: 1\n\twaiting to enter: thread %s\n" % (
            re.escape(of), numbers.get(owner), numbers.get(waiter))
        if not re.search(pattern, dump):
            bad.append("%s does not keep %s out in: %s" % (owner, waiter, dump))
        if not re.search(r"THREAD %s, trace 3\d{5}, status: MW" % numbers.get(owner), dump):
            bad.append("%s is not shown as waiting" % owner)
    return bad


class Server:
    """The other end of net=."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.data = b""
        self.client = None
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        self.client, _ = self.listener.accept()
        try:
            while True:
                more = self.client.recv(1 << 16)
                if not more:
                    return
                self.data += more
        except OSError:
            pass

    def command(self, tag, body=b""):
        self.client.sendall(struct.pack(">BII", tag, 0, len(body)) + body)

    def close(self):
        self.thread.join(bridge.DONE)
        self.listener.close()
        if self.client:
            self.client.close()


def net(jdk, tmp):
    """Every command, and EXIT ends the JVM."""
    server = Server()
    options = "format=b,dumper=jvmpi,heap=all,cpu=samples,doe=n,net=127.0.0.1:%d" % server.port
    with start(jdk, options, "Heap", "300", "wait") as p:
        while "ready" not in p.stdout.readline():
            pass
        for tag, body in ((1, b""), (2, b""), (3, struct.pack(">Hf", 2, 0.0)), (4, b""), (6, b""), (7, struct.pack(">Hf", 0, 0.0)),
                          (8, struct.pack(">HH", 7, 2)), (8, struct.pack(">HQ", 4, 0)), (8, struct.pack(">H", 5)),
                          (8, struct.pack(">H", 2)), (8, struct.pack(">H", 6)), (5, b"")):
            server.command(tag, body)
        p.wait(bridge.DONE)
        said = p.communicate()[0]
    server.close()
    out = os.path.join(tmp, "net.hprof")
    with open(out, "wb") as f:
        f.write(server.data)
    f = hprof_binary.File(out)
    bad = complaints(p.returncode, said)
    wanted = {0x07: 1, 0x0d: 1, 0x2c: 1, 0x06: 1}
    return bad + ["%d records 0x%02x, not %d" % (f.counts[t], t, n) for t, n in wanted.items() if f.counts[t] != n]


def net_gone(jdk, _):
    """Its reader is killed: said once, and the program ends as ever."""
    server = Server()
    with start(jdk, "cpu=samples,net=127.0.0.1:%d" % server.port, "Heap", "300", "wait") as p:
        while "ready" not in p.stdout.readline():
            pass
        server.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.client.shutdown(socket.SHUT_RD)
        server.thread.join(bridge.DONE)  # which has it open
        server.client.close()
        said = p.communicate("\n", timeout=bridge.DONE)[0]
    server.listener.close()
    bad = complaints(p.returncode, said)
    return bad + ([] if said.count("cannot write to 127.0.0.1") == 1 else ["it is not said once: " + said])


def bad_input(jdk, tmp):
    """Messages, and status 1."""
    unused = socket.create_server(("127.0.0.1", 0))
    port = unused.getsockname()[1]
    unused.close()
    bad = []
    for options, words in (("monitor=y,format=b", "not supported with format=b"), ("heap=dump,file=%s/no/such" % tmp, "cannot open"), ("heap=dump,net=127.0.0.1:%d" % port, "cannot connect"),
                           ("heap=dump,net=no.such.host.invalid:1", "cannot connect")):
        status, said = run(jdk, options)
        if status != 1 or words not in said:
            bad.append("%s: %d %s" % (options, status, said))
    return bad


def full_disk(jdk, tmp):
    """What is written stays readable."""
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400000, 400000))

    bad = []
    for options in ("heap=dump,format=b,dumper=jvmpi", "heap=dump"):
        out = os.path.join(tmp, "full")
        status, said = run(jdk, options + ",file=" + out, preexec_fn=limited, flags=["-XX:-UsePerfData"])
        if status or said.count("cannot write to") != 1:
            bad.append("%s: status %d: %s" % (options, status, said))
        with open(out, "rb") as f:
            data = f.read()
        if "format=b" in options:
            bad += whole_but_end(out)
        elif not data.endswith(b"\n") or len(data) < 150000:
            bad.append("the text of %d bytes ends in %r" % (len(data), data[-40:]))
    return bad


def whole_but_end(path):
    try:
        hprof_binary.File(path)
    except hprof_binary.Bad as e:
        return [] if str(e) == "segments without an end" else [str(e)]
    return []


CASES = (sites, dump_text, binary_jvmpi, binary_vm, binary_samples, binary_files, monitors, net, net_gone, bad_input, full_disk)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES))
