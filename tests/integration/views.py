#!/usr/bin/env python3
"""`jsampler report` and `jsampler diff` on folded stacks written by hand: exact numbers, and what is refused."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile

import jvm
import shell
from shell import check

BEFORE = """\
main;app/Main.run_[j];app/Store.put_[i] 300
main;app/Main.run_[j];app/Store.put_[1] 100
main;app/Main.run_[j];app/Store.get_[0] 50
main;app/Main.run_[j];app/Old.gone_[j];app/Store.put_[j] 50
main;app/Main.run_[j] 400
main;do_syscall_64_[k] 100
"""
AFTER = """\
main;app/Main.run_[j];app/Store.put_[i] 700
main;app/Main.run_[j];app/Store.get_[0] 100
main;app/Main.run_[j];app/New.born_[j] 100
main;app/Main.run_[j] 900
main;do_syscall_64_[k] 200
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def data(args):
    p = shell.run([*args, "-f", "json"])
    check("%s: status 0, nothing on stderr" % " ".join(map(os.path.basename, args)), p.returncode == 0 and not p.stderr, p.stderr)
    return json.loads(p.stdout)


def table(rows, *keys):
    return [tuple(r[k] for k in keys) for r in rows]


def report(before, after):
    d = data(["report", before])
    check("flat", table(d["rows"], "method", "self", "total") == [
        ("app/Store.put", 450, 450), ("app/Main.run", 400, 900), ("do_syscall_64", 100, 100), ("app/Store.get", 50, 50),
        ("main", 0, 1000), ("app/Old.gone", 0, 50)], d)
    check("flat: error", abs(d["rows"][0]["error_percent"] - 196 * (.45 * .55 / 1000) ** .5) < 1e-6, d["rows"][0])
    check("flat: samples", d["samples"] == 1000 and d["weight"] == 1000, d)
    d = data(["report", before, after])
    check("two files are added up", table(d["rows"][:2], "method", "self") == [("app/Main.run", 1300), ("app/Store.put", 1150)], d)
    p = shell.run(["report", "-f", "csv", before])
    rows = list(csv.DictReader(io.StringIO(p.stdout, newline="")))
    check("csv", [(r["method"], r["self"]) for r in rows][:2] == [("app/Store.put", "450"), ("app/Main.run", "400")], p.stdout)
    d = data(["report", "--tree", "--least", "0", before])
    check("tree", table(d["rows"], "depth", "method", "total", "self") == [
        (1, "main", 1000, 0), (2, "app/Main.run", 900, 400), (3, "app/Store.put", 400, 400), (3, "app/Store.get", 50, 50),
        (3, "app/Old.gone", 50, 0), (4, "app/Store.put", 50, 50), (2, "do_syscall_64", 100, 100)], d)
    d = data(["report", "--callers", "Store.put", "--least", "0", before])
    check("callers", table(d["rows"], "depth", "method", "total") == [
        (0, "app/Store.put", 450), (1, "app/Main.run", 400), (2, "main", 400), (1, "app/Old.gone", 50),
        (2, "app/Main.run", 50), (3, "main", 50)], d)
    check("callers have no time of their own", not any("self" in r for r in d["rows"]), d["rows"])
    d = data(["report", "--callees", "app.Main.run", "--least", "0", before])
    check("callees", table(d["rows"][:3], "depth", "method", "total") == [
        (0, "app/Main.run", 900), (1, "app/Store.put", 400), (1, "app/Store.get", 50)], d)
    tiers(before)


def tiers(before):
    d = data(["report", "--tiers", before])
    put = d["rows"][0]
    check("tiers: a method", (put["method"], put["self"], put["inlined"], put["c1"], put["c2"], put["interpreted"]) == (
        "app/Store.put", 450, 300, 100, 50, 0), put)
    java = d["totals"]["java"]
    check("tiers: totals", (java["interpreted"], java["c1"], java["c2"], java["inlined"]) == (50, 100, 450, 300) and
          d["totals"]["other"] == {"kernel": 100}, d["totals"])
    p = shell.run(["report", "--tiers", before])
    check("tiers: text", "app/Store.put" in p.stdout and p.stdout.count("\n") > 8, p.stdout)


