"""What a ctest run wrote with --output-junit.

count-tests.py count JUNIT_XML SKIPS         "PASSED FAILED SKIPPED", and below it the names of those that
                                             failed, one a line
count-tests.py slowest JUNIT_XML N           the N that took longest: seconds, name
count-tests.py tail JUNIT_XML LINES NAME...  the last lines of these tests' output

A skipped test counts as failed unless SKIPS allows its name: a pattern (as of a shell) a line, and
behind it the reason.
"""

import fnmatch
import sys
import xml.etree.ElementTree

COLUMNS = 240  # of an output's line, so that a few stacks do not push everything else out


def cases(path):
    return xml.etree.ElementTree.parse(path).getroot().iter("testcase")


def allowed_patterns(path):
    with open(path, encoding="utf-8") as f:
        return [line.split()[0] for line in f if line.strip() and not line.startswith("#")]


def skipped_itself(case):
    """Exit status 77; a test whose program is missing is "skipped" to ctest as well."""
    s = case.find("skipped")
    return s is not None and s.get("message", "").startswith("SKIP_RETURN_CODE")


def count(junit, skips):
    patterns = allowed_patterns(skips)
    passed = skipped = 0
    failed = []
    for case in cases(junit):
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


def slowest(junit, n):
    times = sorted(((float(c.get("time", 0)), c.get("name")) for c in cases(junit)), reverse=True)
    for seconds, name in times[:int(n)]:
        print("%8.1f s  %s" % (seconds, name))


def tail(junit, lines, *names):
    for case in cases(junit):
        if case.get("name") not in names:
            continue
        text = (case.findtext("system-out") or "").rstrip("\n").split("\n")
        print("---- %s, after %.1f s; the end of its output:" % (case.get("name"), float(case.get("time", 0))))
        for line in text[-int(lines):]:
            print(line if len(line) <= COLUMNS else line[:COLUMNS - 4] + " ...")


def main():
    commands = {"count": count, "slowest": slowest, "tail": tail}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
