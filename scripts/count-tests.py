"""count-tests.py JUNIT_XML SKIPS: prints "PASSED FAILED SKIPPED" of a ctest run, and below it the
names of those that failed, one a line.

A skipped test counts as failed unless SKIPS allows its name: a pattern (as of a shell) a line, and
behind it the reason.
"""

import fnmatch
import sys
import xml.etree.ElementTree


def allowed_patterns(path):
    with open(path, encoding="utf-8") as f:
        return [line.split()[0] for line in f if line.strip() and not line.startswith("#")]


def skipped_itself(case):
    """Exit status 77; a test whose program is missing is "skipped" to ctest as well."""
    s = case.find("skipped")
    return s is not None and s.get("message", "").startswith("SKIP_RETURN_CODE")


def main():
    patterns = allowed_patterns(sys.argv[2])
    passed = skipped = 0
    failed = []
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        if status == "run" and case.find("failure") is None:
            passed += 1
        elif skipped_itself(case) and any(fnmatch.fnmatch(name, p) for p in patterns):
            skipped += 1
            print("skipped:", name, file=sys.stderr)
        else:
            failed.append(name)
            why = " (a skip that tests/skips.txt does not allow)" if skipped_itself(case) else ""
            print("FAILED: " + name + why, file=sys.stderr)
    print(passed, len(failed), skipped)
    print("\n".join(failed))


main()
