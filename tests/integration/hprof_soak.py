#!/usr/bin/env python3
"""HPROF with everything on under load for half an hour: no JVM crashes or stands still, each dump is whole, and memory is
bounded. Three at once, with tests/java/churn, in which classes, threads, code and objects come and go for ever:
  samples  heap=all,cpu=samples,monitor=y,thread=y: text, dumps at SIGQUIT
  times    heap=sites,cpu=times,monitor=y: text, dumps at SIGQUIT
  net      heap=all,cpu=samples in binary to a process that is killed while it reads, again and again: the program runs on

usage: hprof_soak.py [--jdk 17] [--minutes 30] [--quits 100]
Exit status: 0 all of it, 1 not.
"""

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import bridge
import bridge_churn
import jvm

LOOK_S = 5
NET_S = 40  # that a JVM of "net" lives
# What resident memory may grow by in the last third: traces are kept up to a limit (docs/hprof.md).
TRACES_MB, GROWTH_MB = 256, 24
OPTIONS = {"samples": "heap=all,cpu=samples,monitor=y,thread=y,depth=8,interval=5",
           "times": "heap=sites,cpu=times,monitor=y,depth=8"}
TABLES = {"samples": ("MONITOR DUMP", "MONITOR TIME", "HEAP DUMP", "SITES", "CPU SAMPLES"),
          "times": ("MONITOR DUMP", "MONITOR TIME", "SITES", "CPU TIME (ms)")}
# Reads what HPROF sends; killed by the test.
READER = "import socket,sys\ns=socket.create_server(('127.0.0.1',0))\nprint(s.getsockname()[1],flush=True)\nc=s.accept()[0]\n" \
         "while c.recv(1<<16): print(flush=True)\n"


def resident(pid):
    with open("/proc/%d/statm" % pid) as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


class Text:
    """What a JVM writes into a pipe: each table begins and ends."""

    def __init__(self, path):
        os.mkfifo(path)
        self.found = {}
        self.bytes, self.bad = 0, []
        self.thread = threading.Thread(target=self.read, args=(path,))
        self.thread.start()

    def read(self, path):
        with open(path, "rb") as f:
            for line in f:
                self.bytes += len(line)
                if m := re.match(rb"(MONITOR DUMP|MONITOR TIME|HEAP DUMP|SITES|CPU SAMPLES|CPU TIME \(ms\)) (BEGIN|END)\b", line):
                    self.count(m[1].decode(), m[2] == b"BEGIN")

    def count(self, table, begins):
        begun, ended = self.found.get(table, (0, 0))
        self.found[table] = (begun + begins, ended + (not begins))
        if begun != ended + (not begins):
            self.bad.append("%s begins or ends twice" % table)


class Program:
    """A JVM under HPROF, which says from time to time that it is alive."""

    def __init__(self, jdk, seconds, options, tmp, name):
        self.name, self.err, self.last, self.heard, self.ended = name, os.path.join(tmp, name + ".err"), "", time.monotonic(), False
        self.longest = 0
        with open(self.err, "wb") as err:
            self.java = jvm.Jvm(jdk, jvm.compile_java(jdk, "churn"), "Churn", [str(seconds), "return"],
                                [*bridge_churn.FLAGS, bridge.hosted("hprof", options, "quiet,")], stderr=err)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while (line := self.java.line(jvm.PATIENCE * 10)) is not None:
            now = time.monotonic()
            self.longest, self.heard, self.last = max(self.longest, now - self.heard), now, line
        self.ended = True

    def stands_still(self):
        return not self.ended and time.monotonic() - self.heard > 2 * jvm.PATIENCE

    def end(self):
        """What was wrong."""
        self.thread.join(10 * jvm.PATIENCE)
        status = self.java.proc.wait(jvm.PATIENCE)
        with open(self.err, errors="replace") as f:
            said = f.read()
        return ["%s: exit status %d\n%s" % (self.name, status, said[-2000:])] if status else []


