"""What a ctest run wrote with --output-junit.

count-tests.py count JUNIT_XML SKIPS         "PASSED FAILED SKIPPED", and below it the names of those that
                                             failed, one a line
count-tests.py slowest JUNIT_XML N           the N that took longest: seconds, name
count-tests.py tail JUNIT_XML LINES NAME...  the last lines of these tests' output

A skipped test counts as failed unless a line of SKIPS allows it: a pattern of names (as of a shell), the condition
under which it may be skipped, and the reason. Conditions are looked up on this machine, not believed:

user              it does not run as root
no-namespaces     root may not make user and mount namespaces (in a chroot; in most containers)
no-jdk=A,B        no JDK of one of these versions is here
no-file=PATTERN   no such file
overlay-root      / is on overlayfs itself
paranoid          the kernel does not let users sample their own processes
"""

import functools
import glob
import os
import pathlib
import re
import fnmatch
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/integration"))
import jvm  # noqa: E402

COLUMNS = 240  # of an output's line, so that a few stacks do not push everything else out


def cases(path):
    return xml.etree.ElementTree.parse(path).getroot().iter("testcase")


def no_jdk(majors):
    return not set(map(int, majors.split(","))) & set(jvm.find_jdks())


def is_user():
    return os.geteuid() != 0


def on_overlay():
    mounts = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    return any(m[4] == "/" and m[m.index("-") + 1] == "overlay" for m in mounts)


CONDITIONS = {
    "user": is_user,
    "no-namespaces": lambda: not is_user() and not jvm.can_unshare(),
    "no-jdk": no_jdk,
    "no-file": lambda pattern: not any(map(os.path.exists, glob.glob(os.path.expanduser(pattern)))),
    "overlay-root": on_overlay,
    "paranoid": lambda: not jvm.may_sample(),
}


@functools.lru_cache(maxsize=None)
def holds(condition):
    name, _, value = condition.partition("=")
    if name not in CONDITIONS:
        sys.exit("count-tests.py: no condition is called %s" % name)
    return CONDITIONS[name](value) if value else CONDITIONS[name]()


def read_skips(path):
    """[(pattern of names, condition, reason)]"""
    with open(path, encoding="utf-8") as f:
        return [line.split(None, 2) for line in f if line.strip() and not line.startswith("#")]


def why_allowed(name, skips):
    """The reason of the first line that allows this skip here; None: none does."""
    for pattern, condition, reason in skips:
        if fnmatch.fnmatch(name, pattern) and holds(condition):
            return reason.strip()
    return None


def own_words(case):
    """What the test said of it."""
    said = re.findall(r"^skipped: (.*)$", case.findtext("system-out") or "", re.M)
    return "; ".join(said)[:COLUMNS]


def skipped_itself(case):
    """Exit status 77; a test whose program is missing is "skipped" to ctest as well."""
    s = case.find("skipped")
    return s is not None and s.get("message", "").startswith("SKIP_RETURN_CODE")


def count(junit, skips):
    skips = read_skips(skips)
    passed = skipped = 0
    failed = []
    for case in cases(junit):
        name, status = case.get("name"), case.get("status")
        reason = why_allowed(name, skips) if skipped_itself(case) else None
        if status == "run" and case.find("failure") is None:
            passed += 1
        elif reason:
            skipped += 1
            print("skipped: %s: %s" % (name, own_words(case) or reason), file=sys.stderr)
        else:
            failed.append(name)
            why = " (a skip that tests/skips.txt does not allow here)" if skipped_itself(case) else ""
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
