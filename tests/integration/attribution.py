#!/usr/bin/env python3
"""Agreement of attribution with cleaned full records, sample by sample (attribution_agree.c).

Starts a JVM with -XX:+DebugNonSafepoints, samples it, and compares: the address rule and the rule by
flow in one table. Fails when the rule by flow is worse than the address rule in any cell, when its
bars are missed, or when what is marked exact or by flow is right in too few samples.

Exit status: 0 within the bars, 1 over one of them, 77 when JDK or sources are not here.
"""

import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

import jvm

FLAGS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"],
              "Z": ["-XX:+UseZGC"], "Shenandoah": ["-XX:+UseShenandoahGC"]}
HERE = pathlib.Path(__file__).resolve().parent
CELL_SAMPLES = 1.0  # percent of the samples that a kind of code needs to be compared


def extract_sources(tmp):
    """A few hundred files of java.base, from any JDK here that has its sources."""
    for jdk in sorted(jvm.find_jdks().values(), reverse=True):
        zipped = jdk.home / "lib/src.zip"
        if not zipped.exists():
            continue
        with zipfile.ZipFile(zipped) as z:
            names = [n for n in z.namelist()
                     if n.startswith("java.base/java/util/") and "/concurrent/" not in n]
            z.extractall(tmp, names)
        return pathlib.Path(tmp) / "java.base"
    print("skipped: no JDK here has lib/src.zip")
    sys.exit(jvm.SKIP)


def start_javac(jdk, flags, tmp):
    sources = extract_sources(tmp)
    classes, out = pathlib.Path(tmp) / "classes", pathlib.Path(tmp) / "out"
    classes.mkdir()
    out.mkdir()
    subprocess.run([str(jdk.home / "bin/javac"), "-nowarn", "-d", str(classes),
                    str(HERE / "attribution_Javac.java")], check=True)
    return jvm.Jvm(jdk, classes, "Javac", [str(sources), str(out)], flags, stderr=subprocess.DEVNULL)


def find_jars(*names):
    """Those of Debian's libclojure-java and libh2-java (scripts/setup --bench)."""
    jars = [pathlib.Path("/usr/share/java") / n for n in names]
    for jar in jars:
        if not jar.exists():
            print("skipped: no %s here (scripts/setup --bench installs it)" % jar)
            sys.exit(jvm.SKIP)
    return ":".join(map(str, jars))


def start_clojure(jdk, flags, _):
    jars = find_jars("clojure.jar", "spec.alpha.jar", "core.specs.alpha.jar")
    return jvm.Jvm(jdk, jars, "clojure.main", [str(HERE / "attribution_clojure.clj")], flags,
                   stderr=subprocess.DEVNULL)


def start_h2(jdk, flags, tmp):
    jars = find_jars("h2.jar")
    subprocess.run([str(jdk.home / "bin/javac"), "-nowarn", "-d", tmp, str(HERE / "attribution_H2.java")],
                   check=True)
    return jvm.Jvm(jdk, tmp + ":" + jars, "H2", [], flags, stderr=subprocess.DEVNULL)


def start_truth(jdk, flags, _):
    classes = jvm.compile_java(jdk, "truth")
    exclude = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp"]
    return jvm.Jvm(jdk, classes, "Truth", ["interactive=1", "warmup=12"], flags + exclude,
                   stderr=subprocess.DEVNULL)


def start_demo(jdk, flags, _):
    """What scripts/demo shows: one busy thread, small methods."""
    classes = jvm.compile_java(jdk, "demo")
    exclude = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Demo$Pricing::discount"]
    return jvm.Jvm(jdk, classes, "Demo", ["600"], flags + ["-Xmx256m"] + exclude, stderr=subprocess.DEVNULL)


WORKLOADS = {"javac": start_javac, "clojure": start_clojure, "h2": start_h2, "truth": start_truth,
             "demo": start_demo}


