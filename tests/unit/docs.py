#!/usr/bin/env python3
"""The documents: links and file names lead somewhere, tables have a row for each command, room and mode; the version is
the same everywhere."""

import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import matrix  # noqa: E402
import matrix_table  # noqa: E402

DOCS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "tests").rglob("README.md"))]
FOLDERS = ("sampler", "symbolizer", "jvm-bridge", "scripts", "tests", "packaging", "docs", ".ci")
SOURCES = [f for d in FOLDERS for f in sorted((ROOT / d).rglob("*")) if f.is_file()]
README_LINES = 150
NOT_OURS = {"jvmti.h"}
failures = []


def check(what, ok, got=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, got))


def without_code(text):
    return re.sub(r"^(    .*|```[\s\S]*?^```)$", "", text, flags=re.M)


def anchors(text):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", without_code(text), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def broken_links(path):
    bad = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text(encoding="utf-8"))):
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        if "://" in link:
            continue
        if not target.exists() or anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            bad.append(link)
    return bad


def is_there(name):
    """A path, or its last parts; * stands for any characters."""
    return any(f.match(name) for f in SOURCES) or bool(list(ROOT.glob(name.strip("/"))))


def lost_names(text):
    """Names of files in code marks that no file has."""
    names = re.findall(r"`([\w./*-]+\.(?:c|h|py|js|md|txt|cmake|proto))\b[^`]*`", text)
    names += re.findall(r"`((?:%s)/[\w./*-]+)`" % "|".join(re.escape(d) for d in FOLDERS), text)
    return sorted({n for n in names if n not in NOT_OURS and not is_there(n)})


