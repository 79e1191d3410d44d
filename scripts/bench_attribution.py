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
import attribution_bars  # noqa: E402
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

LIMIT = 1800  # seconds for one JVM and what is done with it

Cell = collections.namedtuple("Cell", "major gc records")
failed = []
bars = attribution_bars.Bars()


def progress(text):
    print(text, file=sys.stderr, flush=True)


def run(command):
    """Exit status and output; a command that takes too long is killed and counts as failed."""
    command = [sys.executable, *map(str, command)]
    try:
        r = subprocess.run(command, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, preexec_fn=jvm.die_with_parent, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return 1, "took more than %d s: %s" % (LIMIT, " ".join(command))
    return r.returncode, r.stdout


def append(o, result):
    if not o.json:
        return
    with open(o.json, "a+b") as f:
        end = f.seek(0, os.SEEK_END)
        f.seek(max(end - 1, 0))
        cut = f.read(1) not in (b"", b"\n")  # killed in the middle of a line
        f.write((("\n" if cut else "") + json.dumps(result) + "\n").encode())


def load(path):
    """Results of an earlier, interrupted run; an incomplete last line is measured again."""
    if not path or not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        for line in f:
            try:
                yield json.loads(line)
            except ValueError:
                progress("%s: cut line left out" % path)


def judge(what, ok):
    if not ok:
        failed.append(what)
    return "holds" if ok else "FAILS"


def jdks_of(o):
    return [j for m, j in sorted(jvm.find_jdks().items()) if not o.jdk or str(m) in o.jdk.split(",")]


# ---- agreement with cleaned full records -------------------------------------------------------


def read_agreement(text):
    """The output of attribution.py as a dict; None: it ended before that."""
    compared = re.search(r"compared (\d+)", text)
    cost = re.search(r"graphs ([\d.]+) ns an instruction, then (\d+) ns a pc", text)
    foreign = re.search(r"pcs named (\d+), after a method that is not there (\d+)", text)
    rows = attribution.read_table(text)
    if not compared or not cost or not foreign or ("all", "flow") not in rows:
        return None
    return {"compared": int(compared.group(1)), "cost": cost.groups(), "foreign": list(map(int, foreign.groups())),
            "rows": [[*k, v] for k, v in rows.items()], "bad": re.findall(r"^failed: (.*)", text, re.M)}


def judge_agreement(name, r, rows, share, right):
    def compare(line, what, values, column, bar, above=False):
        bars.compare(line, "%s: %s" % (name, what), values[column], bar,
                     attribution.margin(values[column], values["share"], r["compared"]), above)

    if name.startswith("javac"):
        compare("javac", "method", rows["all", "flow"], "method", 76, True)
        compare("javac", "child", rows["all", "flow"], "child", 88, True)
        compare("javac", "wrong", rows["all", "flow"], "wrong", 11)
    bars.compare("sure", name, right, 97, attribution.margin(right, share, r["compared"]), True)
    worse = [b for b in r["bad"] if "against the address rule" in b]
    bars.note("address", attribution_bars.FAILS if worse else attribution_bars.HOLDS, "; ".join([name] + worse))
    bars.note("foreign", attribution_bars.FAILS if r["foreign"][1] else attribution_bars.HOLDS,
              "%s: %d of %d" % (name, r["foreign"][1], r["foreign"][0]))


def show_head():
    print("| workload | samples | address rule: method / child / line / wrong | by flow | called sure | right of "
          "them | ns an instruction / a pc | |\n| --- | --- | --- | --- | --- | --- | --- | --- |")


def show_agreement(name, r):
    """One line of the table, followed by the failures that attribution.py reported."""
    rows = {(code, rule): values for code, rule, values in r["rows"]}
    four = "%(method).1f / %(child).1f / %(line).1f / %(wrong).1f"
    sure = [rows[k] for k in (("named", "exact"), ("named", "flow")) if k in rows]
    share = sum(x["share"] for x in sure)
    right = sum(x["share"] * x["method"] for x in sure) / max(share, 0.1)
    every = sure + [rows[k] for k in (("no notes", "exact"), ("no notes", "flow")) if k in rows]
    all_share = sum(x["share"] for x in every)
    all_right = sum(x["share"] * x["method"] for x in every) / max(all_share, 0.1)
    print("| %s | %d | %s | %s | %.0f | %.1f, all %.1f | %s / %s | %s |"
          % (name, r["compared"], four % rows["all", "address"], four % rows["all", "flow"], all_share, right,
             all_right, *r["cost"], judge("agreement " + name, not r["bad"] and right >= 97)), flush=True)
    for b in r["bad"]:
        print("  %s: %s" % (name, b))
    judge_agreement(name, r, rows, share, right)


def agree(o, jdk, workload):
    """The result; None: it failed; False: something that it needs is missing."""
    bar = ["--bar-method", 76, "--bar-child", 88, "--bar-wrong", 11] if workload == "javac" else []
    status, text = run([AGREEMENT, "--jdk", jdk.home, "--workload", workload,
                        "--duration", 15 if o.quick else 40, "--freq", 1999, "--bar-sure", 97, *bar])
    if status == jvm.SKIP:
        progress(text)
        return False
    r = read_agreement(text)
    if not r:
        progress(text)
        return None
    r["agreement"] = [workload, jdk.major]
    append(o, r)
    return r


def measure_agreement(o):
    known = {tuple(r["agreement"]): r for r in load(o.json) if "agreement" in r}
    show_head()
    for jdk in jdks_of(o):
        for workload in o.workload or WORKLOADS:
            name = "%s, JDK %d" % (workload, jdk.major)
            r = known.get((workload, jdk.major)) or agree(o, jdk, workload)
            if r:
                show_agreement(name, r)
            elif r is None:
                judge("agreement " + name, False)
                for line in ("javac",) if workload == "javac" else ("sure", "address"):
                    bars.note(line, attribution_bars.OPEN, name + ": the measurement failed")


# ---- garbage and speed --------------------------------------------------------------------------


def unit_test(name):
    """Exit status and output of a unit test; None: it cannot be built."""
    build = jvm.build_dir()
    made = subprocess.run(["cmake", "--build", str(build), "--target", "test_" + name], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode:
        progress(made.stdout)
        return None
    r = subprocess.run([str(build / "tests" / ("test_" + name))], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return r.returncode, r.stdout


def measure_units():
    r = unit_test("attribution_garbage")
    if r:
        bars.note("garbage", attribution_bars.FAILS if r[0] else attribution_bars.HOLDS, "test_attribution_garbage")
    r = unit_test("attribution_speed")
    cost = re.findall(r"graph ([\d.]+) ns an instruction, choice (\d+) ns", r[1]) if r else []
    if cost:
        graph, choice = max(float(g) for g, _ in cost), max(float(c) for _, c in cost)
        ok = graph <= 200 and choice <= 1000
        bars.note("speed", attribution_bars.HOLDS if ok else attribution_bars.FAILS,
                  "graph %.0f ns, choice %.0f ns" % (graph, choice))


# ---- shares against the program's own clocks ---------------------------------------------------


def bar_of(cell):
    return 1.5 if cell.gc == "G1" else 2.0


def counts(r):
    return r["samples"] >= SAMPLES and r["inlined"] >= INLINED and r["lost"] <= LOST * r["samples"]


def one_jvm(o, jdk, cell, seed, tmp):
    """A fresh JVM: its result, or None."""
    out = os.path.join(tmp, "truth.json")
    _, text = run([TRUTH, "--jdk", jdk.home, "--gc", cell.gc, "--runs", 1, "--seed", seed, "--freq", o.freq,
             "--warmup", o.warmup, "--samples", o.samples, "--inlined", INLINED, "--patience", o.patience,
             "--json", out, *(["--keep", os.path.join(o.keep, "-".join(map(str, cell)))] if o.keep else []),
             *([] if o.natural else ["--inline"]), *RECORDS[cell.records]])
    runs = []
    if os.path.exists(out):
        with open(out, encoding="utf-8") as f:
            runs = json.load(f)["runs"]
        os.unlink(out)
    if not runs:
        progress(text)
        return None
    runs[0]["cell"] = list(cell)
    append(o, runs[0])
    return runs[0]


def judge_shares(o, cells, runs):
    """A JVM over its bar is a failure; with too few JVMs the result is inconclusive."""
    for cell in cells:
        good = [r for r in runs[cell] if counts(r)]
        name = "%d %s %s" % (cell.major, cell.gc, cell.records)
        for line, key, bar in (("misplaced", "variation", bar_of(cell)), ("wrong", "wrong", BAR_WRONG)):
            over = [r[key] for r in good if r[key] > bar]
            status = attribution_bars.FAILS if over else attribution_bars.HOLDS if len(good) >= o.runs \
                else attribution_bars.OPEN
            worst = " %.2f" % max(r[key] for r in good) if good else ""
            bars.note(line, status, "%s:%s (%d of %d JVMs)" % (name, worst, len(good), o.runs))


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
    """In rounds, so that an interrupted matrix has results for every cell."""
    jdks = {j.major: j for j in jdks_of(o)}
    cells = [Cell(m, gc, records) for records in RECORDS for gc in o.gc or COLLECTORS for m in sorted(jdks)]
    runs = collections.defaultdict(list)
    for r in load(o.json):
        if "cell" in r:
            runs[Cell(*r["cell"])].append(r)
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
    judge_shares(o, cells, runs)


def show_known(o):
    cells = [Cell(j.major, gc, records) for records in RECORDS for gc in COLLECTORS for j in jdks_of(o)]
    runs = collections.defaultdict(list)
    show_head()
    for r in load(o.json):
        if "agreement" in r:
            show_agreement("%s, JDK %d" % tuple(r["agreement"]), r)
        elif "cell" in r:
            runs[Cell(*r["cell"])].append(r)
    show_matrix(cells, runs)
    judge_shares(o, cells, runs)


def parse_arguments():
    p = argparse.ArgumentParser(prog="scripts/bench --attribution")
    p.add_argument("--attribution", action="store_true")
    p.add_argument("--quick", action="store_true", help="few runs: a rough result")
    p.add_argument("--only", choices=("agreement", "shares", "table"),
                   help="table: measure nothing, show the contents of FILE")
    p.add_argument("--workload", action="append", choices=WORKLOADS)
    p.add_argument("--gc", action="append", choices=COLLECTORS)
    p.add_argument("--jdk", help="major versions, separated by commas")
    p.add_argument("--runs", type=int, help="fresh JVMs of each kind that count (5)")
    p.add_argument("--freq", type=int, default=4999)
    p.add_argument("--samples", type=int, help="of each JVM (100,000: with 40,000 chance alone is 0.8 points)")
    p.add_argument("--warmup", type=int, default=8)
    p.add_argument("--patience", type=int, default=60, help="seconds to wait for C2 to inline the kernels")
    p.add_argument("--natural", action="store_true", help="do not tell JVMs what to inline")
    p.add_argument("--json", help="append each JVM and workload to this file, one on each line; those in it already are not measured again")
    p.add_argument("--keep", help="write the folded stacks of each JVM into that directory")
    o = p.parse_args()
    o.runs = o.runs or (1 if o.quick else 5)
    o.samples = o.samples or (SAMPLES if o.quick else 100_000)
    return o


def main():
    o = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("%d CPUs, load %.1f, kernel %s\n" % (os.cpu_count(), os.getloadavg()[0], os.uname().release))
    if o.only in (None, "agreement"):
        measure_agreement(o)
        print()
    if o.only in (None, "shares"):
        measure_shares(o)
        print()
    if o.only == "table":
        show_known(o)
    measure_units()
    bars.show()
    failed.extend(bars.failed())
    open_lines = [line for line in attribution_bars.LINES if bars.status(line) == attribution_bars.OPEN]
    print("over a bar: %s; inconclusive: %s" % (", ".join(failed) or "nothing", ", ".join(open_lines) or "nothing"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
