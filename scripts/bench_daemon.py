"""The measurement behind scripts/bench --daemon: memory and CPU time of a daemon that samples many JVMs.

Four JVMs have two busy threads each: javac, the H2 database, Clojure and tests/java/cli/Busy.java. The others hardly do anything,
as most of a host's JVMs; every third of them is a database with a little work. Each minute gets a line, by role of the daemon's
processes; the last minutes are compared with the bars of a steady state."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("JSAMPLER_BUILD", str(ROOT / "build/release"))  # history.py
os.environ.setdefault("JSAMPLER", os.environ["JSAMPLER_BUILD"] + "/sampler/cli/jsampler")
import attribution  # noqa: E402
import daemon  # noqa: E402
import history  # noqa: E402
import jvm  # noqa: E402
from bench_has_run import cpu_clock  # noqa: E402
from bench_rows import finish, row  # noqa: E402

USER = 61300  # of the JVMs; the daemon leaves out all others
RULES = "[rule ours]\nuser = %d\n[rule others]\npid = *\nsample = no\n" % USER
ROLES = ("first", "worker", "broker", "keeper", "other")
BAR_MB, BAR_CPU = 150, 1.0
STEADY_MINUTES = 5  # the last ones, of whose CPU time the mean counts
IDLE_MB, BUSY_MB = 48, 256
WHO = {"user": USER, "group": USER, "extra_groups": []}

Usage = collections.namedtuple("Usage", "pss rss fds threads cpu")


# ---- the JVMs ----------------------------------------------------------------------------------


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

    def start(self, path, main, args, mb):
        return jvm.Jvm(self.jdk, path, main, list(map(str, args)), ["-Xmx%dm" % mb, "-XX:+UseSerialGC"], env={"PATH": os.environ["PATH"]},
                       stderr=subprocess.DEVNULL, who=WHO)

    def start_twice(self, path, main, *args):
        return self.start("%s:%s" % (self.twice, path), "Twice", [main, *args], BUSY_MB)

    def busy(self):
        """Four JVMs of two busy threads each."""
        clojure = attribution.find_jars("clojure.jar", "spec.alpha.jar", "core.specs.alpha.jar")
        h2 = attribution.find_jars("h2.jar")
        yield self.start_twice(self.work, "Javac", self.sources, self.out)
        yield self.start_twice("%s:%s" % (self.work, h2), "H2")
        yield self.start_twice(clojure, "clojure.main", self.script)
        yield self.start(self.cli, "Busy", [], IDLE_MB)

    def idle(self, n):
        h2 = attribution.find_jars("h2.jar")
        for i in range(n):
            if i % 3:
                yield self.start(self.cli, "Busy", ["idle"], IDLE_MB)
            else:
                yield self.start("%s:%s" % (self.work, h2), "H2", [2000], IDLE_MB)


def start_all(programs, n, jvms):
    """jvms: where they are added, so that they are stopped whatever happens. What is busy may take minutes to be ready."""
    for j in programs.idle(n - 4):
        jvms.append(j)
    for j in jvms:
        if j.argv[-2] == "Busy":
            j.wait_ready()
    jvms.extend(programs.busy())


# ---- the daemon --------------------------------------------------------------------------------


def fields(path):
    with open(path) as f:
        return {k: v.split() for k, v in (line.split(":", 1) for line in f if ":" in line)}


def role(d, pid, comm):
    if pid == d.proc.pid:
        return "first"
    name = comm.split(" ")[0]
    if name == "worker":
        return "worker" if d.process("worker") == pid else "broker"
    return name if name in ROLES else "other"


def usage_of(pid):
    memory = fields("/proc/%d/smaps_rollup" % pid)
    return Usage(int(memory["Pss"][0]) / 1024, int(memory["Rss"][0]) / 1024, len(os.listdir("/proc/%d/fd" % pid)),
                 len(os.listdir("/proc/%d/task" % pid)), cpu_clock(pid))


def look(d):
    """{(role, pid): Usage} of its processes."""
    found = {}
    for pid in (d.proc.pid, *daemon.tree(d.proc.pid)):
        try:
            comm = pathlib.Path("/proc/%d/comm" % pid).read_text().strip()
            found[role(d, pid, comm), pid] = usage_of(pid)
        except OSError:
            pass  # it has ended meanwhile
    return found


def total(found, what):
    return sum(getattr(u, what) for u in found.values())


def used_since(before, now):
    """CPU seconds. Of a process that has ended in between, the last part is missing."""
    return sum(u.cpu - (before[k].cpu if k in before else 0) for k, u in now.items())


def lost(d):
    return sum(int(n) for n in re.findall(r"(\d+) samples were lost", d.said()))


def cores_of(jvms, before, seconds):
    """What the JVMs have used since then: how much there was to sample."""
    now = {j.pid: jvm.cpu_seconds(j.pid) for j in jvms if j.proc.poll() is None}
    used = sum(now[p] - before[p] for p in now if p in before) / seconds
    return used, now


def minute(d, tmp, n, before, now, seconds, cores):
    """A line of the table."""
    status = json.loads(history.get(tmp + "/run/s.sock", "/api/v1/status")[2])
    pss = {r: sum(u.pss for (role_, _), u in now.items() if role_ == r) for r in ROLES}
    cpu = 100 * used_since(before, now) / seconds
    print("%4d  %7.1f  %s  %6.2f  %5.2f  %5d  %4d/%-4d  %4d  %4d  %6.1f  %8.1f" % (
        n, total(now, "pss"), "  ".join("%6.1f" % pss[r] for r in ROLES), cpu, cores, lost(d), status["jvms"], status["jvms_lowered"],
        total(now, "fds"), total(now, "threads"), status["ring_bytes"] / 2**20, status["store_bytes"] / 2**20), flush=True)
    return cpu


def watch(d, tmp, minutes, jvms):
    """Prints the table; the CPU time of each minute, and how it was at the end."""
    print("%4s  %7s  %s  %6s  %5s  %5s  %9s  %4s  %4s  %6s  %8s" % (
        "min", "PSS MB", "  ".join("%6s" % r for r in ROLES), "CPU %", "cores", "lost", "JVMs/less", "fds", "thr", "ring", "store MB"), flush=True)
    cpus, before, at = [], look(d), time.monotonic()
    worked = cores_of(jvms, {}, 1)[1]
    for n in range(1, minutes + 1):
        time.sleep(max(0, at + 60 - time.monotonic()))
        now, then = look(d), time.monotonic()
        cores, worked = cores_of(jvms, worked, then - at)
        cpus.append(minute(d, tmp, n, before, now, then - at, cores))
        before, at = now, then
    return cpus, before


def judge(o, d, cpus, last, held):
    last_cpus = cpus[-STEADY_MINUTES:]
    cpu, mb = sum(last_cpus) / len(last_cpus), total(last, "pss")
    row("memory of the daemon (PSS) after %d min" % o.minutes, "%.1f MB" % mb, "<= %d MB" % BAR_MB, mb <= BAR_MB)
    row("CPU of a core, mean of the last %d min" % len(last_cpus), "%.2f %%" % cpu, "<= %g %%" % BAR_CPU, cpu <= BAR_CPU)
    row("samples lost", str(lost(d)), "0", lost(d) == 0)
    row("JVMs that ran until the end", "%d of %d" % (held, o.jvms), "all", held == o.jvms)
    ended = re.findall(r".*ended unexpectedly.*", d.said())
    row("processes of the daemon that ended", str(len(ended)), "0", not ended)


def stop(d):
    try:
        d.stop()
    except subprocess.TimeoutExpired:  # on a machine that others keep busy
        d.proc.kill()
        d.proc.wait()


def measure(o, jdk, tmp, jvms):
    os.chmod(tmp, 0o755)
    start_all(Programs(jdk, tmp), o.jvms, jvms)
    sampling = "frequency = %d\n" % o.frequency + ("" if o.governed else "cpu_limit = 100%")
    d = daemon.Daemon(tmp, rules=RULES, sampling=sampling)
    try:
        if not jvm.wait_until(lambda: d.process("keeper") and d.process("worker"), 30):
            sys.exit("the daemon does not begin: " + d.said())
        cpus, last = watch(d, tmp, o.minutes, jvms)
        if o.hold:
            print("PIDs: %s; its files are in %s. Go on with Enter." % (", ".join("%s %d" % k for k in last), tmp), flush=True)
            sys.stdin.readline()
        judge(o, d, cpus, last, sum(j.proc.poll() is None for j in jvms))
    finally:
        stop(d)


def main():
    p = argparse.ArgumentParser(prog="scripts/bench --daemon")
    p.add_argument("--daemon", action="store_true")
    p.add_argument("--jvms", type=int, default=20, help="of which four are busy (20)")
    p.add_argument("--minutes", type=int, default=30, help="from the daemon's start on (30)")
    p.add_argument("--frequency", type=int, default=49)
    p.add_argument("--governed", action="store_true", help="with the usual cpu_limit; otherwise none, so that it hides no cost")
    p.add_argument("--jdk", help="major version or directory; otherwise the oldest that is installed")
    p.add_argument("--hold", action="store_true", help="waits for Enter before the daemon is stopped, to look at its processes")
    o = p.parse_args()
    if os.geteuid() != 0:
        sys.exit("needs root")
    if o.jvms < 5 or o.minutes < 1:
        sys.exit("at least 5 JVMs and a minute")
    jdk, began, jvms = jvm.pick_jdk(o.jdk), time.monotonic(), []
    print("%d CPUs, load %.1f, kernel %s, %d JVMs of JDK %d, %d Hz%s" % (
        os.cpu_count(), os.getloadavg()[0], os.uname().release, o.jvms, jdk.major, o.frequency, ", governed" if o.governed else ""), flush=True)
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        try:
            measure(o, jdk, tmp, jvms)
        finally:
            for j in jvms:
                j.stop()
    return finish(began)


if __name__ == "__main__":
    sys.exit(main())
