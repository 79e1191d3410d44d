#!/usr/bin/env python3
"""No JVM stands still for the bridge, under what makes the JVM's own threads wait for each other (tests/java/churn):
class loaders, threads, code, collections, and the end of the JVM in the midst of it. Runs alternate between
  agent   a JVMPI agent that enables every event but those that make all code interpreted (tests/jvmpi/churn.c), and
          jsampler --bridge on, again and again
  bridge  jsampler --bridge on alone, again and again
and, only when asked for,
  samples HPROF's cpu=samples each millisecond, with stacks=signal, alone
and the collectors take turns. A JVM that prints nothing for --still seconds has the native stacks of all its threads
saved in --keep; when it prints nothing for as long again and neither uses CPU time nor waits for a CPU, it stands still.

usage: bridge_churn.py [--runs 8] [--jdk 17,25|HOME] [--seconds 15] [--parallel 4] [--mode agent|bridge|samples] [--flush]
                       [--inserted]
--inserted: the agent has calls of methods too, by calls=inserted, in every run.
--flush: with a bridge that makes the call which must not be made (docs/jvmti-waits.md), on JDK 17 to 25.
Exit status: 0 none stood still or failed, 1 some did; with --flush: 0 some stood still, 1 none did.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import jvm

COLLECTORS = ("G1", "Serial", "Parallel", "Z")
FLAGS = ["-Xmx96m", "-XX:ReservedCodeCacheSize=16m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading",
         "-XX:-CreateCoredumpOnCrash"]
TASK_FILES = ("wchan", "syscall", "stack")
RECORD_S = 4
IDLE_CPU = 0.03  # of a CPU, while a safepoint cannot begin
STARVED = 0.5  # of the time some thread waits for a CPU: such a JVM is slow, and no more
COUNTED = ("CLASS_UNLOAD", "OBJECT_FREE", "GC_START", "JS_GC_PAUSE")
# Each has to be seen.
EVENTS = {"CLASS_LOAD": "event 42", "CLASS_UNLOAD": "event 43", "COMPILED_METHOD_LOAD": "event 7", "THREAD_START": "event 33",
          "COMPILED_METHOD_UNLOAD": "event 8", "THREAD_END": "event 34", "OBJECT_FREE": "event 5", "GC_START": "event 60",
          "GC_FINISH": "event 61", "JS_CODE_LOAD": "extension 0", "JS_CODE_UNLOAD": "extension 1",
          "JS_GC_PAUSE": "extension 3", "CLASS_LOAD_HOOK": "event 35", "HEAP_DUMP": "event 37", "MONITOR_WAIT": "event 57",
          "MONITOR_WAITED": "event 58", "MONITOR_DUMP": "event 59"}  # numbers of jvm-bridge/jvmpi/jvmpi.h
CALLS = {"METHOD_ENTRY": "event 1", "METHOD_EXIT": "event 3"}
# What can be had only from the JVM's start, without the events that make all code interpreted.
CAPABILITIES = "events=MONITOR_DUMP,"


def library(flush):
    built = jvm.build_dir()
    return built / ("tests/integration/libjvmpi_flush.so" if flush else "jvm-bridge/libjsampler-bridge.so")


def kernel_side(pid):
    """Where the kernel has each of its threads."""
    text = []
    for task in sorted(pathlib.Path("/proc/%d/task" % pid).iterdir()):
        try:
            text.append("thread %s %s" % (task.name, (task / "comm").read_text().strip()))
            text += ["    %s: %s" % (n, (task / n).read_text().strip().replace("\n", " ")) for n in TASK_FILES]
        except OSError as e:
            text.append("    %s" % e)
    return "\n".join(text) + "\n"


def stacks_keep(pid, path):
    """All native stacks of it, in a file."""
    try:
        p = subprocess.run([str(jvm.build_dir() / "tests/integration/native_stacks"), str(pid)], text=True, timeout=60,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        text = p.stdout
    except (OSError, subprocess.TimeoutExpired) as e:
        text = "%s\n" % e
    path.write_text(kernel_side(pid) + "\n" + text)


def cpu_wanted(pid):
    """Seconds that it has used a CPU, and that its threads have waited for one."""
    waited = 0
    for stat in pathlib.Path("/proc").glob("%d/task/*/schedstat" % pid):
        try:
            waited += int(stat.read_text().split()[1]) / 1e9
        except OSError:
            pass  # it has ended
    return jvm.cpu_seconds(pid), waited


def is_idle(before, now, seconds):
    return now[0] - before[0] < IDLE_CPU * seconds and now[1] - before[1] < STARVED * seconds


class Run:
    """One JVM from its start to its end."""

    def __init__(self, number, jdk, mode, o, tmp):
        self.number, self.jdk, self.mode, self.o = number, jdk, mode, o
        self.gc = collector(jdk, number)
        self.name = "%d-%s-%s-%d" % (jdk.major, mode, self.gc, number)
        self.counts, self.err = os.path.join(tmp, self.name + ".counts"), os.path.join(tmp, self.name + ".err")
        self.sampler = None
        self.samples = self.longest = 0
        self.last = ""
        self.seen = set()

    def flags(self):
        if self.mode == "samples":
            return [*FLAGS, "-XX:+UnlockExperimentalVMOptions", "-XX:+Use%sGC" % self.gc,
                    "-agentpath:%s=quiet,stacks=signal,events=CLASS_LOAD,agent=hprof:cpu=samples,interval=1,depth=64,verbose=n,file=%s"
                    % (library(self.o.flush), self.counts)]
        agent = jvm.build_dir() / "tests/integration/libjvmpi_churn.so"
        return [*FLAGS, "-XX:+UnlockExperimentalVMOptions", "-XX:+Use%sGC" % self.gc,
                *(["-agentpath:%s=quiet,%sagent=%s:%s" % (library(self.o.flush), CAPABILITIES + ("calls=inserted," if self.o.inserted else ""), agent, self.counts)]
                  if self.mode == "agent" else [])]

    def sample(self, pid, time_left):
        """One jsampler at a time, and the next when it has ended."""
        if self.sampler and self.sampler.poll() is not None:
            self.samples += self.sampler.returncode == 0
            self.sampler = None
        if not self.sampler and time_left > 1 and self.mode != "samples":
            self.sampler = subprocess.Popen(
                [jvm.jsampler_path(), "-p", str(pid), "-d", str(RECORD_S), "--bridge", "on", "-f", "folded", "-o", os.devnull],
                env=dict(os.environ, JSAMPLER_BRIDGE=str(library(self.o.flush))), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)

    def sampler_end(self, seconds):
        """The last one ends with its JVM; beside one that stands still it is killed."""
        if not self.sampler:
            return
        try:
            self.samples += self.sampler.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            self.sampler.kill()
            self.sampler.wait()

    def watch(self, java):
        """None when it ended, else why not."""
        begin = heard = time.monotonic()
        kept, cpu = None, (0, 0)
        while True:
            if self.last:
                self.sample(java.pid, begin + self.o.seconds - time.monotonic())
            try:
                line = java.line(0.2)
            except TimeoutError:
                line = ""
            now = time.monotonic()
            if line is None:
                return None
            if line:
                self.last, heard, kept = self.last if line == "ending" else line, now, None
            self.longest = max(self.longest, now - heard)
            silent = now - heard
            if silent > self.o.still and not kept:
                kept = self.keep(java.pid)
                cpu = cpu_wanted(java.pid)
            elif kept and silent > 2 * self.o.still and (
                    silent > jvm.PATIENCE or is_idle(cpu, cpu_wanted(java.pid), self.o.still)):
                return "STANDS STILL behind %r; its stacks are in %s" % (self.last, kept)

    def keep(self, pid):
        path = self.o.keep / ("stacks-%s-%d" % (self.name, pid))
        stacks_keep(pid, path)
        return path

    def go(self):
        """What was wrong, "" when nothing was."""
        last = ["return"] if self.number % 3 == 0 else []
        with open(self.err, "wb") as err, jvm.Jvm(self.jdk, jvm.compile_java(self.jdk, "churn"), "Churn",
                                                  [str(self.o.seconds), *last], self.flags(), stderr=err) as java:
            bad = self.watch(java)
            status = java.proc.wait(jvm.PATIENCE) if not bad else 0
            bad = bad or ("exit status %d" % status if status else "")
            self.sampler_end(jvm.PATIENCE if not bad else 0.1)
        if bad:
            bad += "\n" + pathlib.Path(self.err).read_text(errors="replace")[-3000:]
        return bad or self.told()

    def told(self):
        """Which events came; whether the end did."""
        if self.mode == "bridge":
            return ""
        if self.mode == "samples":
            return self.sampled()
        text = pathlib.Path(self.counts).read_text() if os.path.exists(self.counts) else ""
        facts = dict(line.rsplit(" ", 1) for line in text.replace(":", "").splitlines())
        if facts.get("ended") != "1":
            return "no JVM_SHUT_DOWN; the agent says %r" % text
        self.seen = {n for n, key in wanted(self.o).items() if int(facts.get(key, 0))}
        self.last += "; " + ", ".join("%s %s" % (n, facts.get(EVENTS[n], 0)) for n in COUNTED)
        self.last += ", RunGC %s, without an event %s" % (facts["runs"], facts["late"])
        return ""

    def sampled(self):
        """Whether stacks were taken by signals: each of these has frames."""
        text = pathlib.Path(self.counts).read_text(errors="replace") if os.path.exists(self.counts) else ""
        total = re.search(r"CPU SAMPLES BEGIN \(total = (\d+)\)", text)
        self.last += "; %s samples" % (total.group(1) if total else "no")
        errors = pathlib.Path(self.err).read_text(errors="replace")
        if "stacks=signal:" in errors:
            return errors[-500:]
        self.samples = int(total.group(1)) if total else 0
        return "" if total else "no CPU SAMPLES"


def wanted(o):
    return dict(EVENTS, **CALLS) if o.inserted else EVENTS


def collector(jdk, number):
    usable = [gc for gc in COLLECTORS if gc != "Z" or jdk.major >= 11]
    return usable[number // 2 % len(usable)]


def never_seen(runs, o):
    """What a mode of a JDK did not do in any of its runs: of a bridge that tells nothing no JVM stands still."""
    bad = []
    for major in {r.jdk.major for r in runs}:
        of_agent = [r for r in runs if r.jdk.major == major and r.mode == "agent"]
        of_bridge = [r for r in runs if r.jdk.major == major and r.mode == "bridge"]
        missing = set(wanted(o)) - set().union(*(r.seen for r in of_agent))
        if of_agent and missing:
            bad.append("JDK %d: no %s in any of %d runs" % (major, ", ".join(sorted(missing)), len(of_agent)))
        of_samples = [r for r in runs if r.jdk.major == major and r.mode == "samples"]
        if of_samples and not any(r.samples for r in of_samples):
            bad.append("JDK %d: no samples" % major)
        if of_bridge and not any(r.samples for r in of_bridge):
            bad.append("JDK %d: no jsampler --bridge on ended well" % major)
    return bad


def run_one(run):
    begin = time.monotonic()
    try:
        bad = run.go()
    except Exception as e:  # one run more that failed, not the end of all
        bad = "%s: %s" % (type(e).__name__, e)
    print("%s: %s; %.0f s, %d recordings, longest silence %.1f s; %s" % (
        run.name, bad or "ok", time.monotonic() - begin, run.samples, run.longest, run.last), flush=True)
    return bad


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--runs", type=int, default=8, help="of all JDKs together, in turn")
    p.add_argument("--jdk", help="numbers or homes, separated by commas; all that are here")
    p.add_argument("--seconds", type=float, default=15)
    p.add_argument("--still", type=float, default=20 if not jvm.STRICT else 10)
    p.add_argument("--parallel", type=int, default=4)
    p.add_argument("--mode", choices=("agent", "bridge", "samples"))
    p.add_argument("--flush", action="store_true")
    p.add_argument("--inserted", action="store_true")
    p.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "js-bridge-churn")
    return p.parse_args()


def main():
    o = arguments()
    jdks = [jvm.pick_jdk(j) for j in o.jdk.split(",")] if o.jdk else sorted(jvm.find_jdks().values())
    if not jdks:
        return jvm.SKIP
    o.keep.mkdir(parents=True, exist_ok=True)
    for jdk in jdks:
        jvm.compile_java(jdk, "churn")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="js-") as tmp, concurrent.futures.ThreadPoolExecutor(o.parallel) as pool:
        runs = [Run(i // len(jdks), jdks[i % len(jdks)], o.mode or ("agent", "agent" if o.inserted else "bridge")[i // len(jdks) % 2], o, tmp)
                for i in range(o.runs)]
        bad = [b for b in pool.map(run_one, runs) if b]
    still = sum("STANDS STILL" in b for b in bad)
    for b in [] if still else never_seen(runs, o):
        print("FAILED:", b)
        bad.append(b)
    print("%d runs of %g s on JDK %s%s: %d stood still, %d failed otherwise; %.0f s" % (
        len(runs), o.seconds, ", ".join(str(j.major) for j in jdks), " with the flush" if o.flush else "", still,
        len(bad) - still, time.monotonic() - begin))
    return 0 if (still if o.flush else not bad) else 1


if __name__ == "__main__":
    sys.exit(main())
