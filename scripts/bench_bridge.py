"""The measurements behind scripts/bench --bridge: what the bridge costs the JVM that it is loaded into.

Two fresh JVMs run the same work in windows in turn, A B B A; only A gets the bridge, after a while. Such a four counts
by what A took in comparison with B, and that by what it was before A got the bridge: so what makes one JVM faster
than another, the machine slower, or the first of two faster than the second drops out. A window is as long as a whole
number of collections takes, so that there is not one more in every other. What is compared runs on one core, and in
that core's own caches: the others depend on who else is on the host, by 15 % from one window to the next.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import bridge  # noqa: E402
import bridge_stream  # noqa: E402
import bridge_wire as wire  # noqa: E402
import jvm  # noqa: E402
from bench_has_run import cpu_clock  # noqa: E402
from bench_rows import UNSURE, finish, judge, midmean, resampled, row  # noqa: E402

BAR, HOSTING_BAR = 1.0, 5.0  # percent
WINDOW_NS = 40_000_000
BLOCK = 6  # fours of windows between a connection and a disconnection
THREADS = 60  # that a window starts
# Compiler threads do not come and go.
FLAGS = ["-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch", "-XX:+IgnoreUnrecognizedVMOptions",
         "-XX:-UseDynamicNumberOfCompilerThreads", "-XX:+EnableDynamicAgentLoading"]
MEASURES = ("wall", "CPU of the thread", "CPU of the JVM")
# Ways of execution in which code does not depend on profiles: by those, C2 makes fresh JVMs differ by 20 % from each other, with an
# agent or without.
WITHOUT_PROFILES = {"interpreted": ["-Xint"], "C1": ["-XX:TieredStopAtLevel=1"], "C2": ["-Xcomp", "-XX:-TieredCompilation"]}


class Program(jvm.Jvm):
    """tests/java/windows/Windows, warm."""

    def __init__(self, jdk, young=1, more=()):
        super().__init__(jdk, jvm.compile_java(jdk, "windows"), "Windows", flags=[*FLAGS, "-Xmn%dm" % young, *more])
        self.wait_ready()
        # One core may be a seventh faster than the other for a while, because of other virtual machines on the host.
        os.sched_setaffinity(self.main_thread(), {max(os.sched_getaffinity(0))})

    def main_thread(self):
        """The thread that runs main(): the first one after the process's own."""
        return min(int(t) for t in os.listdir("/proc/%d/task" % self.pid) if int(t) != self.pid)

    def do(self, what, n):
        """ns by each measure."""
        cpu = cpu_clock(self.pid)
        self.tell("%s %d" % (what, n))
        wall, thread, self.number = (int(x) for x in self.line(jvm.PATIENCE).split())
        return wall, thread, 1e9 * (cpu_clock(self.pid) - cpu)

    def warm(self):
        """Waits until its compilers have been idle for a second; returns the number of units of a window."""
        units, deadline, compiled, since = 50, time.monotonic() + 30, -1, time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - since < 1:
            ns = self.do("work", units)[1]
            units = max(1, int(units * WINDOW_NS / max(ns, WINDOW_NS // 8)))
            self.do("threads", 20)
            self.do("jit", 0)
            if self.number != compiled:
                compiled, since = self.number, time.monotonic()
        return self.whole_collections(units)

    def whole_collections(self, units, times=40):
        self.do("work", units)
        before = self.number
        for _ in range(times):
            self.do("threads", THREADS)
            self.do("work", units)
        each = times * units / max(1, self.number - before)
        return units if each > 1.5 * units else round(each * round(units / each))


class Stream:
    """A sampler that reads the stream and discards it."""

    def __init__(self, jdk, pid, tmp):
        self.jdk, self.pid, self.path = jdk, pid, os.path.join(tmp, "s")
        self.listener = wire.Listener(self.path)

    def connect(self):
        answer = bridge_stream.answer_of(bridge_stream.attach_load(self.jdk, self.pid, "stream=" + self.path))
        if answer:
            sys.exit("the bridge cannot be loaded: %s" % answer)
        self.peer = self.listener.accept()
        if not self.peer.read(bridge_stream.is_kind(wire.REPLAY_END), jvm.PATIENCE):
            sys.exit("the stream does not begin")
        self.peer.conn.settimeout(None)
        self.reader = threading.Thread(target=self.swallow)
        self.reader.start()

    def swallow(self):
        self.read = 0
        while True:
            more = self.peer.conn.recv(1 << 16)
            self.read += len(more)
            if not more:
                return

    def disconnect(self):
        """And waits until the bridge has closed it."""
        self.peer.ask(wire.ASK_BYE)
        self.reader.join()
        self.peer.close()
        time.sleep(0.1)


class Pair:
    """Alternating windows of A and B: {phase: [(A / B by each measure)]}, for two kinds of work."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        with concurrent.futures.ThreadPoolExecutor() as pool:
            units = dict(zip((a, b), pool.map(Program.warm, (a, b))))
        self.amount = {"work": units, "threads": {a: THREADS, b: THREADS}}
        self.ratios = {what: {} for what in self.amount}
        self.own = [0, 0, 0]  # ns of the bridge's threads, collections, ns by the clock; while connected

    def four(self, what):
        a, b = self.a, self.b
        took = [(p, p.do(what, self.amount[what][p])) for p in (a, b, b, a)]
        of_a, of_b = ([sum(m) for m in zip(*(t for p, t in took if p is which))] for which in (a, b))
        return tuple(x / y for x, y in zip(of_a, of_b))

    def fours(self, phase, n):
        self.four("work")  # what changed is digested
        for _ in range(n):
            for what, found in self.ratios.items():
                found.setdefault(phase, []).append(self.four(what))

    def fours_connected(self, n):
        before = own_threads(self.a.pid), self.a.number, time.monotonic_ns()
        self.fours("stream", n)
        after = own_threads(self.a.pid), self.a.number, time.monotonic_ns()
        self.own = [v + y - x for v, x, y in zip(self.own, before, after)]


def own_threads(pid):
    """CPU time of the bridge's threads in ns; 0 if the JVM does not tell the kernel their names (JDK 8)."""
    ns = 0
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            if (task / "comm").read_text().startswith("jsampler"):
                ns += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass  # it has ended
    return ns


def run_pair(jdk, fours, young, nothing):
    with tempfile.TemporaryDirectory(prefix="js-") as tmp, Program(jdk, young) as a, Program(jdk, young) as b:
        pair, stream = Pair(a, b), Stream(jdk, a.pid, tmp)
        for p in (a, b):  # both have the listener of attachments
            jcmd(jdk, p.pid)
        pair.fours("none", fours)
        if not nothing:
            bridge_stream.attach_load(jdk, a.pid, "")
        pair.fours("loaded", fours)
        for _ in range(fours // BLOCK):
            if not nothing:
                stream.connect()
            pair.fours_connected(BLOCK)
            if not nothing:
                stream.disconnect()
            pair.fours("after", BLOCK)
        stream.listener.close()
    return pair


def run_hosting_pair(jdk, fours, young, lib):
    """A hosts an agent that enables no event, attached between two phases."""
    with Program(jdk, young) as a, Program(jdk, young) as b:
        pair = Pair(a, b)
        for p in (a, b):
            jcmd(jdk, p.pid)
        pair.fours("none", fours)
        answer = bridge_stream.answer_of(bridge_stream.attach_load(jdk, a.pid, "quiet,agent=%s" % lib))
        if answer:
            sys.exit("the agent cannot be hosted: %s" % answer)
        pair.fours("hosting", fours)
    return pair


def run_started_pair(jdk, fours, young, lib, flags, hosting_first):
    """One of two JVMs hosts the agent from its start on. They are compared with each other, so they do the same."""
    more = [flags + [bridge.hosted(lib, more="quiet,")], flags]
    a_more, b_more = more if hosting_first else more[::-1]
    with Program(jdk, young, a_more) as a, Program(jdk, young, b_more) as b:
        pair = Pair(a, b)
        pair.amount["work"][a] = pair.amount["work"][b]
        pair.fours("hosting", fours)
    if not hosting_first:
        pair.ratios["work"]["hosting"] = [tuple(1 / v for v in r) for r in pair.ratios["work"]["hosting"]]
    return pair


def measure_hosting(jdk, n_pairs, fours, young):
    lib = bridge.agent("idle")
    pairs = [run_hosting_pair(jdk, fours, young, lib) for _ in range(n_pairs)]
    report_phase(jdk, [p.ratios["work"] for p in pairs], "hosting", "none", "agent attached", HOSTING_BAR)
    for name, flags in WITHOUT_PROFILES.items():
        pairs = [run_started_pair(jdk, fours, young, lib, flags, i % 2 == 0) for i in range(n_pairs)]
        report_phase(jdk, [p.ratios["work"] for p in pairs], "hosting", None, "from start, %s" % name, HOSTING_BAR)


def jcmd(jdk, pid):
    bridge_stream.subprocess.run([str(jdk.home / "bin/jcmd"), str(pid), "VM.version"],
                                 stdout=bridge_stream.subprocess.DEVNULL, check=True)


def effect(pairs, against, phase, measure, pick=lambda v: v):
    """Percent by which a phase takes longer than another, or A than B (None): the middle of its fours, with that of
    each pair."""
    values = []
    for ratios in pairs:
        base = midmean([r[measure] for r in pick(ratios[against])]) if against else 1
        values += [r[measure] / base for r in pick(ratios[phase])]
    return 100 * (midmean(values) - 1)


def bounds(chosen, against, phase, measure):
    """95 % bounds. Of fresh JVMs that are compared with each other, the spread between pairs counts."""
    if against:
        return resampled(lambda draw: effect(chosen, against, phase, measure, draw), 1000)
    each = [effect([p], against, phase, measure) for p in chosen]
    return resampled(lambda draw: midmean(draw(each)), 1000)


def report_phase(jdk, chosen, phase, against, name, bar):
    for i, measure in enumerate(MEASURES):
        low, high = bounds(chosen, against, phase, i)
        n = 2 * sum(len(p[phase]) for p in chosen)  # windows of A
        each = " ".join("%+.2f" % effect([p], against, phase, i) for p in chosen)
        value = "%+.2f %% (%+.2f to %+.2f, %d)" % (effect(chosen, against, phase, i), low, high, n)
        ok = judge(low, high, bar) if bar else None
        ok = UNSURE if bar and n < 200 else ok  # too few to prove anything
        row("JDK %d, %s, %s" % (jdk.major, name, measure), value, "<= %g %%" % bar if bar else "", ok)
        print("    by pair of JVMs: %s" % each)


def report(jdk, pairs, what, has_bar):
    chosen = [p.ratios[what] for p in pairs]
    for phase, against, name in (("loaded", "none", "loaded, nothing enabled, against none"),
                                 ("stream", "none", "stream connected, against none"),
                                 ("stream", "after", "stream connected, against loaded (in turn)")):
        report_phase(jdk, chosen, phase, against, name, BAR if has_bar else None)


def report_own(jdk, pairs):
    ns, collections, wall = (sum(v) for v in zip(*(p.own for p in pairs)))
    if ns and collections:
        row("JDK %d, CPU of the bridge's own threads" % jdk.major, "%.3f %% of a CPU; %.0f us a collection, %.0f a second"
            % (100 * ns / wall, ns / 1000 / collections, 1e9 * collections / wall))


def measure(jdk, n_pairs, fours, young, nothing):
    pairs = []
    for i in range(n_pairs):
        began = time.monotonic()
        pairs.append(run_pair(jdk, fours, young, nothing))
        print("JDK %d: pair %d of %d, %.0f s" % (jdk.major, i + 1, n_pairs, time.monotonic() - began), file=sys.stderr)
    print("lookups, strings, sorting, calls, with a young generation of %d MB:" % young)
    report(jdk, pairs, "work", True)
    report_own(jdk, pairs)
    print("threads that are started and do nothing, one after the other:")
    report(jdk, pairs, "threads", False)


FUTEX, POLL, SENDTO = "202", "7", "44"  # system calls of x86-64: all that the bridge waits in
LOOK_S = 0.0002


class Locks:
    """Polls what the program's main thread waits for: the longest wait for a lock of the bridge, in ns."""

    def __init__(self, program):
        self.own, self.longest, self.looks, self.ended = self.bridge(program.pid), 0, 0, False
        self.path = "/proc/%d/task/%d/syscall" % (program.pid, program.main_thread())
        self.thread = threading.Thread(target=self.look)

    def bridge(self, pid):
        """Its mappings, and the zeroed memory behind them."""
        spans = []
        with open("/proc/%d/maps" % pid) as f:
            for w in map(str.split, f):
                begin, end = (int(x, 16) for x in w[0].split("-"))
                if "libjsampler-bridge" in w[-1]:
                    spans.append((begin, end))
                elif len(w) == 5 and spans and spans[-1][1] == begin:
                    spans.append((begin, end))
        return spans

    def look(self):
        waits, since = None, 0
        while not self.ended:
            with open(self.path) as f:
                w = f.read().split()
            now = time.monotonic_ns()
            own = w[0] in (POLL, SENDTO) or (w[0] == FUTEX and any(x <= int(w[1], 16) < y for x, y in self.own))
            if not own or w[:2] != waits:
                waits, since = w[:2] if own else None, now
            if own:
                self.longest = max(self.longest, now - since + int(1e9 * LOOK_S))
            self.looks += 1
            time.sleep(LOOK_S)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.ended = True
        self.thread.join()


def measure_waits(jdk, n):
    """The longest wait while a class was loaded, other than for a CPU: for anything, as measured by the program (mostly
    collections), and for locks of the bridge, as seen from outside."""
    with tempfile.TemporaryDirectory(prefix="js-") as tmp, Program(jdk) as a:
        found, lost, stream = {}, [], Stream(jdk, a.pid, tmp)

        def worst(name):
            with Locks(a) as locks:
                a.do("classes", n)
            found.setdefault(name, []).append((a.number / 1000, locks.longest / 1000, locks.looks))
        jcmd(jdk, a.pid)
        a.do("classes", n)  # warm-up
        for _ in range(3):
            worst("no bridge")
        for _ in range(3):
            stream.connect()
            worst("stream read")
            stream.disconnect()
            answer = bridge_stream.answer_of(bridge_stream.attach_load(jdk, a.pid, "stream=" + stream.path))
            peer = stream.listener.accept() if answer == 0 else sys.exit("not connected: %s" % answer)
            worst("a sampler that never reads")
            if not peer.read(lambda kind, r: kind == wire.LOST and lost.append(r["lost"]) is None, jvm.PATIENCE):
                sys.exit("the stream was never full")
            worst("a sampler that stopped reading")
            peer.close()  # as the kernel does for one that is killed; the stream is full
            worst("after its end, with the stream full")
        stream.listener.close()
    print("JDK %d: %d classes each time; records lost while nobody read: %s" % (jdk.major, n, lost))
    for name, values in found.items():
        row("JDK %d, longest wait, %s" % (jdk.major, name), " ".join("%.0f" % v[0] for v in values) + " us")
        if name != "no bridge":
            row("... for locks of the bridge, %d looks" % sum(v[2] for v in values),
                " ".join("%.0f" % v[1] for v in values) + " us", "<= 1000 us", max(v[1] for v in values) <= 1000)


def main():
    p = argparse.ArgumentParser(prog="scripts/bench --bridge")
    p.add_argument("--bridge", action="store_true")
    p.add_argument("--quick", action="store_true", help="few windows: a rough result")
    p.add_argument("--jdk", help="one JDK's major version or directory; otherwise the oldest and the newest that are installed")
    p.add_argument("--young", type=int, default=1, metavar="MB",
                   help="of the heap: 1 means a collection in each window or every other one, and fits a core's own cache")
    p.add_argument("--pairs", type=int, help="fresh pairs of JVMs for each JDK (4)")
    p.add_argument("--windows", type=int, help="for each JVM and state (72); more take longer and give narrower bounds")
    p.add_argument("--nothing", action="store_true", help="load nothing: shows the error of the method itself")
    p.add_argument("--hosting", action="store_true", help="instead, measure what hosting an agent costs that enables no event")
    p.add_argument("--waits", action="store_true", help="instead, measure how long Java threads wait while the stream is full")
    o = p.parse_args()
    print("%d CPUs, load %.1f, kernel %s" % (os.cpu_count(), os.getloadavg()[0], os.uname().release))
    began, found = time.monotonic(), jvm.find_jdks()
    fours = max(BLOCK, (o.windows or (12 if o.quick else 72)) // 2 // BLOCK * BLOCK)
    jdks = [jvm.pick_jdk(o.jdk)] if o.jdk else [found[m] for m in sorted({min(found), max(found)})]
    for jdk in jdks:
        if o.waits:
            measure_waits(jdk, 5000)
        elif o.hosting:
            measure_hosting(jdk, o.pairs or (1 if o.quick else 6), fours, o.young)
        else:
            measure(jdk, o.pairs or (1 if o.quick else 4), fours, o.young, o.nothing)
    return finish(began)


if __name__ == "__main__":
    sys.exit(main())
