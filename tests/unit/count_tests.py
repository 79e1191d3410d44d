#!/usr/bin/env python3
"""What scripts/count-tests.py makes of ctest's results: skips that are not
allowed where they are, and tests that did not run, fail."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPS = """# name, condition, reason

may.be.*  no-file=/nonexistent/*  no such thing here
skips     no-file=/               there is one
jdk       no-jdk=98,99            no such JDK
user      user                    needs root
"""
CASES = {
    "passes": 'status="run">',
    "fails": 'status="fail"><failure message=""/>',
    "may.be.skipped": 'status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
                      '<system-out>skipped: in the test\'s own words</system-out>',
    "skips": 'status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>',
    "may.be.missing": 'status="notrun"><skipped message="Unable to find executable: x"/>',
    "may.be.disabled": 'status="disabled"><skipped message="Disabled"/>',
}
for also in ("jdk", "user"):
    CASES[also] = CASES["skips"]


def count(names, tmp, skips=SKIPS, **env):
    """(counts, names of those that failed, what is said of them)."""
    cases = "".join('<testcase name="%s" time="1" %s</testcase>' % (n, CASES[n]) for n in names)
    pathlib.Path(tmp, "junit").write_text("<testsuite>%s</testsuite>" % cases)
    pathlib.Path(tmp, "skips").write_text(skips)
    p = subprocess.run([sys.executable, str(ROOT / "scripts/count-tests.py"), "count", tmp + "/junit",
                        tmp + "/skips"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
    first, *failed = p.stdout.splitlines() or [""]
    return first, [f for f in failed if f], p.stderr


def fake_jdk(tmp, major):
    home = pathlib.Path(tmp, "jdks", str(major))
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text('JAVA_VERSION="%d"\n' % major)
    for tool in ("java", "javac"):
        (home / "bin" / tool).touch()
    return str(home.parent)


def conditions(tmp):
    """A skip that its line allows is a failure where the line's condition does not hold."""
    bad = []
    if count(["skips"], tmp)[:2] != ("0 1 0", ["skips"]):
        bad.append("a skip without its condition is allowed")
    if count(["jdk"], tmp)[0] != "0 0 1" or count(["jdk"], tmp, JSAMPLER_JDKS=fake_jdk(tmp, 99))[0] != "0 1 0":
        bad.append("no-jdk is not what decides")
    if count(["user"], tmp)[0] != ("0 1 0" if os.geteuid() == 0 else "0 0 1"):
        bad.append("who runs it is not what decides")
    if os.geteuid() == 0 and count(["may.be.skipped"], tmp, "* no-namespaces x\n")[0] != (
            "0 1 0" if subprocess.run(["unshare", "-U", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0 else "0 0 1"):
        bad.append("namespaces are not what decides")
    unknown = count(["skips"], tmp, "skips moonlight because\n")
    if unknown[0] or "no condition is called moonlight" not in unknown[2]:
        bad.append(unknown)
    return bad


def real_list(tmp):
    """As root on a machine with everything, tests/skips.txt allows no skip for a lack of rights."""
    text = (ROOT / "tests/skips.txt").read_text()
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    bad = [line for line in lines if len(line) < 3]
    for name in ("integration.engine_life", "integration.environments_rights", "integration.privs", "integration.jdks"):
        CASES[name] = CASES["skips"]
        if count([name], tmp, text)[0] != ("0 1 0" if os.geteuid() == 0 else "0 0 1"):
            bad.append("%s: a skip is allowed, as %d" % (name, os.geteuid()))
    return bad


def main():
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        names = [n for n in CASES if n not in ("jdk", "user")]
        got = count(names, tmp)
        if got[0] != "1 4 1" or got[1] != ["fails", "skips", "may.be.missing", "may.be.disabled"]:
            bad.append(got)
        if "FAILED: skips (a skip that tests/skips.txt does not allow here)" not in got[2]:
            bad.append(got[2])
        if "skipped: may.be.skipped: in the test's own words" not in got[2]:
            bad.append(got[2])
        if count(["passes", "may.be.skipped"], tmp)[:2] != ("1 0 1", []):
            bad.append("a skip that is allowed is a failure")
        if count([], tmp)[0] != "0 0 0":
            bad.append("nothing is something")
        bad += conditions(tmp) + real_list(tmp)
    for b in bad:
        print("FAILED:", b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
