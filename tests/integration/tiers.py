#!/usr/bin/env python3
"""Why methods run interpreted, and how they come to be compiled: record, then report --tiers, --timeline.

usage: tiers.py --jdk 17|25
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import jvm

LOOPS = 1000000000  # more than rare() gets to in the time of a test
REASONS = {
    "Why.huge": r"2\d,\d\d\d bytecodes: methods over 8,000 are not compiled \(DontCompileHugeMethods\)",
    "Why.excluded": r"excluded by CompileCommand=exclude,Why::excluded",
    "Why.rare": r"below its thresholds: 1 of 200 calls, [\d,]+ of 1,000,000,000 loop iterations",
}
failed = []


def check(what, ok, detail=""):
    print("%s %s%s" % ("ok  " if ok else "FAIL", what, "" if ok else ": %s" % (detail,)))
    if not ok:
        failed.append(what)


def report(path, *options):
    return subprocess.run([jvm.jsampler_path(), "report", path, *options], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def record(jdk, folder):
    """Until each of the methods has been sampled: on a busy machine a second may be nothing."""
    path = os.path.join(folder, "why.pb.gz")
    flags = ["-XX:CompileCommand=exclude,Why::excluded", "-XX:CompileCommand=dontinline,Why::thrown",
             "-XX:Tier3BackEdgeThreshold=%d" % LOOPS]
    with jvm.Jvm(jdk, jvm.compile_java(jdk, "tiers"), "Why", flags=flags) as java:
        java.wait_ready()
        for seconds in (2, 6, 20):
            subprocess.run([jvm.jsampler_path(), "-p", str(java.pid), "-F", "999", "-d", str(seconds), "--slices", "250ms",
                            "-q", "-o", path], check=True)
            rows = {r["method"]: r for r in json.loads(report(path, "--tiers", "-f", "json"))["rows"]}
            if all(rows.get(m, {}).get("interpreted", 0) >= 3 for m in REASONS) and \
                    rows.get("Why.thrown", {}).get("not_entrant", 0) > 0:
                break
    return path, rows


def test_reasons(path, rows):
    text = report(path, "--tiers")
    for method, reason in REASONS.items():
        row = rows.get(method, {})
        check("%s: its reason" % method, re.fullmatch(reason, row.get("why_interpreted", "")), row)
        check("%s: only interpreted" % method, row.get("interpreted", 0) == row.get("self", -1), row)
        check("%s: in the text" % method, re.search("interpreted: " + reason, text), text)
    check("a compiled method is C2's", rows.get("Why.compiled", {}).get("c2", 0) > 0, rows.get("Why.compiled"))
    check("and has no reason unless it was interpreted", not rows["Why.compiled"]["why_interpreted"] or
          rows["Why.compiled"]["why_interpreted"].startswith("compiled by now (C2"), rows["Why.compiled"])


    thrown = rows.get("Why.thrown", {})
    check("made not entrant", 1 <= thrown.get("not_entrant", 0) <= 20, thrown)
    check("as the text says", "made not entrant: %d\n" % thrown.get("not_entrant", 0) in text, text)


def test_timeline(path):
    line = json.loads(report(path, "--timeline", "-f", "json"))
    methods = {m["method"]: m for m in line["methods"]}
    check("slices as asked for", line["slice_ns"] == 250000000, line["slice_ns"])
    check("all samples are in slices", sum(s["samples"] for s in line["rows"]) == line["samples"])
    check("and each is something", all(s["samples"] == sum(s[k] for k in ("interpreted", "c1", "c2", "native", "kernel",
                                                                      "other")) for s in line["rows"]))
    check("several slices", len(line["rows"]) >= 4, len(line["rows"]))
    check("a method that is never compiled", methods["Why.rare"]["first_c2_ms"] == 0 and
          set(methods["Why.rare"]["strip"]) <= set("0."), methods["Why.rare"])
    check("one that is", "j" in methods["Why.compiled"]["strip"],
          methods["Why.compiled"])
    check("text", "not entrant" in report(path, "--timeline"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk")
    jdk = jvm.pick_jdk(p.parse_args().jdk)
    with tempfile.TemporaryDirectory(prefix="jsampler-tiers-") as folder:
        path, rows = record(jdk, folder)
        test_reasons(path, rows)
        test_timeline(path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
