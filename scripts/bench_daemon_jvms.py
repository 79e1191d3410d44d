"""The JVMs of scripts/bench --daemon: busy ones, idle ones, and those that come and go."""

import math
import os
import pathlib
import random
import signal
import subprocess
import time

import attribution
import jvm

USER = 61300  # the daemon leaves out all others
RULES = "[rule ours]\nuser = %d\n[rule others]\npid = *\nsample = no\n" % USER
IDLE_MB, BUSY_MB = 48, 256
SMALL = ("-Xmx16m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
WHO = {"user": USER, "group": USER, "extra_groups": []}


def flags(mb):
    return ["-Xmx%dm" % mb, "-XX:+UseSerialGC"]


class Programs:
    """Class files and sources, where the JVMs' user can read them."""

    def __init__(self, jdk, tmp):
        self.jdk, self.tmp = jdk, pathlib.Path(tmp)
        self.twice, self.cli = (jvm.public(jvm.compile_java(jdk, n)) for n in ("twice", "cli"))
        self.work = self.tmp / "classes"
        self.out = self.tmp / "out"
        self.out.mkdir()
        os.chown(self.out, USER, USER)
        sources = [str(attribution.HERE / ("attribution_%s.java" % n)) for n in ("H2", "Javac")]
        subprocess.run([str(jdk.home / "bin/javac"), "-nowarn", "-d", str(self.work), *sources], check=True)
        self.script = jvm.public(attribution.HERE / "attribution_clojure.clj")
        self.sources = attribution.extract_sources(self.tmp)
        self.h2_path = "%s:%s" % (self.work, attribution.find_jars("h2.jar"))

    def start(self, path, main, args, options):
        return jvm.Jvm(self.jdk, path, main, list(map(str, args)), options, env={"PATH": os.environ["PATH"]}, stderr=subprocess.DEVNULL,
                       who=WHO)

    def twice_of(self, path, main, *args):
        return self.start("%s:%s" % (self.twice, path), "Twice", [main, *args], flags(BUSY_MB))

    def busy(self):
        """Four JVMs of two busy threads each."""
        clojure = attribution.find_jars("clojure.jar", "spec.alpha.jar", "core.specs.alpha.jar")
        yield self.twice_of(self.work, "Javac", self.sources, self.out)
        yield self.twice_of(self.h2_path, "H2")
        yield self.twice_of(clojure, "clojure.main", self.script)
        yield self.start(self.cli, "Busy", [], flags(IDLE_MB))

    def calm(self, n):
        """JVMs that do little; every third is a database with some work."""
        for i in range(n):
            yield self.wait_for_work() if i % 3 else self.database(2000)

    def wait_for_work(self):
        return self.start(self.cli, "Busy", ["idle"], flags(IDLE_MB))

    def small(self):
        """One that does nothing at all, and takes little memory."""
        return self.start(self.cli, "Busy", ["idle"], SMALL)

    def database(self, pause_ms):
        return self.start(self.h2_path, "H2", [pause_ms], flags(IDLE_MB))

    def compiler(self):
        return self.start(self.work, "Javac", [self.sources, self.out], flags(BUSY_MB))

    def mix(self, n, jvms):
        """jvms: where they are added, so that they are stopped whatever happens. What is busy may take minutes to be ready."""
        for j in self.calm(n - 4):
            jvms.append(j)
        for j in jvms:
            if j.argv[-2] == "Busy":
                j.wait_ready()
        jvms.extend(self.busy())

    def idle(self, n, jvms):
        """Ten at a time, so that they start in a bounded time."""
        while len(jvms) < n:
            new = [self.small() for _ in range(min(10, n - len(jvms)))]
            jvms += new
            for j in new:
                j.wait_ready()


class Churn:
    """JVMs that start and end: a compiler, a database and a program that waits, in turn; the first is busy, the second for some of its
    time. They live for 1 to 60 s, and half of them are killed. For REST_S before every look that is a multiple of REST_EVERY,
    a minute each, there are none, so that what the daemon holds at such times can be compared."""

    REST_EVERY, REST_S = 5, 90

    def __init__(self, programs, n, seconds):
        self.kinds = (programs.compiler, lambda: programs.database(100), programs.wait_for_work)
        self.n, self.started, self.ends = n, 0, []
        self.cpu = 0  # seconds, of those that have ended
        self.pause = seconds * (1 - self.REST_S / (60 * self.REST_EVERY)) / n
        self.random = random.Random(1)
        self.next_at = None
        self.looks = 0

    @classmethod
    def rests_at(cls, look):
        """look: which one, from 1 on."""
        return look % cls.REST_EVERY == 0

    def run(self, until):
        """Until then (time.monotonic()), when the next look is taken. A rest is counted back from there, so that it lasts until the look
        however late the ones before were."""
        if self.next_at is None:
            self.next_at = time.monotonic()
        self.looks += 1
        # A rest is longer than the minute before its look, and begins in the one before that.
        rest_at = until + min(60 * n for n in range(self.REST_EVERY) if self.rests_at(self.looks + n)) - self.REST_S
        while time.monotonic() < until:
            now = time.monotonic()
            if now >= rest_at:
                self.end(self.ends)
                self.next_at = time.monotonic()
            elif self.started < self.n and now >= self.next_at:
                self.start_one()
                self.next_at += self.pause
            self.end([e for e in self.ends if e[0] <= now])
            time.sleep(0.2)

    def start_one(self):
        j = self.kinds[self.started % len(self.kinds)]()
        self.ends.append((time.monotonic() + 60 ** self.random.random(), j))
        self.started += 1

    def end(self, which):
        for e in list(which):
            self.ends.remove(e)
            cpu = jvm.cpu_seconds(e[1].pid)
            self.cpu += cpu if math.isfinite(cpu) else 0
            if self.random.random() < 0.5:
                e[1].proc.send_signal(signal.SIGTERM)
                jvm.wait_until(lambda j=e[1]: j.proc.poll() is not None, 5)
            e[1].stop()
