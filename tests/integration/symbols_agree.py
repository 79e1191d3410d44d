#!/usr/bin/env python3
"""--symbols bridge against --symbols vm: the ground-truth program's frames of one recording, named both ways.

usage: symbols_agree.py [--jdk 17] [--duration SECONDS] [-v]
"""

import argparse
import os
import subprocess
import sys

import jvm

PROBE = jvm.build_dir() / "tests/integration/symbols_agree"
BRIDGE = jvm.build_dir() / "jvm-bridge/libjsampler-bridge.so"
REASONS = {
    "equal": "the same methods, bcis and lines",
    "line": "the same methods, another bci or line: no record at the pc",
    "anonymous": "the same, but for the hash behind a VM anonymous class's name (JDK 8 to 14)",
    "untold": "code of which the bridge did not tell: named by the JVM's memory both times",
    "between-records": "no record at the pc: vm goes by the flow of control, bridge by the next record's address",
    "poll": "at a poll: vm takes the poll's own record, the stream's ranges end with it",
    "leaf-call": "a call that needs no record (a stub's): vm and bridge as between records",
}
# Names are the JVM's own where it has a record of the very pc: there both must say the same.
WRONG = {
    "WRONG-METHOD": "another compiled method",
    "WRONG-CHAIN": "other methods, at a record",
    "WRONG-LINE": "another bci or line, at a record",
}
SHARE = 0.5  # percent of the samples: methods that only one of the two has
GONE = 10  # percent: a method that is surely as large as that is in both


class Agreement:
    def __init__(self, text):
        self.samples, self.inlined, self.frames, self.methods, self.examples = 0, 0, {}, {}, []
        for line in text.splitlines():
            w = line.split(" ")
            if w[0] == "samples":
                self.samples = int(w[1])
            elif w[0] == "inlined":
                self.inlined = int(w[1])
            elif w[0] == "frames":
                self.frames[w[1], w[2]] = int(w[3])
            elif w[0] == "method":
                self.methods[w[5]] = [int(x) for x in w[1:5]]
            elif w[0] == "example":
                self.examples.append(line)

    def share(self, n):
        return 100 * n / max(1, self.samples)

    def self_variation(self):
        """Points of self time that stand with other methods."""
        compiled = sum(m[0] for m in self.methods.values())
        return 100 * sum(abs(m[0] - m[1]) for m in self.methods.values()) / 2 / max(1, compiled)


def show(a, verbose):
    print("%d samples, %d inlined frames at a record; compiled frames that" % (a.samples, a.inlined))
    for what in ("sampled", "called"):
        n = sum(k for (w, _), k in a.frames.items() if w == what)
        print("  %s, %d:" % ({"sampled": "were executing", "called": "wait at a return address"}[what], n))
        for reason, why in {**REASONS, **WRONG}.items():
            k = a.frames[what, reason]
            if k:
                print("    %6.2f %%  %s: %s" % (100 * k / n, reason, why))
    print("self time that stands with another method: %.2f points" % a.self_variation())
    print("  vm %   bridge %   (self)   method")
    for name, m in sorted(a.methods.items(), key=lambda i: -max(i[1][:2]))[:25]:
        print("%7.2f %8.2f            %s" % (a.share(m[0]), a.share(m[1]), name.split("(")[0]))
    for name, (_, _, vm, bridge) in sorted(a.methods.items()):
        if (not vm or not bridge) and a.share(max(vm, bridge)) >= SHARE:
            print("surely only by %s, %.2f %% of the samples: %s" % ("vm" if vm else "bridge", a.share(max(vm, bridge)), name))
    for line in a.examples if verbose else [e for e in a.examples if e.split()[1] in WRONG]:
        print(line)
    sys.stdout.flush()


def failures(a, least):
    bad = []
    if a.samples < least:
        bad.append("%d samples, %d wanted" % (a.samples, least))
    told = sum(n for (_, r), n in a.frames.items() if r != "untold")
    untold = a.frames["sampled", "untold"] + a.frames["called", "untold"]
    # The JVM tells of new code a little later, on a busy machine later than it is sampled.
    if untold > told:
        bad.append("of %d frames the bridge did not tell, of %d it did" % (untold, told))
    wrong = sum(n for (_, r), n in a.frames.items() if r in WRONG)
    # 0 were seen in 100,000; code that comes where other code just went may have that one's name.
    if wrong > max(3, 0.001 * told):
        bad.append("%d of %d frames differ where they may not" % (wrong, told))
    # Without inlined frames that both are sure of, the next check finds nothing.
    if not a.inlined:
        bad.append("no inlined frame is at a record")
    for name, (_, _, vm, bridge) in a.methods.items():
        if (not vm or not bridge) and a.share(max(vm, bridge)) >= GONE:
            bad.append("%s: %.2f %% by vm, %.2f %% by bridge" % (name, a.share(vm), a.share(bridge)))
    return bad


def one(jdk, o):
    flags = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp", "-XX:+IgnoreUnrecognizedVMOptions",
             "-XX:+EnableDynamicAgentLoading"]
    args = ["interactive=1", "warmup=%d" % o.warmup, "threads=2", "seed=42"]
    with jvm.Jvm(jdk, jvm.compile_java(jdk, "truth"), "Truth", args, flags) as java:
        java.wait_ready(o.warmup + jvm.PATIENCE)
        # The sampler gets what CPU time there is: again, longer, where that was too little.
        for i in range(jvm.TRIES):
            p = subprocess.run([str(PROBE), str(java.pid), str(o.duration * 3 ** i), "999"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE + 9 * o.duration,
                               env={**os.environ, "JSAMPLER_BRIDGE": str(BRIDGE)}, preexec_fn=jvm.die_with_parent)
            if p.returncode == 0 and Agreement(p.stdout).samples >= o.least:
                break
    if p.returncode:
        return ["exit status %d: %s" % (p.returncode, p.stderr[-1000:])]
    a = Agreement(p.stdout)
    show(a, o.verbose)
    return failures(a, o.least)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--duration", type=float, default=4)
    p.add_argument("--warmup", type=int, default=6)
    p.add_argument("--least", type=int, default=500, metavar="SAMPLES")
    p.add_argument("-v", "--verbose", action="store_true", help="examples of all that differs")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    print("== JDK %d, one recording, --symbols vm against --symbols bridge" % jdk.major)
    bad = one(jdk, o)
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
