"""The README's table of the matrix: between its markers, from the results of matrix.py."""

import sys

BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"


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
    return "\n".join([*rows, "", "%d to %d samples a cell; where there are few, most of what is misplaced is chance." % (min(samples), max(samples))])


def write_readme(path, results, modes):
    results = list(results)
    if not any("samples" in r for r in results):
        sys.exit("no results: --results names the file of a run")
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit("%s: no place for the table (%s ... %s)" % (path, BEGIN, END))
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text("%s%s\n%s\n%s%s" % (before, BEGIN, table(results, modes), END, after), encoding="utf-8")
    return 0
