"""docs/matrix.md, from the results of matrix.py."""

import sys

HEAD = """# JDKs and modes

Written by `tests/integration/matrix.py --results build/matrix.jsonl --docs`, from the results of `scripts/test --jdks all`.

Under each JDK and in each mode, a program that knows its own CPU time (`tests/java/truth`) is profiled, by default at 999 Hz
for 20 s. To repeat one cell: `tests/integration/matrix.py --jdks 25 --modes default`. JDK 28 is an early-access build.

A cell of the first table reads *complete / sure / misplaced (chance)*:

* **complete**: share of the samples whose stack reaches the thread's first frame, in percent
* **sure**: share of the samples in compiled code whose method is known by evidence, in percent: exactly, or from the flow of the
  code; `-` where nothing is compiled. See [measurements.md](measurements.md#names-in-compiled-code)
* **misplaced**: CPU time attributed to the wrong method, in percentage points, according to the program's own CPU clocks
* **chance**: what a perfect sampler would misplace with the same number of samples, in percentage points

A cell that is only `-` is a mode that this build of the JDK leaves out. An empty cell was not measured, mostly because the JDK
does not have the mode. `failed` means that nothing could be measured.

## Results

"""


def text_of(r):
    """What a cell of the table says; blank: not measured."""
    if r is None:
        return ""
    if r.get("absent"):
        return "-"
    if "complete" not in r:
        return "failed"
    # Never rounded up to what it is not.
    complete = int(r["complete"] * 100) / 100
    return "%s / %s / %.1f (%.1f)" % ("%.0f" % complete if complete == 100 else "%.2f" % complete,
                                      "%.0f" % (r["exact"] + r["flow"]) if r.get("exact") is not None else "-",
                                      r["variation"], r["expected"])


def table(results, modes):
    cells = {(r["jdk"], r["name"]): r for r in results if r["name"] in modes}
    jdks = sorted({jdk for jdk, _ in cells})
    versions = {r["jdk"]: r["version"] for r in cells.values()}
    rows = ["| mode | " + " | ".join("JDK %s" % versions[j] for j in jdks) + " |",
            "| --- |" + " --- |" * len(jdks)]
    for mode in modes:
        row = [text_of(cells.get((j, mode))) for j in jdks]
        if any(t not in ("", "-") for t in row):
            rows.append("| %s | %s |" % (mode, " | ".join(row)))
    samples = [r["samples"] for r in cells.values() if "samples" in r]
    return "\n".join([*rows, "", "A cell has %d to %d samples; where there are few, most of what is misplaced is chance." % (
        min(samples), max(samples))]) + "\n"


def jdks_of(mode):
    if mode.until >= 99:
        return "all" if mode.since <= 8 else "%d and later" % mode.since
    return "%d" % mode.since if mode.since == mode.until else "%d to %d" % (mode.since, mode.until)


def modes_table(modes):
    rows = ["\n## Modes\n", "| mode | collector | further flags | JDKs |", "| --- | --- | --- | --- |"]
    for name, mode in modes.items():
        flags = ["-Xint"] * mode.interpreted + [f.replace("%s", "FILE") for f in mode.flags]
        rows.append("| %s | %s | %s | %s |" % (name, mode.gc, " ".join("`%s`" % f for f in flags), jdks_of(mode)))
    return "\n".join(rows) + "\n"


def write(path, results, modes):
    results = list(results)
    if not any("samples" in r for r in results):
        sys.exit("no results: --results names the file of a run")
    path.write_text(HEAD + table(results, modes) + modes_table(modes), encoding="utf-8")
    return 0
