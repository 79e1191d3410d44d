#!/usr/bin/env python3
"""The bridge in JVMs: JVMPI's guarantees, hosting, agents under load; with those of tests/jvmpi.

usage: bridge.py checks|hosting|agents [--jdk 17] [--soak SECONDS]
"""

import argparse
import collections
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import jvm
import jvmpi_doc

COLLECTORS = ("Serial", "Parallel", "G1", "Z")
BRIDGE = jvm.build_dir() / "jvm-bridge/libjsampler-bridge.so"
STREAM = jvm.build_dir() / "jvm-bridge/libjsampler-stream.so"
DONE = jvm.PATIENCE  # seconds that a JVM may take for anything


def collectors(jdk):
    return [gc for gc in COLLECTORS if gc != "Z" or jdk.major >= 11]


def use(gc):
    """Its flags; Z was an experiment until JDK 15."""
    return ["-XX:+UnlockExperimentalVMOptions", "-XX:+Use%sGC" % gc]


def agent(name):
    return jvm.build_dir() / ("tests/integration/libjvmpi_%s.so" % name)


def classes_of(jdk):
    return jvm.compile_java(jdk, "jvmpi")


class Java:
    """A JVM with options; its output in files."""

    def __init__(self, jdk, tmp, flags, main=("Jvmpi", "idle"), env=None):
        self.jdk, self.arguments = jdk, len(main) - 1
        self.out, self.err = os.path.join(tmp, "out"), os.path.join(tmp, "err")
        argv = [str(jdk.home / "bin/java"), "-Xmx256m", *flags, "-cp", str(classes_of(jdk)), *map(str, main)]
        full = {k: v for k, v in dict(os.environ, **(env or {})).items()
                if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")}
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=out, stderr=err, env=full, cwd=tmp,
                                         preexec_fn=jvm.die_with_parent)
        self.pid = self.proc.pid

    def text(self):
        with open(self.out, errors="replace") as o, open(self.err, errors="replace") as e:
            return o.read() + e.read()

    def errors(self):
        with open(self.err, errors="replace") as e:
            return e.read()

    def wait_for(self, word, timeout=DONE):
        deadline = time.monotonic() + timeout
        while word not in self.text():
            if self.proc.poll() is not None and word not in self.text():
                raise RuntimeError("the JVM ended with %d:\n%s" % (self.proc.returncode, self.text()[-3000:]))
            if time.monotonic() > deadline:
                raise TimeoutError("no %r:\n%s" % (word, self.text()[-3000:]))
            time.sleep(0.01)

    def end(self):
        """Lets it end by itself; the exit status."""
        try:
            self.proc.stdin.write(b"\n")
            self.proc.stdin.close()
        except BrokenPipeError:
            pass
        return self.proc.wait(DONE)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        jvm.forget_attach(self.proc.pid)


# What is not named is not available: METHOD_ENTRY, with which all code would be interpreted.
NO_METHODS = "events=CLASS_LOAD,"


def hosted(lib, options="", more=""):
    return "-agentpath:%s=%sagent=%s%s" % (BRIDGE, more, lib, ":" + options if options else "")


@functools.lru_cache(None)
def warned_anyway(jdk, n):
    """What -Xcheck:jni says of a program with n arguments without any agent: java of JDK 8 makes each argument's
    string without looking for an exception."""
    with tempfile.TemporaryDirectory(prefix="jsampler-bridge-") as tmp:
        with Java(jdk, tmp, ["-Xcheck:jni"], ("Jvmpi", "idle", *["x"] * (n - 1))) as java:
            java.end()
            return collections.Counter(complaints(java.text()))


def complaints(text):
    return [l for l in text.splitlines() if re.search(r"WARNING.*JNI|FATAL ERROR|JNI local refs", l)]


def warnings(java):
    """What -Xcheck:jni says that it does not say without us."""
    found = collections.Counter(complaints(java.text()))
    return list((found - warned_anyway(java.jdk, java.arguments)).elements())


# The guarantee checker.

def data_dump(jdk, java, by_jcmd):
    """Asks for one, by the signal or by jcmd, which has it since JDK 9."""
    if by_jcmd and jdk.major >= 9:
        subprocess.run([str(jdk.home / "bin/jcmd"), str(java.pid), "JVMTI.data_dump"], stdout=subprocess.DEVNULL,
                       timeout=DONE, check=True)
    else:
        os.kill(java.pid, signal.SIGQUIT)
        java.wait_for("Full thread dump")


# ZGC of JDK 11 unloads no classes.
UNLOADS = ("CLASS_UNLOAD", "COMPILED_METHOD_UNLOAD", "JS_CODE_UNLOAD")


