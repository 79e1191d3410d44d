#!/usr/bin/env python3
"""calls=inserted: METHOD_ENTRY and METHOD_EXIT by calls in the bytecode, against JVMTI's events, which are exact
(tests/jvmpi/calls.c, tests/java/calls).

usage: bridge_calls.py [--jdk 17] [--case NAME]
       bridge_calls.py --case cost    what a call costs in both ways, for docs/jvmpi.md
"""

import os
import re
import resource
import subprocess
import sys

import bridge
import bridge_events
import jvm

VERIFY = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote"]
ROUNDS = 3
WRONG = ("early", "crossed", "open", "wrong")


def calls(jdk, tmp, how, what, flags=(), mode="count"):
    """(what it printed, {method: calls}, {what was wrong: n}); raises when it does not end well."""
    report = os.path.join(tmp, "report")
    if os.path.exists(report):
        os.unlink(report)
    option = bridge.hosted(bridge.agent("calls"), "%s %s" % (mode, report), "quiet,calls=%s," % how) if how else "-Dnone=1"
    argv = [str(jdk.home / "bin/java"), "-Xmx256m", *flags, option, "-cp", str(jvm.compile_java(jdk, "calls")), "Calls", *what]
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=bridge.DONE,
                       preexec_fn=jvm.die_with_parent)
    if p.returncode or not re.search("^done$", p.stdout, re.M):
        raise RuntimeError("%s %s: exit status %d: %s" % (how, what, p.returncode, p.stdout[-2000:]))
    counted, totals = {}, {}
    for line in open(report).read().splitlines() if os.path.exists(report) else []:
        word = line.split()
        if word[0] == "call":
            name = " ".join(word[1:-1])
            counted[name] = counted.get(name, 0) + int(word[-1])
        else:
            totals = dict(zip(word[::2], map(int, word[1::2])))
    return p.stdout, counted, totals


def unbalanced(totals):
    return {k: totals.get(k, -1) for k in WRONG} if not totals or any(totals[k] for k in WRONG) else {}


def counts(jdk, tmp):
    """Every method of the program is called as often as the exact way says, by exceptions, in constructors, 5,000 deep."""
    bad = []
    _, exact, _ = calls(jdk, tmp, "events", ["shapes", str(ROUNDS)])
    for flags in ([], ["-Xint"], ["-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileOnly=Shapes::*"], ["-Xshare:off"]):
        _, inserted, totals = calls(jdk, tmp, "inserted", ["shapes", str(ROUNDS)], flags)
        # Lambdas' own classes are hidden ones, which no agent gets to see.
        differ = {m: (exact.get(m), inserted.get(m)) for m in exact.keys() | inserted.keys()
                  if exact.get(m) != inserted.get(m) and "Lambda" not in m}
        if differ or len(inserted) < 35 or inserted.get("Shapes.deep (I)I") != 5001 * ROUNDS:
            bad.append("%s: exact and inserted %s of %d" % (flags, differ, len(inserted)))
        if unbalanced(totals) or totals["threads"] < 4:
            bad.append("%s: %s" % (flags, totals))
    return bad


def compiled(jdk, tmp):
    """Enough rounds for both compilers."""
    _, inserted, totals = calls(jdk, tmp, "inserted", ["shapes", "300"])
    n = inserted.get("Shapes.deep (I)I")
    return [] if n == 5001 * 300 and not unbalanced(totals) else ["%s calls of deep, %s" % (n, totals)]


def overflow(jdk, tmp):
    """A StackOverflowError may come in an inserted call, too."""
    _, _, totals = calls(jdk, tmp, "inserted", ["overflow"])
    return [str(totals)] if unbalanced(totals) else []


def link(jdk, tmp):
    """All classes of java.base are verified with their calls."""
    flags = [*VERIFY, "-XX:+IgnoreUnrecognizedVMOptions"]
    out, _, _ = calls(jdk, tmp, "inserted", ["link", "java.base"], flags, "cost")
    plain, _, _ = calls(jdk, tmp, None, ["link", "java.base"], flags)
    line, wanted = ([l for l in text.splitlines() if l.startswith("linked ")] for text in (out, plain))
    print("JDK %d: %s" % (jdk.major, ", ".join(line + re.findall("jsampler-bridge: .*", out))), flush=True)
    if line != wanted or int(line[0].split()[1]) < 5000:
        return ["%s, not %s: %s" % (line, wanted, [l for l in out.splitlines() if l.startswith("BAD")][:5])]
    return []


def virtual(jdk, tmp):
    """Virtual threads run, and no event reports them."""
    if jdk.major < 21:
        return []
    _, inserted, totals = calls(jdk, tmp, "inserted", ["virtual", "3"])
    told = inserted.get("Calls.sleeps (I)I", 0)
    return [] if not told and not unbalanced(totals) else ["%d calls, %s" % (told, totals)]


def loaders(jdk, tmp):
    """A loader that does not know JSamplerCalls is asked for it once, and its classes run as they would without calls."""
    bad, program = [], ["loaders", "100", str(bridge.agent("calls"))]
    alone, _, _ = calls(jdk, tmp, None, program)
    for mode in ("count", "late", "allocs"):
        out, inserted, totals = calls(jdk, tmp, "inserted", program, VERIFY, mode)
        differ = [l for l in out.splitlines() if not l.startswith(("extra ", "jsampler-bridge:")) and l not in alone.splitlines()]
        extra = [int(n) for n in re.findall(r"^extra (\d+)$", out, re.M)]
        if differ or len(extra) != 3 or max(extra) > 1:
            bad.append("%s: %s, asked %s times" % (mode, differ, extra))
        if mode != "allocs" and (inserted.get("CallsGuest.fails ()V") != 100 or unbalanced(totals)):
            bad.append("%s: %s %s" % (mode, inserted, totals))
    return bad


