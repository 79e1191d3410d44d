#!/usr/bin/env python3
"""What scripts/count-tests.py makes of ctest's results: skips that are not allowed, and tests that did not run, fail."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPS = "# name, reason\n\nmay.be.*   no such thing here\n"
CASES = {
    "passes": 'status="run">',
    "fails": 'status="fail"><failure message=""/>',
    "may.be.skipped": 'status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>',
    "skips": 'status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>',
    "may.be.missing": 'status="notrun"><skipped message="Unable to find executable: x"/>',
    "may.be.disabled": 'status="disabled"><skipped message="Disabled"/>',
}


def count(names, tmp):
    """(counts, names of those that failed, what is said of them)."""
    cases = "".join('<testcase name="%s" time="1" %s</testcase>' % (n, CASES[n]) for n in names)
    pathlib.Path(tmp, "junit").write_text("<testsuite>%s</testsuite>" % cases)
    pathlib.Path(tmp, "skips").write_text(SKIPS)
    p = subprocess.run([sys.executable, str(ROOT / "scripts/count-tests.py"), "count", tmp + "/junit", tmp + "/skips"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    first, *failed = p.stdout.splitlines()
    return first, [f for f in failed if f], p.stderr


def main():
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        got = count(CASES, tmp)
        if got[0] != "1 4 1" or got[1] != ["fails", "skips", "may.be.missing", "may.be.disabled"]:
            bad.append(got)
        if "FAILED: skips (a skip that tests/skips.txt does not allow)" not in got[2]:
            bad.append(got[2])
        if count(["passes", "may.be.skipped"], tmp)[:2] != ("1 0 1", []):
            bad.append("a skip that is allowed is a failure")
        if count([], tmp)[0] != "0 0 0":
            bad.append("nothing is something")
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