def check_run(jdk, gc, more=""):
    without = UNLOADS if (jdk.major, gc) == (11, "Z") else ()
    with tempfile.TemporaryDirectory(prefix="jsampler-bridge-") as tmp:
        report = os.path.join(tmp, "report")
        # The checked IsSameObject of JDK 17 keeps what a weak reference refers to alive while ZGC marks.
        checked = [] if (jdk.major, gc) == (17, "Z") else ["-Xcheck:jni"]
        flags = [*use(gc), *checked, hosted(agent("checker"), report, more)]
        env = {"JVMPI_CHECKER_REGISTERS": "1"} if "registers" in more else {}
        with Java(jdk, tmp, flags, ("Jvmpi", "checks", agent("checker"),
                                       "no" if without else "unload"), env) as java:
            java.wait_for("ready")
            data_dump(jdk, java, more)
            status = java.end()
            text = java.text()
            bad = warnings(java)
        if status:
            bad.append("exit status %d: %s" % (status, text[-1500:]))
        lines = open(report).read().splitlines() if os.path.exists(report) else []
    bad += [l for l in lines if l.startswith("FAIL") and not l.startswith(tuple("FAIL %s:" % w for w in without))]
    ok = {l.split(" ", 1)[1].rsplit(" ", 1)[0] for l in lines if l.startswith("ok ")}
    ours = jvmpi_doc.checks_of("checker")  # bridge_events.py and hosting() have the others
    for r in jvmpi_doc.rows():
        if r.get(str(jdk.major)) == "yes" and r["check"] in ours and r["check"] not in ok and r["check"] not in without:
            bad.append("%s: check %r was not made" % (jvmpi_doc.name_of(r), r["check"]))
    return bad, len(ok)


def checks(jdks, o):
    bad = []
    table = jvmpi_doc.rows()
    for r in table:
        missing = [str(j.major) for j in jdks if r.get(str(j.major)) not in ("yes", "no")]
        if missing:
            bad.append("docs/jvmpi.md: %s says nothing of JDK %s" % (jvmpi_doc.name_of(r), ", ".join(missing)))
    if len(table) < 70:
        bad.append("docs/jvmpi.md: %d rows" % len(table))
    for jdk in jdks:
        for gc in collectors(jdk):
            found, n = check_run(jdk, gc)
            print("JDK %d, %s: %d checks, %s" % (jdk.major, gc, n, "; ".join(found[:4]) or "ok"), flush=True)
            bad += ["JDK %d, %s: %s" % (jdk.major, gc, b) for b in found]
        found, n = check_run(jdk, "Serial", "has_run=registers,")
        print("JDK %d, has_run=registers: %d checks, %s" % (jdk.major, n, "; ".join(found[:4]) or "ok"), flush=True)
        bad += ["JDK %d, has_run=registers: %s" % (jdk.major, b) for b in found]
    return bad


# Hosting.

def start_fails(jdk, tmp, flags, words, status=1):
    """The JVM's start ends with that status, and the last line of the bridge has the words."""
    with Java(jdk, tmp, flags) as java:
        try:
            got = java.proc.wait(DONE)
        except subprocess.TimeoutExpired:
            return ["%s: the JVM runs" % flags]
        ours = [l for l in java.errors().splitlines() if l.startswith("jsampler-bridge:")]
    last = ours[-1] if ours else ""
    bad = []
    if got != status:
        bad.append("%s: exit status %d, not %d" % (flags[-1], got, status))
    bad += ["%s: no %r in %r" % (flags[-1], w, last) for w in words if w not in last]
    if len(last) > 400:
        bad.append("a line of %d characters" % len(last))
    return bad


def refused(jdk, tmp):
    path = "-agentpath:%s=" % BRIDGE
    bad = start_fails(jdk, tmp, [hosted("/nowhere/libnone.so")], ["agent '/nowhere/libnone.so'", "No such file"])
    bad += start_fails(jdk, tmp, [hosted("jsampler_none")], ["agent 'jsampler_none'"])
    bad += start_fails(jdk, tmp, [hosted(BRIDGE)], ["no JVM_OnLoad"])
    bad += start_fails(jdk, tmp, [hosted(jvmpi_doc.DOC)], ["agent '%s'" % jvmpi_doc.DOC])
    bad += start_fails(jdk, tmp, [hosted(agent("tracer"), "fail")], ["tracer", "JVM_OnLoad returned -1"])
    bad += start_fails(jdk, tmp, [hosted(agent("tracer"), "fail", "early,")], ["JVM_OnLoad returned -1"])
    # JDK 8 has no such flag.
    bad += start_fails(jdk, tmp, ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:-CreateCoredumpOnCrash", hosted(agent("tracer"), "crash")],
                       ["libjvmpi_tracer.so': JVM_OnLoad"], -signal.SIGABRT)
    bad += start_fails(jdk, tmp, [hosted(agent("tracer"), "exit")], ["tracer"], 7)
    bad += start_fails(jdk, tmp, [path + "agent="], ["agent= has no value"])
    bad += start_fails(jdk, tmp, [path + "steam=/x"], ["unknown option 'steam=/x'"])
    bad += start_fails(jdk, tmp, [path + "early,,quiet"], ["unknown option ''"])
    bad += start_fails(jdk, tmp, [path + "stream=/a,stream=/b"], ["given more than once"])
    bad += start_fails(jdk, tmp, [path + "stream=" + "/x" * 60], ["no longer than 107 bytes"])
    bad += start_fails(jdk, tmp, [path + "stream=relative"], ["absolute"])
    bad += start_fails(jdk, tmp, [path + "x" * 100000], ["unknown option"])
    bad += start_fails(jdk, tmp, [path + "has_run=magic"], ["unknown option 'has_run=magic'"])
    return bad


