#!/usr/bin/env python3
"""Every JDK in every mode: complete stacks, exact names, misplaced CPU time, in cells of one JVM each.

A cell JDK.MODE profiles tests/java/truth/Truth.java under that JDK with that mode's flags. Checks
(JDK.step, JDK.dump, JDK.shapes) are the tests of the same names, which compare each stack with what
the program or the JVM says. Cells run in the order of their worth. A cell fails where only a defect
explains it; one that fails is run once more, at the end. What sid calls an early access JDK is
looked at but cannot fail: it is another one each week.

usage: matrix.py [--jdks 8,21|all] [--modes default,int] [--quick] [--minutes N] [--results FILE]
                 [--fresh] [--strict] [--list] [--docs]

  --quick    few cells of short recordings, and the checks, for JDKs that no other test runs on
  --minutes  cells that would not end in time are named as not reached
  --results  a line of JSON a cell; cells that are there already are not run again (--fresh: they are)
  --strict   the bars of a quiet machine
  --docs     writes the results to docs/matrix.md, runs nothing

The JDKs are those in /usr/lib/jvm and what scripts/jdks brought, or what JSAMPLER_JDKS names.
Exit status: 0 no cell failed, 1 one did, 2 wrong usage.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import jvm
import matrix_table
from truth import COLLECTORS

HERE = pathlib.Path(__file__).resolve().parent
BROUGHT = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "jsampler/jdks"
EARLY_ACCESS = 28  # and above
LIMIT_S = 600  # of one cell
UNLIKELY = 1e-5


class Mode:
    """Flags that make one way to run Java code; since and until: the JDKs that have it."""

    def __init__(self, flags=(), gc="G1", since=8, until=99, interpreted=False, archive=None, warmup=0):
        self.flags, self.gc, self.since, self.until = list(flags), gc, since, until
        self.interpreted, self.archive, self.warmup = interpreted, archive, warmup


# In the order of their worth.
MODES = {
    "default": Mode(),
    "int": Mode(interpreted=True),
    "parallel": Mode(gc="Parallel"),
    "z": Mode(gc="Z", since=11),
    "c1": Mode(["-XX:TieredStopAtLevel=1"]),
    "serial": Mode(gc="Serial"),
    "fp": Mode(["-XX:+PreserveFramePointer"]),
    "one-heap": Mode(["-XX:-SegmentedCodeCache"], since=11),
    "shenandoah": Mode(gc="Shenandoah"),
    "z-generational": Mode(["-XX:+ZGenerational"], gc="Z", since=21, until=22),
    "z-single": Mode(["-XX:-ZGenerational"], gc="Z", since=23, until=23),
    "shenandoah-generational": Mode(["-XX:ShenandoahGCMode=generational"], gc="Shenandoah", since=25),
    "wide-oops": Mode(["-XX:-UseCompressedOops"]),
    "wide-classes": Mode(["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"], until=24),
    "compact-headers": Mode(["-XX:+UseCompactObjectHeaders"], since=25, until=26),
    "plain-headers": Mode(["-XX:-UseCompactObjectHeaders"], since=27),
    "c2": Mode(["-XX:-TieredCompilation"]),
    "comp": Mode(["-Xcomp"], warmup=20),
    "jfr": Mode(["-XX:StartFlightRecording=settings=profile"], since=11),
    "no-cds": Mode(["-Xshare:off"]),
    "app-cds": Mode(["-XX:SharedArchiveFile=%s", "-Xshare:on"], since=17, archive="-XX:ArchiveClassesAtExit=%s"),
    "aot-cache": Mode(["-XX:AOTCache=%s", "-XX:AOTMode=on"], since=25, archive="-XX:AOTCacheOutput=%s"),
}


def crossed(kind, flags=(), **more):
    """With each collector; the cells of G1 have the plain names."""
    return {"%s-%s" % (kind, gc.lower()): Mode(flags, gc=gc, since=11 if gc == "Z" else 8, **more)
            for gc in COLLECTORS if gc != "G1"}


MODES.update({**crossed("int", interpreted=True), **crossed("c1", ["-XX:TieredStopAtLevel=1"]),
              **crossed("comp", ["-Xcomp"], warmup=20)})
CHECKS = {
    "step": ["single_step.py", "--mode", "default,c1,int", "--steps", "10000"],
    "dump": ["stack_dump.py"],
    "dump-int": ["stack_dump.py", "--flags=-Xint"],
    "dump-fp": ["stack_dump.py", "--flags=-XX:+PreserveFramePointer"],
    "shapes": ["shapes.py", "exceptions", "deopt", "handles"],
    "shapes-more": ["shapes.py", "osr", "jni", "redefine", "unload", "huge", "overflow", "hostile-names"],
    "shapes-names": ["shapes.py", "thread-names", "deep", "twins", "storm", "forbidden-names"],
    "shapes-later": ["shapes_later.py"],
    "step-modes": ["single_step.py", "--mode", "c2,early,deopt,parallel,z,fp,virtual,virtual-int", "--steps", "10000"],
    "live": ["live_hotspot.py", "--gc", "G1,Serial,Parallel"],
    "containers": ["containers.py"],
}
CHECKS_SINCE = {"shapes-later": 21}
QUICK_MODES = ["default", "int", "parallel"]
QUICK_CHECKS = ["step", "dump", "shapes"]
# Walks of single_step.py that may go wrong in a quick run: states that one run of some meets. A pattern
# of instructions that is not known costs ten times that.
RARE = 0.002
# What the other tests of the same run use.
INSTALLED = "/usr/lib/jvm"
# Cells that may fail, with the reason, which ARCHITECTURE.md explains.
KNOWN = {}


class Cell:
    def __init__(self, jdk, name):
        self.jdk, self.name = jdk, name
        self.key = "%d.%s" % (jdk.major, name)

    def is_check(self):
        return self.name in CHECKS


def version_of(jdk):
    m = re.search(r'JAVA_VERSION="([^"]+)"', (jdk.home / "release").read_text(errors="replace"))
    return m.group(1) if m else str(jdk.major)


def all_jdks():
    brought = {} if "JSAMPLER_JDKS" in os.environ else jvm.find_jdks(str(BROUGHT))
    return {**brought, **jvm.find_jdks()}


def starts(jdk, mode):
    """Does this build of the JDK know the flags?"""
    flags = [*COLLECTORS[mode.gc], *[f for f in mode.flags if "%s" not in f and "StartFlight" not in f]]
    return subprocess.run([str(jdk.home / "bin/java"), *flags, "-version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=LIMIT_S).returncode == 0


def make_archive(jdk, mode, path):
    """Runs the program once for the archive of its classes; they must come from a jar file."""
    jar = jvm.jar_of(jvm.compile_java(jdk, "truth"))
    run = subprocess.run([str(jdk.home / "bin/java"), mode.archive % path, "-XX:+UseG1GC", "-cp", str(jar), "Truth",
                          "warmup=2", "seconds=2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=LIMIT_S)
    return None if os.path.exists(path) else "no archive was made: " + run.stdout[-400:]


def run_script(argv):
    """(exit status, output) of a test; what it started is gone afterwards, whatever happens."""
    proc = subprocess.Popen([sys.executable, "-B", str(HERE / argv[0]), *argv[1:]], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            start_new_session=True, preexec_fn=jvm.die_with_parent)
    try:
        out, _ = proc.communicate(timeout=LIMIT_S)
        return proc.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        return -1, "no end after %d s\n%s" % (LIMIT_S, proc.communicate()[0])


def measure(cell, o):
    """The result of a cell that profiles Truth: a dict; "bad": what is over a bar."""
    mode = MODES[cell.name]
    if not starts(cell.jdk, mode):
        return {"absent": True, "bad": []}
    with tempfile.TemporaryDirectory(prefix="jsampler-matrix-") as tmp:
        archive = os.path.join(tmp, "archive")
        if mode.archive:
            bad = make_archive(cell.jdk, mode, archive)
            if bad:
                return {"bad": [bad]}
        argv = ["truth.py", "--jdk", str(cell.jdk.home), "--gc", mode.gc, "-v", "--json", tmp + "/json",
                "--mode", "int" if mode.interpreted else "mixed", "--freq", str(o.freq),
                "--warmup", str(max(o.warmup, mode.warmup)), "--duration", str(o.duration), "--min-samples", "1"]
        argv += ["--flag=" + (f % archive if "%s" in f else f) for f in mode.flags]
        status, out = run_script(argv)
        try:
            with open(tmp + "/json", encoding="utf-8") as f:
                run = json.load(f)["runs"][0]
        except (OSError, ValueError, IndexError, KeyError):
            return {"bad": ["truth.py ended with %d" % status], "output": out[-3000:]}
    result = {k: run[k] for k in ("samples", "complete", "variation", "expected", "unknown", "inlined")}
    m = re.search(r"sure by the JVM's record of the instruction ([\d.]+) %, sure by the code around it ([\d.]+) %", out)
    if m:
        result["exact"], result["flow"] = float(m.group(1)), float(m.group(2))
    result["bad"] = over_bars(cell, result, o)
    if result["bad"]:
        result["output"] = out[-3000:]
    return result


def over_bars(cell, r, o):
    """Complete stacks and frames without a name: where a program that just meets the bar has less than
    one chance in 100,000 (Poisson). Misplaced: beyond the bar by more than chance can be."""
    default = cell.name == "default"
    n, bad = r["samples"], []
    incomplete = round(n * (100 - r["complete"]) / 100)
    # On a busy machine what is deeper than its copy has changed more often before it is read.
    bar = (0.001 if default else 0.005) * (1 if o.strict else 10 if o.quick else 3)
    if n < 100:
        bad.append("%d samples" % n)
    if incomplete and jvm.odds(incomplete, bar * n) < UNLIKELY:
        bad.append("complete %.3f %% of %d, bar %.1f" % (r["complete"], n, 100 - 100 * bar))
    if r["unknown"] and jvm.odds(r["unknown"], bar * n) < UNLIKELY:
        bad.append("%d of %d stacks with [unknown]" % (r["unknown"], n))
    points = 1.5 if o.strict and default else 12 if default else 40
    if r["variation"] > points + (2 if o.strict else 3) * r["expected"]:
        bad.append("misplaced %.2f points (a perfect sampler: %.2f), bar %.1f" % (r["variation"], r["expected"], points))
    return bad


def rare(name, out):
    """What single_step.py found, where it is too little to be more than a state that few runs meet."""
    found = [(int(f), int(w)) for w, f in
             re.findall(r"(\d+) walks in generated code, \d+ native instructions, (\d+) failures", out)]
    bad = sum(f for f, _ in found)
    return bad and name == "single_step.py" and all(f <= RARE * w for f, w in found)


def check(cell, o):
    name, *rest = CHECKS[cell.name]
    status, out = run_script([name, "--jdk", str(cell.jdk.home), *rest])
    if status in (0, jvm.SKIP):
        return {"absent": status == jvm.SKIP, "bad": []}
    if o.quick and status == 1 and rare(name, out):
        return {"bad": [], "rare": True, "output": out[-6000:]}
    return {"bad": ["%s: exit status %d" % (name, status)], "output": out[-6000:]}


def run_cell(cell, o):
    began = time.monotonic()
    result = check(cell, o) if cell.is_check() else measure(cell, o)
    result.update(cell=cell.key, jdk=cell.jdk.major, version=version_of(cell.jdk), name=cell.name,
                  seconds=round(time.monotonic() - began, 1))
    print(line_of(cell, result), flush=True)
    return result


def line_of(cell, r):
    text = "%-26s " % cell.key
    if r.get("absent"):
        return text + "not in this build of the JDK"
    if "complete" in r:
        text += "complete %7.3f %%  exact %5.1f %%  misplaced %5.2f (chance %.2f)  %6d samples  inlined %4.1f %%" % (
            r["complete"], r.get("exact", 0) + r.get("flow", 0), r["variation"], r["expected"], r["samples"],
            r.get("inlined", 0))
    elif not r["bad"]:
        text += "passed, with states that few runs meet:" if r.get("rare") else "passed"
    for b in r["bad"]:
        text += "\n    FAILED: " + b
    if r.get("output"):
        text += "\n      | " + r["output"].rstrip().replace("\n", "\n      | ")
    return text


def exists(name, major):
    if name in CHECKS:
        return major >= CHECKS_SINCE.get(name, 0)
    return MODES[name].since <= major <= MODES[name].until


def cells_of(o):
    """By worth: the default mode of each JDK, then the checks, then mode by mode."""
    jdks = all_jdks()
    wanted = sorted(jdks) if o.jdks == "all" else [int(j) for j in o.jdks.split(",")]
    if o.quick and o.jdks == "all":
        covered = jvm.find_jdks(INSTALLED)
        wanted = [j for j in wanted if j not in covered]
    missing = [j for j in wanted if j not in jdks]
    if missing:
        sys.exit("no JDK %s here (scripts/jdks brings it)" % ", ".join(map(str, missing)))
    if o.modes:
        names = o.modes.split(",")
    elif o.quick:
        names = ["default", *QUICK_CHECKS, *QUICK_MODES[1:]]
    else:
        names = ["default", *QUICK_CHECKS, *[m for m in MODES if m != "default"],
                 *[c for c in CHECKS if c not in QUICK_CHECKS]]
    unknown = [n for n in names if n not in MODES and n not in CHECKS]
    if unknown:
        sys.exit("no mode %s (--list)" % ", ".join(unknown))
    return [Cell(jdks[j], n) for n in names for j in wanted
            if exists(n, j)
            and (j < EARLY_ACCESS or not o.quick or o.modes or n == "default")]


class Results:
    """What is known of each cell, in memory and in a file that the next run goes on with."""

    def __init__(self, path, fresh):
        self.path, self.cells = path, {}
        if path and fresh and os.path.exists(path):
            os.unlink(path)
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                for line in f:
                    r = json.loads(line)
                    self.cells[r["cell"]] = r

    def add(self, r):
        self.cells[r["cell"]] = r
        if self.path:
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(json.dumps(r) + "\n")


def may_fail(cell):
    return cell.jdk.major < EARLY_ACCESS and cell.key not in KNOWN


class Budget:
    """The time of a run: whether there is enough left for as long a cell as any before."""

    def __init__(self, minutes):
        self.end, self.longest = time.monotonic() + minutes * 60, 0

    def allows_one(self):
        return time.monotonic() + self.longest <= self.end

    def took(self, seconds):
        self.longest = max(self.longest, seconds)


def run_twice(cell, budget, o):
    """The cell's result, of a second run where the first failed; None: not reached."""
    if not budget.allows_one():
        return None
    r = run_cell(cell, o)
    budget.took(r["seconds"])
    if r["bad"] and budget.allows_one():
        print("once more:", cell.key, flush=True)
        r = {**run_cell(cell, o), "second": True}
    return r


