#!/usr/bin/env python3
"""Profiles the programs in tests/java/shapes: stacks of the shapes that break profilers.

Every shape has threads whose stacks must be complete, free of [unknown] and in the order that the
program's source says. Of a call that the program does not make, none at all may be seen.
tests/java/shapes/README.md says what covers what.

usage: shapes.py [--jdk 17] [--list] [-v] [--nobody] SHAPE...
  --nobody  program and jsampler as an ordinary user (needs root)
Exit status: 0 all hold, 1 not, 77 when the JDK asked for is not here.
"""

import argparse
import os
import re
import sys
import unicodedata
import zipfile

import call_graph
import jvm

SUFFIX = re.compile(r"_\[[01jik]\]$")
NOBODY = 65534


class Shape:
    """One program and what must hold of its threads' stacks (frames root first, no suffixes). needs: frames that each
    recording has, without which `expect` would have looked at nothing; preview: the JDK that has its API on trial."""

    def __init__(self, main, expect, flags=(), args=(), options=(), threads=r"shape-", since=0, folder="shapes",
                 complete=99.9, slack=0.001, unknown=0, prepare=None, check=None, freq=499, warmup=2,
                 seconds=3, needs=(), preview=0):
        self.main, self.expect, self.flags, self.args = main, expect, list(flags), list(args)
        self.options, self.threads, self.since, self.folder = list(options), re.compile(threads), since, folder
        self.complete, self.slack, self.prepare, self.check = complete, slack, prepare, check
        self.freq, self.warmup, self.seconds, self.unknown = freq, warmup, seconds, unknown
        self.needs, self.preview, self.graph, self.classes = set(needs), preview, {}, None


def in_order(frames, *wanted):
    """What of `wanted` is missing, taken as a subsequence of frames; None: nothing."""
    rest = iter(frames)
    for w in wanted:
        if not any(f == w for f in rest):
            return "no %s (in this order: %s)" % (w, ", ".join(wanted))
    return None


def under(*wanted):
    return lambda frames: in_order(frames, "java/lang/Thread.run", *wanted)


def count(frames, name, n):
    have = frames.count(name)
    return None if have == n else "%d frames of %s, not %d" % (have, name, n)


def deep(frames):
    if "Deep.bottom" in frames:
        return in_order(frames, "java/lang/Thread.run", "Deep.run", "Deep.down", "Deep.bottom") or \
            count(frames, "Deep.down", 10001)
    return in_order(frames, "java/lang/Thread.run", "Deep.run")


def twins(frames):
    """The side that the leaf is on is the side it was called from. In front of it, either may be right."""
    bad = in_order(frames, "java/lang/Thread.run", "Twins.run")
    for side, other in (("Left", "Right"), ("Right", "Left")):
        if not bad and "Twins.bottomOf" + side in frames:
            bad = in_order(frames, "Twins.call" + side, "Twins.down", "Twins.bottomOf" + side)
            bad = bad or count(frames, "Twins.call" + other, 0)
    return bad


def deopt(frames):
    if "Deopt$Round.spin" not in frames:
        return in_order(frames, "java/lang/Thread.run")
    names = ["Deopt$Round." + m for m in ("run", "outer", "inner", "spin")]
    bad = in_order(frames, "java/lang/Thread.run", *names)
    for n in names:
        bad = bad or count(frames, n, 1)
    return bad


def storm(frames):
    names = ["Storm$Round." + m for m in ("run", "top", "middle", "bottom")]
    bad = in_order(frames, "java/lang/Thread.run", *names[:max([0] + [i + 1 for i, n in enumerate(names) if n in frames])])
    for n in names:
        bad = bad or (count(frames, n, 1) if n in frames else None)
    return bad


HUGE = ["HugeLocals.wide", "HugeLive.many"]


def huge(frames):
    bad = in_order(frames, "java/lang/Thread.run", "Huge.run")
    if not bad and "Shape.burn" in frames:
        outer = [f for f in HUGE if f in frames]
        bad = None if len(outer) == 1 else "calls of %s" % outer
        bad = bad or in_order(frames, "Huge.run", *outer, "Leaf.leaf", "Shape.burn")
    return bad


def jni(frames):
    # Java_Jni_nativeBurn leaves its frame to burn(), which it calls last.
    if not {"Shape.burn", "burn"} & set(frames):
        return None
    rounds = 6 if "Jni.run" in frames else 3
    bad = in_order(frames, "java/lang/Thread.run", "Jni.run") if rounds == 6 else in_order(frames, "Jni.attached")
    return bad or count(frames, "Jni.down", rounds) or count(frames, "Jni.up", rounds) or \
        count(frames, "Java_Jni_step", rounds)