def diff(before, after, folder):
    d = data(["diff", before, after])
    rows = {r["method"]: r for r in d["rows"]}
    put = rows["app/Store.put"]
    check("diff: shares", (put["self_before"], put["self_after"], put["self_before_percent"], put["self_after_percent"]) ==
          (450, 700, 45, 35), put)
    check("diff: points", abs(put["self_change_points"] + 10) < 1e-6 and put["changed"] == 1, put)
    check("diff: vanished and new", (rows["app/Old.gone"]["presence"], rows["app/New.born"]["presence"]) == ("vanished", "new"),
          rows)
    check("diff: the surest first", [r["method"] for r in d["rows"][:1]] == ["app/New.born"], d["rows"][:3])
    text = shell.run(["diff", before, after]).stdout
    check("diff: text has both", "vanished app/Old.gone" in text and "new      app/New.born" in text and "-10.00" in text, text)
    swapped = data(["diff", after, before])["rows"]
    check("diff: the other way round", {r["method"]: round(-r["self_change_points"], 6) for r in swapped} ==
          {r["method"]: round(r["self_change_points"], 6) for r in d["rows"]}, swapped)
    one = data(["diff", before, before])
    check("diff: a file and itself", one["changed"] == 0 and all(r["self_change_points"] == 0 for r in one["rows"]), one)
    three = data(["diff", before, before, before, "--", after, after, after])
    check("diff: three files a side", three["chance"] == "spread" and three["before"]["samples"] == 3000 and
          three["rows"][0]["method"] == "app/New.born", three)
    gates(before, after)
    page = os.path.join(folder, "d.html")
    p = shell.run(["diff", before, after, "-o", page, "-o", os.path.join(folder, "d.csv")])
    with open(page, encoding="utf-8") as f:
        text = f.read()
    check("diff: a page and a table at once", p.returncode == 0 and not p.stdout and text.endswith("</html>") and "Old.gone" in text and
          os.path.getsize(os.path.join(folder, "d.csv")) > 200, p.stderr)
    d = data(["diff", "--tiers", before, after, "--work", "2"])
    rows = {r["method"]: r for r in d["rows"]}
    check("diff --tiers", abs(rows["app/Store.put"]["speed_up"] - 450 * 2 / 700) < 1e-6 and
          rows["app/Store.get"]["before_interpreted"] == 50, rows)


def gates(before, after):
    for expression, fails in (("self(app/Main.run) > +4pt", True), ("self(app/Main.run) > +6pt", False),
                              ("self(app/Main.run) > +12%", True), ("self(app/Main.run) > +13%", False),
                              ("self(app/Main.run) >= +5pt", True), ("self(app/Main.run) > +5pt", False),
                              ("self(app/Store.*) < -9pt", True), ("self(app/**) > +0.1pt", False),
                              ("any self(app/**) > +4.9pt", True), ("any self(**) > +6pt", False),
                              ("total(Old.*) < -99%", True), ("total(app/New.*) > +999999%", True)):
        p = shell.run(["diff", before, after, "--fail-if", expression])
        check("gate %s" % expression, p.returncode == (3 if fails else 0) and
              p.stderr.count("jsampler: failed: %s: " % expression) == fails and (fails or not p.stderr), p.stderr)
    p = shell.run(["diff", before, after, "--fail-if", "self(app/Main.run) > +4pt", "--fail-if", "total(nowhere) > +1pt"])
    check("gate without a method is warned of", p.returncode == 3 and "no method on either side" in p.stderr, p.stderr)


def pprof(before, folder):
    """`go tool pprof -top` and --flat: the same methods with the same counts."""
    if not shutil.which("go"):
        print("no go here: not compared with its pprof")
        return
    path = os.path.join(folder, "before.pb.gz")
    check("converted", shell.run(["convert", before, "-o", path]).returncode == 0)
    p = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=0", "-nodefraction=0", path], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE,
                       env=shell.go_env(folder))
    theirs = {m.group(3): (int(m.group(1)), int(m.group(2))) for m in re.finditer(
        r"^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(\S.*)$", p.stdout, re.M)}
    ours = {r["method"]: (r["self"], r["total"]) for r in data(["report", path])["rows"]}
    check("go tool pprof -top shows the same", len(ours) == 6 and ours == theirs, (ours, p.stdout, p.stderr))