def run_agree(args, pid):
    tool = jvm.build_dir() / "tests/integration/attribution_agree"
    command = [os.environ.get("ATTRIBUTION_AGREE", str(tool))]
    if args.dump:
        command += ["--dump", args.dump]
    if args.verbose:
        command += ["-v"]
    if args.raw:
        command += ["--raw"]
    run = subprocess.run(command + [str(pid), str(args.duration), str(args.freq)], stdout=subprocess.PIPE,
                         text=True)
    sys.stdout.write(run.stdout)
    if run.returncode:
        sys.exit("attribution_agree: exit status %d" % run.returncode)
    return run.stdout


def read_table(text):
    """{(code, rule): {column: percent}}"""
    rows = {}
    for line in text.splitlines():
        w = line.split()
        if len(w) < 7:
            continue
        try:
            values = [float(x) for x in w[-5:]]
        except ValueError:
            continue
        rows[" ".join(w[:-6]), w[-6]] = dict(
            zip(("share", "method", "child", "line", "wrong"), values))
    return rows


def margin(percent, share, compared):
    """Four standard errors, in points, of a percentage of that share of the samples: what is right at
    its bar misses it by chance in one run of 30,000."""
    n = max(1.0, compared * share / 100)
    p = min(max(percent, 2.0), 98.0)
    return 4 * math.sqrt(p * (100 - p) / n)


def check(args, rows, compared):
    """What missed its bar by more than chance; the bars of the issue hold for all code together."""
    failed = []

    def below(what, values, column, bar):
        if values[column] + margin(values[column], values["share"], compared) < bar:
            failed.append("%s %s: %.1f < %.1f" % (what, column, values[column], bar))

    def above(what, values, column, bar):
        if values[column] - margin(values[column], values["share"], compared) > bar:
            failed.append("%s %s: %.1f > %.1f" % (what, column, values[column], bar))

    below("all", rows["all", "flow"], "method", args.bar_method)
    below("all", rows["all", "flow"], "child", args.bar_child)
    above("all", rows["all", "flow"], "wrong", args.bar_wrong)
    for (code, rule), values in rows.items():
        other = rows.get((code, "address"))
        if rule != "flow" or not other or values["share"] < CELL_SAMPLES:
            continue
        for column in ("method", "child", "line"):
            below(code + " against the address rule", values, column, other[column])
        above(code + " against the address rule", values, "wrong", other["wrong"])
    for name in ("exact", "flow"):
        values = rows.get(("named", name))
        if values and values["share"] >= CELL_SAMPLES:
            below("named " + name, values, "method", args.bar_sure)
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk")
    p.add_argument("--workload", choices=sorted(WORKLOADS), default="javac")
    p.add_argument("--gc", choices=sorted(COLLECTORS), default="G1")
    p.add_argument("--flags", default="", help="more JVM flags, separated by spaces")
    p.add_argument("--warmup", type=int, default=0, help="more seconds before the samples begin")
    p.add_argument("--duration", type=int, default=15)
    p.add_argument("--freq", type=int, default=997)
    p.add_argument("--dump", help="write the hottest C2 methods into this folder")
    p.add_argument("-v", "--verbose", action="store_true", help="every sampled pc that is named otherwise")
    p.add_argument("--raw", action="store_true", help="compare with all records, also the wrong ones")
    p.add_argument("--bar-method", type=float, default=0)
    p.add_argument("--bar-child", type=float, default=0)
    p.add_argument("--bar-wrong", type=float, default=100)
    p.add_argument("--bar-sure", type=float, default=0)
    args = p.parse_args()
    jdk = jvm.pick_jdk(args.jdk)
    flags = FLAGS + COLLECTORS[args.gc] + args.flags.split()
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        with WORKLOADS[args.workload](jdk, flags, tmp) as java:
            java.wait_ready(300)
            time.sleep(args.warmup)
            print("%s on JDK %d, %s %s" % (args.workload, jdk.major, args.gc, args.flags))
            text = run_agree(args, java.pid)
            compared = int(re.search(r"compared (\d+)", text).group(1))
            failed = check(args, read_table(text), compared)
            pcs, foreign = map(int, re.search(r"pcs named (\d+), after a method that is not there (\d+)",
                                              text).groups())
            if foreign:
                failed.append("%d of %d pcs named after a method that is not there" % (foreign, pcs))
    for f in failed:
        print("failed:", f)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