def jni_format(frames):
    """The side that prints is the side it was called from. Beyond the large frame, the stack may have been the other side's when
    it was read."""
    bad = in_order(frames, "java/lang/Thread.run", "JniFormat.run")
    for side, other in (("left", "right"), ("right", "left")):
        if not bad and "print_" + side in frames:
            bad = in_order(frames, "JniFormat." + side, "JniFormat.below" + side.title(), "print_" + side) or \
                count(frames, "JniFormat." + other, 0)
    return bad


def unload(frames):
    numbers = {m.group(1) for f in frames for m in [re.match(r"Gen(\d+)\.[abc]\1$", f)] if m}
    strange = [f for f in frames if re.match(r"Gen\d", f) and not re.match(r"Gen(\d+)\.([abc])\1$", f)]
    letters = "".join(f[f.index(".") + 1] for f in frames if re.match(r"Gen\d+\.", f))
    if strange or len(numbers) > 1:
        return "names of different generations: %s %s" % (strange, sorted(numbers))
    # Code that is gone has no name (that is counted as unknown); the names beside it are not wrong for that.
    if "".join(sorted(set(letters))) != letters or \
            not ("abc".startswith(letters) or "[unknown]" in frames):
        return "order of calls " + letters
    return in_order(frames, "java/lang/Thread.run")


def redefine(frames):
    """A method that was read first after the sample has no name: Thread.run and Redefine.run, in the beginning."""
    return None if "[unknown]" in frames else in_order(frames, "java/lang/Thread.run", "Redefine.run")


def virtual(frames):
    n = frames.count("Virtual.yielding")
    if "[frozen]" in frames or "Virtual.work" not in frames or n == 0:
        return None
    return None if n in (21, 4) else "%d frames of Virtual.yielding, not 21 or 4" % n


def handles(frames):
    bad = in_order(frames, "java/lang/Thread.run", "Handles.run")
    if not bad and "Handles.work" in frames:
        bad = in_order(frames, "Handles.run", "Handles.once", "Handles.work")
    return bad


def is_harmless(text):
    """Nothing that moves a terminal's cursor, reverses text or breaks a line."""
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(c) in bidi
                   for c in text)


def names_check(folded):
    """On the whole output: every frame harmless."""
    return ["not harmless: %r" % f[:80] for frames, _ in folded for f in frames if not is_harmless(f)]


def thread_names(folded):
    bad = names_check(folded)
    roots = {jvm.thread_of(frames)[0] for frames, _ in folded}
    wanted = ["shape-a name with blanks", "shape-semi:colon:", "shape-new?line 5", "shape-tab?here", "shape-same",
              "shape-äöü-日本語-😀", "shape-</script><b>\"'&", "shape-esc?[31mred", "shape-bidi?gnp.exe"]
    bad += ["no thread named %r" % w for w in wanted if w not in roots]
    renamed = {r for r in roots if r and r.startswith("shape-name-")}
    if len(renamed) != 1 or not renamed <= {"shape-name-even", "shape-name-odd-and-longer"}:
        bad.append("the renamed thread is %s" % sorted(renamed))
    if not any(r and r.startswith("shape-very-long-abcdef") and len(r) >= 900 for r in roots):
        bad.append("the name of 900 characters is cut")
    return bad + (["seen: %s" % sorted(str(r)[:40] for r in roots)] if bad else [])


def hostile_names(folded):
    bad = names_check(folded)
    text = {SUFFIX.sub("", f) for frames, _ in folded for f in frames}
    for w in ("with blank 3.with blank 3", "new?line 17.new?line 17", "日本語😀.日本語😀"):
        if w not in text:
            bad.append("no frame %r" % w)
    return bad


def forbidden_names(folded):
    text = {SUFFIX.sub("", f) for frames, _ in folded for f in frames}
    return hostile_names(folded) + ([] if "semi:colon.semi:colon" in text else ["no frame 'semi:colon.semi:colon'"])


def build_library(jdk, shape, name="libshapes", options=()):
    """The C half of Jni.java and JniFormat.java, without frame pointers."""
    out = jvm.compile_library(jdk, "tests/java/shapes/jni_shapes.c", name, options)
    shape.flags.append("-Dshapes.library=%s" % out)