def other_events(before, folder):
    """Profiles of two events: compared, but said."""
    times = os.path.join(folder, "times.pb.gz")
    check("converted", shell.run(["convert", before, "-o", times]).returncode == 0)
    proto = subprocess.run(["gzip", "-dc", times], stdout=subprocess.PIPE, check=True).stdout
    other = os.path.join(folder, "other.pb")
    for path, name in ((times, b"cycles_"), (other, b"faults_")):
        # Its event is a text of the same length as ours.
        with open(path, "wb") as f:
            f.write(proto.replace(b"samples", name))
    p = shell.run(["diff", times, other])
    check("two events are warned of", p.returncode == 0 and p.stderr.count("\n") == 1 and
          re.search("samples of faults_, .* of cycles_", p.stderr), p.stderr)
    p = shell.run(["diff", times, before])
    check("counts and an event are not", p.returncode == 0 and not p.stderr, p.stderr)


def refused(before, folder):
    broken = write(folder, "broken.pb.gz", "\x1f\u008b this is no profile\n")
    empty = write(folder, "empty.folded", "")
    page = os.path.join(folder, "page.html")
    check("a page is made", shell.run(["convert", before, "-o", page]).returncode == 0)
    for what, args, status, text in (
            ("no file", ["report"], 2, "which file"), ("a file for a method", ["report", "--lines", before], 2, "--lines METHOD " + before),
            ("a number behind --top", ["report", "--top", "3", before], 2, "no file '3'; for a number of rows, -n 3"),
            ("a name behind --threads", ["report", "--threads", "main", before], 2, "--include-threads 'main'"),
            ("an argument too many", ["report", "--top=3", before], 2, "--top takes no argument"), ("two views", ["report", "--tree", "--tiers", before], 2, "one view"),
            ("no such format", ["report", "-f", "xml", before], 2, "text, json or csv"),
            ("no such method", ["report", "--callers", "nowhere", before], 1, "no method 'nowhere'"),
            ("a file that is not there", ["report", folder + "/none"], 1, "none"),
            ("no profile", ["report", broken], 1, "broken.pb.gz"),
            ("a bad percentage", ["report", "--tree", "--least", "x", before], 2, "percentage"),
            ("three files", ["diff", before, before, before], 2, "which of the 3 files"),
            ("one file", ["diff", before], 2, "two files"), ("nothing behind --", ["diff", before, "--"], 2, "BEFORE"),
            ("an empty side", ["diff", before, empty], 1, "no samples after"),
            ("a bad expression", ["diff", before, before, "--fail-if", "self(x) > 3"], 2, "column 11"),
            ("stdin twice", ["diff", "-", "-"], 2, "read only once"), ("stdin twice", ["report", "-", "-"], 2, "read only once"),
            ("a page", ["report", page], 1, "-o FILE.pb.gz"),
            ("an unknown ending", ["diff", before, before, "-o", folder + "/x.xyz"], 2, "unknown file name ending"),
            ("a folder that is not there", ["diff", before, before, "-o", folder + "/no/x.html"], 1, "cannot write")):
        p = shell.run(args)
        check("refused: %s" % what, p.returncode == status and p.stderr.count("\n") == 1 and text in p.stderr and
              shell.is_harmless(p.stderr), (p.returncode, p.stderr))
    many = write(folder, "many.folded", "".join("main;app/Main.method%d 1\n" % i for i in range(5000)))
    for args in (["report", "-n", "0", many, "-o", "/dev/full"], ["diff", "--all", many, before, "-f", "text", "-o", "/dev/full"],
                 ["convert", many, "-f", "folded", "-o", "/dev/full"]):
        p = shell.run(args)
        check("%s on a full disk says so" % args[0], p.returncode == 1 and p.stderr.count("\n") == 1 and
              "No space left" in p.stderr and "/dev/full" in p.stderr, p.stderr)
    check("refused: no file is left", not os.path.exists(folder + "/x.xyz"))


def main():
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as folder:
        before, after = write(folder, "before.folded", BEFORE), write(folder, "after.folded", AFTER)
        report(before, after)
        diff(before, after, folder)
        pprof(before, folder)
        other_events(before, folder)
        refused(before, folder)
    shell.finish()


if __name__ == "__main__":
    main()