def run_all(cells, results, o):
    """The cells that were not reached. A cell that measures is alone; what checks say does not depend on what runs
    beside them, so two of them do."""
    budget, left = Budget(o.minutes), []
    cells = [c for c in cells if c.key not in results.cells or results.cells[c.key]["bad"]]
    for are_checks, group in itertools.groupby(cells, Cell.is_check):
        group = list(group)
        with concurrent.futures.ThreadPoolExecutor(2 if are_checks else 1) as pool:
            for cell, r in zip(group, pool.map(lambda c: run_twice(c, budget, o), group)):
                if r:
                    results.add(r)
                else:
                    left.append(cell)
    return left


def summarise(cells, left, results):
    done = [(c, results.cells[c.key]) for c in cells if c.key in results.cells]
    bad = [c for c, r in done if r["bad"]]
    failed = [c.key for c in bad if may_fail(c)]
    passed = len([c for c, r in done if not r["bad"] and not r.get("absent")])
    for title, names in (("passed only in their second run", [c.key for c, r in done if r.get("second") and not r["bad"]]),
                         ("known", ["%s (%s)" % (c.key, KNOWN.get(c.key, "early access")) for c in bad if not may_fail(c)]),
                         ("not reached", [c.key for c in left]), ("FAILED twice", failed)):
        if names:
            print("matrix: %s: %s" % (title, ", ".join(names)))
    for c, r in done:
        if r["bad"] and may_fail(c):
            print(line_of(c, {**r, "output": "\n".join(r.get("output", "").splitlines()[-25:])}))
    print("matrix: %d passed, %d failed" % (passed, len(failed)))
    return 1 if failed else 0


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdks", default="all")
    p.add_argument("--modes", help="of --list, separated by commas")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--minutes", type=float, default=1e6)
    p.add_argument("--results")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--strict", action="store_true")
    p.add_argument("--freq", type=int)
    p.add_argument("--warmup", type=int)
    p.add_argument("--duration", type=int)
    p.add_argument("--list", action="store_true")
    p.add_argument("--docs", action="store_true")
    o = p.parse_args()
    for name, quick, whole in (("freq", 499, 999), ("warmup", 6, 12), ("duration", 5, 20)):
        if not getattr(o, name):
            setattr(o, name, quick if o.quick else whole)
    return o


def main():
    o = parse_arguments()
    results = Results(o.results, o.fresh)
    if o.docs:
        return matrix_table.write(jvm.ROOT / "docs/matrix.md", results.cells.values(), MODES)
    cells = cells_of(o)
    if o.list:
        print("\n".join(c.key for c in cells))
        return 0
    left = run_all(cells, results, o)
    return summarise(cells, left, results)


if __name__ == "__main__":
    sys.exit(main())