def links():
    with tempfile.TemporaryDirectory() as tmp:
        page = pathlib.Path(tmp, "page.md")
        page.write_text("# A head: `x`\n[a](page.md#a-head-x) [b](gone.md) [c](#none) [d](https://a.b/c)\n\n    [e](code)\n")
        check("a link that leads nowhere is found", broken_links(page) == ["gone.md", "#none"], broken_links(page))
    check("a name that no file has is found", lost_names("`docs.py` `no_such.c` `sampler/no-such` `test_*.c`") ==
          ["no_such.c", "sampler/no-such"])
    for path in DOCS:
        name = path.relative_to(ROOT)
        check("%s: links" % name, not broken_links(path), broken_links(path))
        lost = lost_names(path.read_text(encoding="utf-8"))
        check("%s: names of files" % name, not lost, lost)
    for path in SOURCES:
        try:
            mentioned = re.findall(r"\b(?:docs/[\w-]+|README|ARCHITECTURE)\.md\b", path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        lost = [m for m in mentioned if not (ROOT / m).exists()]
        check("%s: documents that it names" % path.relative_to(ROOT), not lost, lost)


def rows(text, after):
    """First cells of the first table behind that text."""
    table = text[text.index(after):].split("\n| ")[3:]
    return [r.split(" |")[0].strip("`") for r in "\n| ".join(["", *table]).split("\n\n")[0].split("\n| ") if r]


def readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    check("README.md has under %d lines" % README_LINES, text.count("\n") < README_LINES, text.count("\n"))
    commands = re.findall(r'^\t\{"(\w+)", "', (ROOT / "sampler/cli/options/cmd_docs.c").read_text(), re.M)
    check("README.md: the table of commands", commands and rows(text, "\n## Commands\n") == commands, rows(text, "\n## Commands\n"))


def architecture():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {line.split()[0] for line in (ROOT / "scripts/layers.txt").read_text().splitlines()}
    rooms = {r for r in rooms if not r.startswith("sampler/output/page/")}  # drawn in "The page"
    sources = "".join(f.read_text(encoding="utf-8") for f in SOURCES if f.suffix in (".c", ".h", ".js"))
    lost = [n for n in re.findall(r"`(\w+)\(\)`", text) if not re.search(r"\b%s\(" % n, sources)]
    check("ARCHITECTURE.md: names of functions", not lost, lost)
    found = rows(text, "\n## The rooms\n")
    check("ARCHITECTURE.md: a row for each room", rooms == set(found) and len(found) == len(rooms), rooms ^ set(found))


def other_versions(text, version):
    """Names of packages and images of another version than the program's."""
    return [n for n in re.findall(r"jsampler[-_:]\d+\.\d+\.\d+", text) if n[9:] != version]


def version():
    """CMakeLists.txt has it; what people type names it."""
    has = re.search(r"^project\(jsampler VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
    check("another version is found", other_versions("jsampler-1.2.3-1 jsampler_1.2.30_a jsampler:1.2.3", "1.2.3") ==
          ["jsampler_1.2.30"])
    for name in ("README.md", "docs/install.md", "packaging/kubernetes/job/job.yaml", "packaging/kubernetes/daemon/daemonset.yaml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        check(name + ": names of packages", has in text and not other_versions(text, has), other_versions(text, has))
    check("CHANGELOG.md begins with it", re.search(r"^## ([\d.]+\d)", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1) == has)


def added(manifest):
    return re.search(r"^ +add: \[(.*)\]$", (ROOT / "packaging/kubernetes" / manifest).read_text(), re.M).group(1).split(", ")


def capabilities():
    """docs/install.md gives a container what the Job has, and says why, and why the DaemonSet has more."""
    text = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    job, daemon = added("job/job.yaml"), added("daemon/daemonset.yaml")
    check("docs/install.md: --cap-add", re.search(r"--cap-add=(\S+)", text).group(1).split(",") == job, job)
    named = [n for row in rows(text, "and with these capabilities:") for n in row.replace("`", "").split(", ")]
    check("docs/install.md: the table of capabilities", sorted(named) == sorted(job + [d + " (daemon)" for d in daemon if d not in job]), named)


def formats():
    """The manual page names the ending of each output format, and docs/api.yaml its name."""
    page = (ROOT / "packaging/man/jsampler-record.roff").read_text(encoding="utf-8")
    api = re.findall(r"format: (folded[^.]*)\.", (ROOT / "docs/api.yaml").read_text(encoding="utf-8"))
    found = [w for f in (ROOT / "sampler/output").glob("writer_*.c")
             for w in re.findall(r'\.name = "(\w+)",\n\t\.endings = "(\.[\w.]+)', f.read_text(encoding="utf-8"))]
    check("formats are found", len(found) > 5, found)
    for name, ending in found:
        check("jsampler-record.roff: " + ending, ending.replace(".folded.gz", ".folded") in page)
        check("docs/api.yaml: " + name, api and all(re.search(r"\b%s\b" % name, text) for text in api), api)


def matrix_page():
    page = (ROOT / "docs/matrix.md").read_text(encoding="utf-8")
    modes = matrix_table.modes_table(matrix.MODES)
    check("docs/matrix.md is what matrix.py --docs writes", page.startswith(matrix_table.HEAD) and page.endswith(modes))
    check("docs/matrix.md: a row is a mode", not set(rows(page, "\n## Results\n")) - matrix.MODES.keys())
    check("each mode has a row in the second table", rows(page, "\n## Modes\n") == list(matrix.MODES))
    with tempfile.TemporaryDirectory() as tmp:
        path = pathlib.Path(tmp, "matrix.md")
        cell = {"jdk": 17, "version": "17.0.1", "name": "default", "samples": 5000, "complete": 99.9999, "exact": 20.0, "flow": 15.4,
                "variation": 0.66, "expected": 0.6}
        matrix_table.write(path, [cell, {**cell, "jdk": 8, "version": "8", "absent": True}, {"jdk": 8, "version": "8", "name": "int", "bad": ["x"]}],
                           matrix.MODES)
        text = path.read_text(encoding="utf-8")
        check("its cells", "| default | - | 99.99 / 35 / 0.7 (0.6) |\n| int | failed |  |\n" in text and "JDK 8 | JDK 17.0.1" in text, text)
        try:
            matrix_table.write(path, [], matrix.MODES)
            check("no results are no page", False)
        except SystemExit:
            check("and the page stays", path.read_text(encoding="utf-8") == text)


def main():
    links()
    readme()
    architecture()
    version()
    capabilities()
    formats()
    matrix_page()
    print("%d failed" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
