#!/usr/bin/env python3
"""An agent in the C and C++ of 1999 compiles against jvm-bridge/jvmpi/jvmpi.h without a warning.

usage: jvmpi_idioms.py COMPILER JDK_INCLUDE
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = (("c", "c89"), ("c", "gnu89"), ("c", "c99"), ("c", "gnu17"), ("c++", "c++98"), ("c++", "c++17"))
SKIP = 77


def main():
    compiler, jdk = sys.argv[1:]
    failed = skipped = 0
    for language, standard in LANGUAGES:
        p = subprocess.run([compiler, "-x", language, "-std=" + standard, "-pedantic-errors", "-Wall", "-Wextra", "-Werror",
                            "-Wno-long-long", "-fsyntax-only", "-I%s" % (ROOT / "jvm-bridge/jvmpi"), "-isystem", jdk,
                            "-isystem", jdk + "/linux", str(ROOT / "tests/jvmpi/idioms.c")],
                           stderr=subprocess.PIPE, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
        absent = "cc1plus" in p.stderr and "No such file" in p.stderr
        skipped += absent
        failed += p.returncode != 0 and not absent
        print("%s: %s" % (standard, "no compiler" if absent else p.stderr or "ok"))
    return 1 if failed else SKIP if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
