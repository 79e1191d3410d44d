"""The measurements behind scripts/bench --attribution: agreement per sample, misplaced shares of CPU time."""

import argparse
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import attribution  # noqa: E402
import jvm  # noqa: E402

AGREEMENT = str(ROOT / "tests/integration/attribution.py")
TRUTH = str(ROOT / "tests/integration/truth.py")
WORKLOADS = ("javac", "clojure", "h2", "truth")
COLLECTORS = ("G1", "Parallel", "Serial", "Z")
RECORDS = {"": (), "+DebugNonSafepoints": ("--flag=-XX:+UnlockDiagnosticVMOptions", "--flag=-XX:+DebugNonSafepoints"),
           "+listener": ("--listener",)}
SAMPLES = 40_000  # that a JVM needs to count
LOST = 0.001  # of a JVM's samples, at most: more is a machine too busy to judge by
INLINED = 5  # percent of them in kernels that C2 inlined: else nothing had to be told apart
BAR_WRONG = 1.0

Cell = collections.namedtuple("Cell", "major gc records")
failed = []


def progress(text):
    print(text, file=sys.stderr, flush=True)


def run(command):
    return subprocess.run([sys.executable, *map(str, command)], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=jvm.die_with_parent)


def judge(what, ok):
    if not ok:
        failed.append(what)
    return "holds" if ok else "FAILS"


# ---- agreement with cleaned full records -------------------------------------------------------


def show_agreement(jdk, workload, text):
    """One line of the table; what attribution.py said failed goes below it."""
    rows = attribution.read_table(text)
    compared = int(re.search(r"compared (\d+)", text).group(1))
    four = "%(method).1f / %(child).1f / %(line).1f / %(wrong).1f"
    sure = [rows[k] for k in (("named", "exact"), ("named", "flow")) if k in rows]
    share = sum(x["share"] for x in sure)
    right = sum(x["share"] * x["method"] for x in sure) / max(share, 0.1)
    bad = re.findall(r"^failed: (.*)", text, re.M)
    cost = re.search(r"graphs ([\d.]+) ns an instruction, then (\d+) ns a pc", text)
    name = "%s, JDK %d" % (workload, jdk.major)
    print("| %s | %d | %s | %s | %.0f | %.1f | %s / %s | %s |"
          % (name, compared, four % rows["all", "address"], four % rows["all", "flow"], share, right,
             *cost.groups(), judge("agreement " + name, not bad and right >= 97)), flush=True)
    for b in bad:
        print("  %s: %s" % (name, b))