def traced(jdk, tmp, flags, env=None, name="trace", slashes=False):
    """The class-load tracer of the specification sees classes, Init, and the end."""
    trace = os.path.join(tmp, name)
    if os.path.exists(trace):
        os.unlink(trace)
    with Java(jdk, tmp, flags, env=env) as java:
        java.wait_for("ready")
        status = java.end()
        text = java.text()
    if status or not os.path.exists(trace):
        return ["%s: exit status %d: %s" % (flags, status, text[-500:])]
    lines = open(trace).read().splitlines()
    wanted = [*(["> Early : -1"] if any("early" in f for f in flags) else []),
              "> Class Load : " + ("java/lang/Object" if slashes else "java.lang.Object"), "> Init done",
              "> Class Load : Jvmpi", "> Shut down"]
    at = [lines.index(w) if w in lines else -1 for w in wanted]
    if -1 in at or at != sorted(at) or lines[-1] != wanted[-1]:
        return ["%s: lines %s of %d" % (flags, at, len(lines))]
    return []


def leaves(jdk, tmp):
    """ProfilerExit in the midst of the program: its status, no shutdown hook, no JVM_SHUT_DOWN; both else."""
    bad, trace = [], os.path.join(tmp, "trace")
    for env, status, ends in (({}, 0, True), ({"JVMPI_TRACER_LEAVES": "Jvmpi$Sample"}, 8, False)):
        with Java(jdk, tmp, [hosted(agent("tracer"), trace)], ("Jvmpi", "leave"), env) as java:
            got = java.proc.wait(DONE)
            text = java.text()
        hook, shut_down = "hook\n" in text, "> Shut down" in open(trace).read()
        if got != status or hook != ends or shut_down != ends:
            bad.append("ProfilerExit %s: exit status %d, hook %s, JVM_SHUT_DOWN %s" % (env, got, hook, shut_down))
    return bad


def nobody_listens(jdk, tmp):
    """stream=PATH without a reader: said once, and the JVM runs."""
    with Java(jdk, tmp, ["-agentpath:%s=stream=%s" % (BRIDGE, os.path.join(tmp, "none"))]) as java:
        java.wait_for("ready")
        java.wait_for("nobody listens there")
        status = java.end()
        lines = [l for l in java.errors().splitlines() if "nobody listens" in l]
    return [] if status == 0 and len(lines) == 1 else ["nobody listens: exit status %d, %s" % (status, lines)]


def hosting(jdks, o):
    bad = []
    for jdk in jdks:
        with tempfile.TemporaryDirectory(prefix="jsampler-bridge-") as tmp:
            found = refused(jdk, tmp)
            lib, trace, sums = agent("tracer"), os.path.join(tmp, "trace"), os.path.join(tmp, "sums")
            path = {"LD_LIBRARY_PATH": str(lib.parent)}
            found += traced(jdk, tmp, [hosted(lib, trace)])
            found += traced(jdk, tmp, [hosted(lib, trace, "early,quiet,slashes,")], slashes=True)
            found += traced(jdk, tmp, [hosted("jvmpi_tracer", trace)], path)
            found += traced(jdk, tmp, ["-Djava.library.path=%s" % lib.parent, hosted("jvmpi_tracer", trace)])
            found += traced(jdk, tmp, ["-agentpath:%s" % BRIDGE, "-Xrunjvmpi_tracer:" + trace], path)
            found += nobody_listens(jdk, tmp)
            found += leaves(jdk, tmp)
            # Two agents, each with its own events.
            found += traced(jdk, tmp, [hosted(lib, trace, NO_METHODS), hosted(agent("counter"), sums, NO_METHODS)])
            m = re.match(r"started (\d+) ended (\d+) events (\d+) lost (\d+) method_entry 1$",
                         open(sums).read().strip() if os.path.exists(sums) else "")
            if not m or int(m[1]) < 5 or not int(m[2]) or int(m[4]):
                found.append("two agents: the counter says %r" % (m and m[0]))
        print("JDK %d: hosting %s" % (jdk.major, "; ".join(found[:4]) or "ok"), flush=True)
        bad += ["JDK %d: %s" % (jdk.major, b) for b in found]
    return bad


