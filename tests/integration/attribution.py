#!/usr/bin/env python3
"""Agreement of attribution with cleaned full records, sample by sample (attribution_agree.c).

Starts a JVM with -XX:+DebugNonSafepoints, samples it, and compares: the address rule and the rule by
flow in one table. Fails when the rule by flow is worse than the address rule in any cell, when its
bars are missed, or when what is marked exact or by flow is right in too few samples.

Exit status: 0 within the bars, 1 over one of them, 77 when JDK or sources are not here.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import jvm

FLAGS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"],
              "Z": ["-XX:+UseZGC"]}
HERE = pathlib.Path(__file__).resolve().parent
CELL_SAMPLES = 1.0  # percent of the samples that a kind of code needs to be compared
NOISE = 1.0  # points


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


def start_truth(jdk, flags, args):
    classes = jvm.compile_java(jdk, "truth")
    exclude = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Truth::kInterp"]
    return jvm.Jvm(jdk, classes, "Truth", ["interactive=1", "warmup=%d" % args.warmup], flags + exclude,
                   stderr=subprocess.DEVNULL)


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


def check(args, rows):
    failed = []
    flow = rows["all", "flow"]
    for column, bar in (("method", args.bar_method), ("child", args.bar_child)):
        if flow[column] < bar:
            failed.append("%s %.1f < %.1f" % (column, flow[column], bar))
    if flow["wrong"] > args.bar_wrong:
        failed.append("wrong %.1f > %.1f" % (flow["wrong"], args.bar_wrong))
    for (code, rule), values in rows.items():
        other = rows.get((code, "address"))
        if rule != "flow" or not other or values["share"] < CELL_SAMPLES:
            continue
        for column in ("method", "child", "line"):
            if values[column] < other[column] - NOISE:
                failed.append("%s %s: %.1f, by address %.1f" % (code, column, values[column], other[column]))
        if values["wrong"] > other["wrong"] + NOISE:
            failed.append("%s wrong: %.1f, by address %.1f" % (code, values["wrong"], other["wrong"]))
    for name in ("exact", "flow"):
        values = rows.get(("named", name))
        if values and values["share"] >= CELL_SAMPLES and values["method"] < args.bar_sure:
            failed.append("named %s: right %.1f < %.1f" % (name, values["method"], args.bar_sure))
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk")
    p.add_argument("--workload", choices=("javac", "truth"), default="javac")
    p.add_argument("--gc", choices=sorted(COLLECTORS), default="G1")
    p.add_argument("--flags", default="", help="more JVM flags, separated by spaces")
    p.add_argument("--duration", type=int, default=15)
    p.add_argument("--warmup", type=int, default=12)
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
        start = start_javac(jdk, flags, tmp) if args.workload == "javac" else start_truth(jdk, flags, args)
        with start as java:
            java.wait_ready(300)
            print("%s on JDK %d, %s %s" % (args.workload, jdk.major, args.gc, args.flags))
            failed = check(args, read_table(run_agree(args, java.pid)))
    for f in failed:
        print("failed:", f)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