def build_library_bare(jdk, shape):
    """Without unwind tables besides."""
    build_library(jdk, shape, "libshapes-bare", ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"])


def build_agent_jar(jdk, shape):
    out = jvm.build_dir() / "java" / ("redefine-%d.jar" % jdk.major)
    manifest = "Manifest-Version: 1.0\nPremain-Class: Redefine\nCan-Redefine-Classes: true\n\n"
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("META-INF/MANIFEST.MF", manifest)
    shape.flags.append("-javaagent:%s" % out)


# The work is a call, so that who called it is no matter of attribution (a loop without a poll is).
FLAGS = ["-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Shape::burn"]
DEEP = ["--depth", "65536"]
PROMPT = jvm.may_be_prompt()
LATE = 90 if jvm.STRICT else 30
SIDES = ["Twins.bottomOfLeft", "Twins.bottomOfRight"]
THROWN = ["Exceptions.throwing"]
HANDLED = ["Handles.work", "Handles.lambda$once$0"]
FORMAT = ["print_left", "print_right", "print_to"]
BOTH_WAYS = ["Jni.run", "Jni.attached", "burn"]
TWINS = ["-XX:CompileCommand=dontinline,Twins::*"]
DEOPT = ["-XX:CompileCommand=dontinline,Deopt$Round::inner"]
SHAPES = {
    "osr": Shape("Osr", under("Osr.once")),
    "osr-int": Shape("Osr", under("Osr.once"), flags=["-Xint"]),
    # Deeper than the kernel copies: the rest is used only where nothing moved before it was read. For users without
    # real-time priority that is 92 to 96 % of the samples on a quiet machine, 76 % at a load of 9 per CPU, 50 % at 27.
    "deep": Shape("Deep", deep, options=DEEP, freq=99, complete=98 if PROMPT else LATE, needs=["Deep.bottom"]),
    "deep-int": Shape("Deep", deep, options=DEEP, freq=99, flags=["-Xint"], complete=98 if PROMPT else LATE,
                      needs=["Deep.bottom"]),
    # Stacks of 150 to 200 KB. A wrong caller is worse than none: of these, none at all.
    "twins": Shape("Twins", twins, args=["999", "4000", "20000"], flags=TWINS, options=DEEP, slack=0,
                   complete=99 if PROMPT else LATE, needs=SIDES),
    "twins-int": Shape("Twins", twins, args=["999", "1500", "2000"], flags=["-Xint"], options=DEEP, slack=0,
                       complete=99 if PROMPT else LATE, needs=SIDES),
    "truncated": Shape("Deep", lambda f: None if len(f) <= 2049 and "[truncated]" in f else
                       "%d frames, root %s" % (len(f), f[:1]), freq=99, complete=0),
    "huge": Shape("Huge", huge, flags=["-XX:-DontCompileHugeMethods"], warmup=4, complete=99.5, needs=HUGE),
    "huge-int": Shape("Huge", huge, flags=["-Xint"], complete=99.5, needs=HUGE),
    "exceptions": Shape("Exceptions", under("Exceptions.run"), needs=THROWN),
    "exceptions-int": Shape("Exceptions", under("Exceptions.run"), flags=["-Xint"], needs=THROWN),
    # Deeper than a stack copy, and gone before the rest is read: incomplete, but never wrong.
    "overflow": Shape("Overflow", under("Overflow.run"), options=DEEP, freq=199, complete=0, needs=["Overflow.fall"]),
    # Code that was unloaded between the sample and the walk has no name left (the bridge has it): 1 to 3 % of
    # the samples on a machine of its own, 15 % where the walk has to wait for others. Were names looked up at
    # the end, nearly all would be gone.
    "unload": Shape("Unload", unload, flags=["-XX:ReservedCodeCacheSize=12m", "-Xmx64m"],
                    complete=95 if jvm.STRICT else 60, unknown=0.03 if jvm.STRICT else 0.12),
    "handles": Shape("Handles", handles, flags=["-XX:-BackgroundCompilation"], needs=HANDLED),
    "deopt": Shape("Deopt", deopt, flags=DEOPT, complete=99.5, needs=["Deopt$Round.spin"]),
    "storm": Shape("Storm", storm, complete=99, needs=["Storm$Round.bottom"]),
    "thread-names": Shape("ThreadNames", under(), threads=r"shape-a", check=thread_names, seconds=6),
    "hostile-names": Shape("HostileNames", under("HostileNames.run"), check=hostile_names),
    "forbidden-names": Shape("HostileNames", under("HostileNames.run"), args=["999", "forbidden"],
                             flags=["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"],
                             check=forbidden_names),
    "jni": Shape("Jni", jni, prepare=build_library, needs=BOTH_WAYS),
    "jni-int": Shape("Jni", jni, prepare=build_library, flags=["-Xint"], needs=BOTH_WAYS),
    "jni-format": Shape("JniFormat", jni_format, prepare=build_library, flags=["-XX:CompileCommand=dontinline,JniFormat::*"],
                        slack=0, complete=99 if PROMPT else LATE, needs=FORMAT),
    # Without tables the walk may resynchronise; what it names must be right all the same.
    "jni-bare": Shape("Jni", lambda f: None, prepare=build_library_bare, complete=0),
    # Redefined since the sample was taken, a class has methods without a name: of 20 redefinitions a second, those
    # between sample and walk. On a machine that others load too that is any number.
    "redefine": Shape("Redefine", redefine, prepare=build_agent_jar, unknown=0.3 if jvm.STRICT else 1),
    "virtual": Shape("Virtual", virtual, threads=r".", since=21, folder="shapes21", complete=0),
    "frame-pointers": Shape("Osr", under("Osr.once"), flags=["-XX:+PreserveFramePointer"]),
    "c1": Shape("Handles", handles, flags=["-XX:TieredStopAtLevel=1"]),
    "one-heap": Shape("Handles", handles, flags=["-XX:-SegmentedCodeCache", "-Xshare:off"], since=9),
    "wide-code": Shape("Handles", handles, flags=["-XX:ReservedCodeCacheSize=2g"]),
    # Nothing is ever collected: for a shape that hardly allocates.
    "epsilon": Shape("Osr", under("Osr.once"), flags=["-XX:-UseSerialGC", "-XX:+UnlockExperimentalVMOptions",
                                                      "-XX:+UseEpsilonGC"], since=11),
    "compile-all": Shape("Exceptions", under("Exceptions.run"), flags=["-Xcomp"], warmup=6, needs=THROWN),
}


class Result:
    def __init__(self, shape, folded):
        self.samples = self.complete = self.unknown = self.wrong = self.misnamed = 0
        self.examples, self.missing = [], set(shape.needs)
        for frames, n in folded:
            name, _, frames = jvm.thread_of(frames)
            if name is not None and shape.threads.match(name) and jvm.is_sampled(frames):
                self.add(shape, frames, n)

    def add_up(self, other):
        self.samples += other.samples
        self.wrong += other.wrong
        self.misnamed += other.misnamed

    def add(self, shape, frames, n):
        self.samples += n
        complete = jvm.is_complete(frames) or "[frozen]" in frames[:4]
        self.complete += n if complete else 0
        plain = [SUFFIX.sub("", f) for f in frames]
        bad = None if "[resynchronised]" in frames[:4] else call_graph.wrong_call(shape.graph, plain)
        self.misnamed += n if bad else 0
        self.missing.difference_update(plain)
        if complete:
            bad = bad or shape.expect(plain)
        self.wrong += n if bad else 0
        bad = bad and "WRONG: " + bad
        if any(SUFFIX.sub("", f) == "[unknown]" for f in frames):
            self.unknown += n
            bad = bad or "[unknown]"
        if not complete and shape.complete:
            bad = "not complete"
        if bad:
            text = ";".join(frames)
            self.examples.append((n, bad, text if len(text) < 1200 else text[:300] + " ... " + text[-800:]))

    def wrong_names(self, shape):
        """What may not be in any recording. A frame too few may happen now and then, a name that is another's not."""
        bad = ["%d stacks with calls that the program does not make" % self.misnamed] if self.misnamed else []
        if jvm.too_many(self.wrong, shape.slack, self.samples):
            bad.append("%d stacks against the source's order of calls" % self.wrong)
        return bad

    def shares(self, shape):
        """What a busy machine may spoil. What a sanitizer build shows is only that stacks are walked."""
        if self.samples < 30:
            return ["only %d samples" % self.samples]
        if jvm.SANITIZED:
            return ["no complete stack"] if shape.complete and self.complete < 10 else []
        bad = ["never seen: " + name for name in sorted(self.missing)]
        if jvm.too_many(self.samples - self.complete, 1 - shape.complete / 100, self.samples):
            bad.append("complete %.3f %%, bar %.1f" % (100 * self.complete / self.samples, shape.complete))
        if shape.complete and jvm.too_many(self.unknown, shape.unknown, self.samples):
            bad.append("%d stacks with [unknown]" % self.unknown)
        return bad

    def show(self):
        for n, why, stack in sorted(self.examples, key=lambda e: (e[1][:5] != "WRONG", -e[0]))[:8]:
            print("  %d %s\n    %s" % (n, why, stack))


def miscounted(r):
    """The summary counts what was sampled. What an ordinary user's threads used after their last sample is given to one of their
    stacks, whatever its mark (leftover.h): output counts that, too."""
    sampled = [(frames, n) for frames, n in r.folded if not any(f.startswith("[not sampled: ") for f in frames)]
    given = sum(n for _, n in sampled) - r.fact(r"samples (\d+), lost ")
    frozen = sum(n for frames, n in sampled if "[frozen]" in frames)
    said = r.fact(r", frozen (\d+)")
    if said <= frozen <= said + given:
        return []
    return ["%d stacks are [frozen], the summary counts %d (%d were given to stacks)" % (frozen, said, given)]


def record_once(name, shape, jdk, java, seconds, verbose):
    """(the result, what is wrong in every case, what may be the machine's doing)."""
    r = jvm.record(java.pid, "-d", seconds, "-F", shape.freq, "--threads", *shape.options)
    if verbose:
        print(r.messages)
    result = Result(shape, r.folded)
    wrong = result.wrong_names(shape)
    if java.proc.poll() is not None:
        wrong.append("the program ended")
    wrong += miscounted(r)
    shares = result.shares(shape) + (shape.check(r.folded)[:10] if shape.check else [])
    print("%-16s JDK %d: samples %d, complete %d, wrong %d, misnamed %d, unknown %d%s" % (
        name, jdk.major, result.samples, result.complete, result.wrong, result.misnamed, result.unknown,
        "".join("; " + b for b in wrong + shares)), flush=True)
    if wrong or shares or verbose:
        result.show()
    return result, wrong, shares


def compile_shape(shape, jdk):
    trial = shape.preview == jdk.major
    shape.classes = jvm.compile_java(jdk, shape.folder, ["--enable-preview", "--release", str(jdk.major)] if trial else [])
    shape.graph = call_graph.of_program(jdk, shape.classes)
    shape.flags += ["--enable-preview"] if trial else []


def prepare(shape, jdk):
    """What only root may write; done once."""
    if not shape.classes:
        compile_shape(shape, jdk)
        if shape.prepare:
            shape.prepare(jdk, shape)
    return shape.classes


def become_nobody():
    os.environ["JSAMPLER"] = str(jvm.public(jvm.jsampler_path()))
    for copy in jvm.PUBLIC.values():
        for p in (copy.parent, *copy.parent.rglob("*")):
            os.chown(p, NOBODY, NOBODY)  # who removes them
    os.chdir("/")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def run_shape(name, jdk, verbose):
    """Up to three recordings, each twice as long: shares must be right in one of them, names in all together."""
    shape = SHAPES[name]
    if jdk.major < shape.since:
        print("%s: needs JDK %d" % (name, shape.since))
        return []
    classes = prepare(shape, jdk)
    with jvm.Jvm(jdk, classes, shape.main, shape.args, FLAGS + shape.flags) as java:
        java.wait_ready()
        jvm.burn(java.pid, 1.5 * shape.warmup)
        whole, wrong = Result(shape, []), []
        for i in range(jvm.TRIES):
            result, wrong, shares = record_once(name, shape, jdk, java, shape.seconds << i, verbose)
            whole.add_up(result)
            wrong += whole.wrong_names(shape)
            if wrong or (not shares and not result.wrong):
                break
    bad = wrong + shares
    for b in bad:
        print("FAILED: %s: %s" % (name, b), flush=True)
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--list", action="store_true")
    p.add_argument("-v", "--verbose", action="store_true")
    p.add_argument("--nobody", action="store_true")
    p.add_argument("shapes", nargs="*", metavar="SHAPE", help="all without one")
    o = p.parse_args()
    if o.list:
        print("\n".join(SHAPES))
        return 0
    unknown = set(o.shapes) - set(SHAPES)
    if unknown:
        p.error("no shape named %s (--list)" % ", ".join(sorted(unknown)))
    jdk = jvm.pick_jdk(o.jdk)
    if o.nobody:
        if os.geteuid() != 0 or not jvm.may_sample():
            print("skipped: needs root, and a kernel that lets users sample their own")
            return jvm.SKIP
        for name in o.shapes or SHAPES:
            if jdk.major >= SHAPES[name].since:
                SHAPES[name].classes = jvm.public(prepare(SHAPES[name], jdk))
        become_nobody()
    failed = [name for name in o.shapes or SHAPES if run_shape(name, jdk, o.verbose)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