def measure_agreement(o):
    print("| workload | samples | address rule: method / child / line / wrong | by flow | called sure | right of "
          "them | ns an instruction / a pc | |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for _, jdk in sorted(jvm.find_jdks().items()):
        for workload in o.workload or WORKLOADS:
            bars = ["--bar-method", 76, "--bar-child", 88, "--bar-wrong", 11] if workload == "javac" else []
            if workload != "truth":
                bars += ["--bar-sure", 97]
            r = run([AGREEMENT, "--jdk", jdk.home, "--workload", workload, "--duration", 15 if o.quick else 40,
                     "--freq", 1999, *bars])
            if "compared" in r.stdout:
                show_agreement(jdk, workload, r.stdout)
            else:
                progress(r.stdout)
                if r.returncode != jvm.SKIP:
                    judge("agreement, %s, JDK %d" % (workload, jdk.major), False)


# ---- shares against the program's own clocks ---------------------------------------------------


def bar_of(cell):
    return 1.5 if cell.gc == "G1" else 2.0


def counts(r):
    return r["samples"] >= SAMPLES and r["inlined"] >= INLINED and r["lost"] <= LOST * r["samples"]


def load(path):
    """{cell: [runs]} of an earlier, interrupted matrix; new JVMs are added to it."""
    runs = collections.defaultdict(list)
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                r = json.loads(line)
                runs[Cell(*r["cell"])].append(r)
    return runs


def one_jvm(o, jdk, cell, seed, tmp):
    """A fresh JVM: its result, or None."""
    out = os.path.join(tmp, "truth.json")
    r = run([TRUTH, "--jdk", jdk.home, "--gc", cell.gc, "--runs", 1, "--seed", seed, "--freq", o.freq,
             "--warmup", o.warmup, "--samples", o.samples, "--inlined", INLINED, "--patience", o.patience,
             "--json", out, *(["--keep", os.path.join(o.keep, "-".join(map(str, cell)))] if o.keep else []),
             *([] if o.natural else ["--inline"]), *RECORDS[cell.records]])
    runs = []
    if os.path.exists(out):
        with open(out, encoding="utf-8") as f:
            runs = json.load(f)["runs"]
        os.unlink(out)
    if not runs:
        progress(r.stdout)
        return None
    runs[0]["cell"] = list(cell)
    if o.json:
        with open(o.json, "a", encoding="utf-8") as f:
            f.write(json.dumps(runs[0]) + "\n")
    return runs[0]


def show_matrix(cells, runs):
    print("| JVM | JVMs that count | samples each | total variation, worst (perfect sampler) | all of them | on "
          "wrong kernels, worst | in inlined kernels | |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for cell in cells:
        name = "%d %s %s" % (cell.major, cell.gc, cell.records)
        good = [r for r in runs[cell] if counts(r)]
        if not good:
            print("| %s | 0 of %d | | | | | | not measured |" % (name, len(runs[cell])))
            continue
        worst = max(good, key=lambda r: r["variation"])
        wrong = max(r["wrong"] for r in good)
        ok = worst["variation"] <= bar_of(cell) and wrong <= BAR_WRONG
        print("| %s | %d of %d | %d to %d | %.2f (%.2f) | %s | %.2f | %.0f to %.0f %% | %s |"
              % (name, len(good), len(runs[cell]), min(r["samples"] for r in good),
                 max(r["samples"] for r in good), worst["variation"], worst["expected"],
                 " ".join("%.2f" % r["variation"] for r in good), wrong, min(r["inlined"] for r in good),
                 max(r["inlined"] for r in good), judge(name, ok)))


def measure_shares(o):
    """Round by round, so that an interrupted matrix has something of every cell."""
    jdks = {m: j for m, j in jvm.find_jdks().items() if not o.jdk or str(m) in o.jdk.split(",")}
    cells = [Cell(m, gc, records) for records in RECORDS for gc in o.gc or COLLECTORS for m in sorted(jdks)]
    runs = load(o.json)
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        for attempt in range(1, 3 * o.runs + 1):
            for cell in cells:
                good = sum(counts(r) for r in runs[cell])
                if good >= min(o.runs, attempt):
                    continue
                r = one_jvm(o, jdks[cell.major], cell, 42 + 1000 * (attempt + len(runs[cell])), tmp)
                if not r:
                    continue
                runs[cell].append(r)
                progress("%s: %.2f points (%.2f), wrong %.2f, %d samples, %.0f %% in inlined kernels, lost %d%s"
                         % (" ".join(map(str, cell)), r["variation"], r["expected"], r["wrong"], r["samples"],
                            r["inlined"], r["lost"], "" if counts(r) else ": does not count"))
    show_matrix(cells, runs)


def parse_arguments():
    p = argparse.ArgumentParser(prog="scripts/bench --attribution")
    p.add_argument("--attribution", action="store_true")
    p.add_argument("--quick", action="store_true", help="a look, no proof")
    p.add_argument("--only", choices=("agreement", "shares"))
    p.add_argument("--workload", action="append", choices=WORKLOADS)
    p.add_argument("--gc", action="append", choices=COLLECTORS)
    p.add_argument("--jdk", help="major versions, separated by commas")
    p.add_argument("--runs", type=int, help="fresh JVMs of each kind that count (5)")
    p.add_argument("--freq", type=int, default=4999)
    p.add_argument("--samples", type=int, help="of each JVM (100,000: with 40,000 chance alone is 0.8 points)")
    p.add_argument("--warmup", type=int, default=8)
    p.add_argument("--patience", type=int, default=60, help="seconds to wait for C2 to inline the kernels")
    p.add_argument("--natural", action="store_true", help="JVMs inline as they do without being told")
    p.add_argument("--json", help="add each JVM there, one a line; what is there already counts")
    p.add_argument("--keep", help="write the folded stacks of each JVM into that directory")
    o = p.parse_args()
    o.runs = o.runs or (1 if o.quick else 5)
    o.samples = o.samples or (SAMPLES if o.quick else 100_000)
    return o


def main():
    o = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("%d CPUs, load %.1f, kernel %s\n" % (os.cpu_count(), os.getloadavg()[0], os.uname().release))
    if o.only != "shares":
        measure_agreement(o)
        print()
    if o.only != "agreement":
        measure_shares(o)
    print("over a bar: " + ", ".join(failed) if failed else "all bars hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