def quits(o, program, series):
    """Sends SIGQUIT in even steps until it ends."""
    begin, sent = time.monotonic(), 0
    while not program.ended:
        if program.stands_still():
            bridge_churn.stacks_keep(program.java.pid, o.keep / ("%s-%d" % (program.name, program.java.pid)))
            program.java.proc.kill()
            return sent, ["%s: stands still; its stacks are in %s" % (program.name, o.keep)]
        time.sleep(0.5)
        due = (time.monotonic() - begin) / (60 * o.minutes) * (o.quits + 1)
        if sent + 1 <= min(due, o.quits) and not program.ended:
            program.java.proc.send_signal(signal.SIGQUIT)
            sent += 1
        if time.monotonic() - begin > LOOK_S * len(series):
            series.append(resident(program.java.pid))
    return sent, []


def text(jdk, o, tmp, name, bad):
    path = os.path.join(tmp, name + ".fifo")
    dumps, series = Text(path), []
    program = Program(jdk, 60 * o.minutes, "%s,verbose=n,file=%s" % (OPTIONS[name], path), tmp, name)
    sent, wrong = quits(o, program, series)
    wrong += program.end()
    dumps.thread.join(jvm.PATIENCE)
    wrong += ["%s: %s" % (name, b) for b in dumps.bad]
    for table in TABLES[name]:
        begun, ended = dumps.found.get(table, (0, 0))
        # Signals that arrive during a dump are one.
        if begun != ended or not sent // 2 < begun <= sent + 1:
            wrong.append("%s: %d %s begun, %d ended, of %d dumps" % (name, begun, table, ended, sent + 1))
    n = len(series) // 3
    before, after = (statistics.median(part) for part in (series[n:2 * n], series[-n:])) if n else (0, 0)
    print("%s: %d SIGQUIT, %s; %.1f GB of text; resident MB: first %.0f, second third %.0f, last third %.0f, most %.0f; longest silence %.1f s; %s" % (
        name, sent, dumps.found, dumps.bytes / 1e9, series[0], before, after, max(series), program.longest, program.last), flush=True)
    if after > before + GROWTH_MB and after > series[0] + TRACES_MB + GROWTH_MB:
        wrong.append("%s: resident memory grew from %.0f to %.0f MB" % (name, before, after))
    bad += wrong


def net_once(jdk, tmp, number, seconds):
    reader = subprocess.Popen([sys.executable, "-c", READER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              preexec_fn=jvm.die_with_parent)
    options = "heap=all,cpu=samples,format=b,dumper=jvmpi,depth=8,verbose=n,net=127.0.0.1:%d" % int(reader.stdout.readline())
    program = Program(jdk, seconds, options, tmp, "net-%d" % number)
    swallow = threading.Thread(target=lambda: [None for _ in reader.stdout])
    swallow.start()
    time.sleep(seconds / 2)
    program.java.proc.send_signal(signal.SIGQUIT)
    time.sleep(0.1 * (number % 8))
    reader.kill()
    reader.wait()
    swallow.join()
    program.java.proc.send_signal(signal.SIGQUIT)
    bad = program.end()
    with open(program.err, errors="replace") as f:
        said = f.read().count("cannot write to 127.0.0.1")
    return bad or ([] if said == 1 else ["net-%d: %d times said that the reader is gone" % (number, said)])


def net(jdk, o, tmp, bad):
    end, number, wrong = time.monotonic() + 60 * o.minutes, 0, []
    while time.monotonic() + NET_S < end:
        wrong += net_once(jdk, tmp, number, NET_S)
        number += 1
    print("net: %d JVMs whose reader was killed; %d failed" % (number, len(wrong)), flush=True)
    bad += wrong if number else ["net: too few minutes"]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk", default="17")
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--quits", type=int, default=100)
    p.add_argument("--keep", type=bridge_churn.pathlib.Path, default=bridge_churn.pathlib.Path(tempfile.gettempdir()) / "js-hprof-soak")
    o = p.parse_args()
    jdk, bad = jvm.pick_jdk(o.jdk), []
    o.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="js-") as tmp:
        threads = [threading.Thread(target=text, args=(jdk, o, tmp, name, bad)) for name in OPTIONS]
        threads.append(threading.Thread(target=net, args=(jdk, o, tmp, bad)))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