# Agents under load.

TOO_FEW = "too few: "

def sampled(jdk, gc, seconds, period_ms=2):
    with tempfile.TemporaryDirectory(prefix="jsampler-bridge-") as tmp:
        counts, sums = os.path.join(tmp, "counts"), os.path.join(tmp, "sums")
        flags = [*use(gc), hosted(agent("sampler"), "%d %s" % (period_ms, counts), NO_METHODS),
                 hosted(agent("counter"), sums, NO_METHODS)]
        with Java(jdk, tmp, flags, ("Jvmpi", "load", seconds, "exit")) as java:
            status = java.proc.wait(DONE + seconds)
            text = java.text()
        if status != 3:  # what the program exits with
            return ["exit status %d: %s" % (status, text[-2000:])]
        lines = open(counts).read().splitlines()
        totals = re.match(r"ticks (\d+) samples (\d+) empty (\d+) unnamed (\d+)", lines[0])
        ticks, samples, _, unnamed = map(int, totals.groups())
        hot = {l.rsplit(" ", 1)[0]: int(l.rsplit(" ", 1)[1]) for l in lines[1:]}
        counter = re.match(r"started (\d+) ended (\d+) events (\d+) lost (\d+)", open(sums).read())
    # The main thread spends its time in the program and in loading its classes.
    ours = sum(n for m, n in hot.items() if m.startswith(("Jvmpi.", "Throwaway.")))
    bad = []
    if ticks < 10 or ours < 3 or unnamed:
        bad.append("%s%s: %d ticks, %d samples, %d in the program, %d unnamed" % (
            "" if unnamed else TOO_FEW, gc, ticks, samples, ours, unnamed))
    if int(counter[4]) or int(counter[2]) + 30 < int(counter[1]):
        bad.append("%s: the counter: %s" % (gc, counter[0]))
    return bad


def sampled_enough(jdk, gc, seconds, period_ms=2):
    """Once more, longer, where the machine left too little time; whatever else is wrong is wrong at once."""
    for i in range(jvm.TRIES):
        found = sampled(jdk, gc, seconds * 4 ** i, period_ms)
        if not found or not all(f.startswith(TOO_FEW) for f in found):
            break
    return found


def agents(jdks, o):
    bad = []
    for jdk in jdks:
        for gc in collectors(jdk):
            found = sampled_enough(jdk, gc, o.soak or 1.5)
            print("JDK %d, %s: %s" % (jdk.major, gc, "; ".join(found) or "ok"), flush=True)
            bad += ["JDK %d: %s" % (jdk.major, b) for b in found]
        # Without a pause: threads that end are caught in the midst of it, and must not stay suspended.
        found = sampled_enough(jdk, "Serial", o.soak or 5, 0)
        print("JDK %d, no period: %s" % (jdk.major, "; ".join(found) or "ok"), flush=True)
        bad += ["JDK %d: %s" % (jdk.major, b) for b in found]
    return bad


def run_cases(doc, cases, only_named=()):
    """The main() of tests whose cases take a JDK and a folder and return what was wrong. usage: [--jdk 17] [--case NAME]
    only_named: those that measure, and run only when they are asked for."""
    p = argparse.ArgumentParser(description=doc.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--case", choices=[c.__name__ for c in cases])
    o = p.parse_args()
    found = jvm.find_jdks()
    jdks = [jvm.pick_jdk(o.jdk)] if o.jdk else [found[m] for m in sorted(found)]
    if not jdks:
        sys.exit("no JDK found in /usr/lib/jvm")
    failed = 0
    for jdk in jdks:
        for case in cases:
            if case.__name__ != o.case if o.case else case in only_named:
                continue
            with tempfile.TemporaryDirectory(prefix="jsampler-bridge-") as tmp:
                bad = case(jdk, tmp)
            print("JDK %d, %s: %s" % (jdk.major, case.__name__, "; ".join(bad) or "ok"), flush=True)
            failed += len(bad)
    print("%d failures" % failed)
    return 1 if failed else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", choices=("checks", "hosting", "agents"))
    p.add_argument("--jdk")
    p.add_argument("--soak", type=float, default=0, help="seconds under load for each JDK and collector")
    o = p.parse_args()
    found = jvm.find_jdks()
    jdks = [jvm.pick_jdk(o.jdk)] if o.jdk else [found[m] for m in sorted(found)]
    if not jdks:
        sys.exit("no JDK found in /usr/lib/jvm")
    bad = {"checks": checks, "hosting": hosting, "agents": agents}[o.what](jdks, o)
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