def archive(jdk, tmp):
    """In a JVM that writes an AOT cache, no class is changed; this agent then does not start."""
    if jdk.major < 25:
        return []
    with bridge.Java(jdk, tmp, ["-XX:AOTCacheOutput=" + os.path.join(tmp, "cache.aot"),
                                bridge.hosted(bridge.agent("calls"), "count " + os.path.join(tmp, "report"), "calls=inserted,")]) as java:
        status, said = java.proc.wait(bridge.DONE), java.errors()
    if status == 1 and "calls=inserted: classes are not changed in a JVM that writes an AOT cache" in said:
        return []
    return ["exit status %d: %s" % (status, said[-2000:])]


def both(jdk, tmp):
    """By JVMTI's events, with OBJECT_ALLOC: what the bridge inserts or calls itself is not reported."""
    program = ["shapes", str(ROUNDS)]
    _, exact, _ = calls(jdk, tmp, "events", program)
    _, seen, totals = calls(jdk, tmp, "events", program, mode="both")
    of_bridge = {m: n for m, n in seen.items() if "JSamplerCalls" in m}
    differ = {m: (exact.get(m), seen.get(m)) for m in exact.keys() | seen.keys()
              if exact.get(m) != seen.get(m) and m.startswith(("Shapes", "Calls")) and "Lambda" not in m}
    return ["%s, %s, %s" % (of_bridge, differ, totals)] if of_bridge or differ or unbalanced(totals) else []


def methods(jdk, tmp):
    """With -Xcheck:jni; METHOD_ENTRY2 has the object."""
    return bridge_events.run(jdk, tmp, "inserted", more="calls=inserted,events=METHOD_ENTRY+METHOD_ENTRY2+METHOD_EXIT,")


def attached(jdk, tmp):
    """An agent that is attached gets calls in this way only."""
    if jdk.major < 9:
        return []  # whose jcmd loads no agents
    bad = []
    for how, wanted in (("inserted", True), ("events", False)):
        report = os.path.join(tmp, "report-" + how)
        with bridge.Java(jdk, tmp, ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]) as java:
            java.wait_for("ready")
            text = '"calls:%s,agent:%s:count %s"' % (how, bridge.agent("calls"), report)
            p = subprocess.run([str(jdk.home / "bin/jcmd"), str(java.pid), "JVMTI.agent_load", str(bridge.BRIDGE), text],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bridge.DONE)
            status = java.end()
        if status or os.path.exists(report) != wanted:
            bad.append("%s: exit status %d: %s %s" % (how, status, p.stdout, java.text()[-500:]))
    return bad


def refused(jdk, tmp):
    lib = bridge.agent("calls")
    other = "-agentpath:%s=calls=events,agent=%s:cost x" % (bridge.BRIDGE, lib)
    bad = bridge.start_fails(jdk, tmp, ["-agentpath:%s=calls=both" % bridge.BRIDGE], ["unknown option 'calls=both'", "calls=events|inserted"])
    bad += bridge.start_fails(jdk, tmp, [bridge.hosted(lib, "cost x", "calls=inserted,"), other],
                              ["calls=events", "already reported the other way"])
    return bad


def sources(*programs):
    return [str(p) for n in programs for p in (jvm.ROOT / "tests/java" / n).glob("*.java")]


def javac_cpu(jdk, tmp, how, arguments):
    """Its CPU time in seconds."""
    agent = ["-J" + bridge.hosted(bridge.agent("calls"), "cost x", "quiet,calls=%s," % how)] if how else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(jdk.home / "bin/javac"), "-nowarn", *agent, "-d", tmp, *arguments], check=True, timeout=bridge.DONE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def javac(jdk, tmp):
    """A large program ends well in both ways, and so do many calls. The exact way makes javac 25 times as slow: its start is enough."""
    for how, arguments in (("events", ["-version"]), ("inserted", sources("calls"))):
        calls(jdk, tmp, how, ["cost", "100000"], mode="cost")
        javac_cpu(jdk, tmp, how, arguments)
    return []


def cost(jdk, tmp):
    """CPU time of a call with its entry and exit, and of javac on these tests. Printed, not judged."""
    all_ = sources("calls", "jvmpi")
    for how in ("events", "inserted"):
        out, _, _ = calls(jdk, tmp, how, ["cost", "1000000"], mode="cost")
        print("JDK %d: %s: %s ns a call; javac %.2f s, not %.2f s" % (
            jdk.major, how, re.search(r"^ns (\d+)$", out, re.M)[1], javac_cpu(jdk, tmp, how, all_), javac_cpu(jdk, tmp, None, all_)),
            flush=True)
    return []


CASES = (counts, compiled, overflow, link, virtual, loaders, archive, both, methods, attached, refused, javac, cost)

if __name__ == "__main__":
    sys.exit(bridge.run_cases(__doc__, CASES, only_named=(cost,)))
