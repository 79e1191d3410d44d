#!/usr/bin/env python3
"""The manual: every page renders without a warning in 80 columns, holds every option, and is installed."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jvm
import shell
from shell import check

PAGES = jvm.build_dir() / "packaging/man"
SECTIONS = {"": ["NAME", "SYNOPSIS", "COMMANDS", "DESCRIPTION", "EXAMPLES", "NOTES", "FILES", "SEE ALSO"],
            "record": ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "FILES", "NOTES"],
            "list": ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "NOTES"],
            "doctor": ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "NOTES"]}


def commands():
    """Those that `jsampler help` shows."""
    p = shell.run(["help"])
    return re.findall(r"^  jsampler (\w+)  +\S", p.stdout, re.M)


def options(help_text):
    return re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", help_text, re.M)


def render(path):
    """(text, warnings) as a terminal of 80 columns shows it."""
    p = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=78n", "-P-c", str(path)], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, errors="replace")
    return re.sub(".\b", "", p.stdout), p.stderr


def page(name, command):
    path = PAGES / ("%s.%s" % (name, section(name.rpartition("-")[2])))
    if not check(name + ": is there", path.exists(), path):
        return
    text, warnings = render(path)
    check(name + ": no warning of groff -ww", not warnings, warnings)
    check(name + ": 80 columns", shell.widest(text) <= 80, [l for l in text.split("\n") if len(l) > 80])
    for title in SECTIONS.get(command, []):
        check("%s: section %s" % (name, title), re.search("^%s$" % title, text, re.M), text[:500])
    if shutil.which("mandoc"):
        p = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(path)], stdout=subprocess.PIPE, text=True)
        check(name + ": mandoc -Tlint", not p.stdout, p.stdout)
    if not command:
        return
    shown = options(shell.run(["help", command]).stdout)
    flat = text.replace("\u2010", "-").replace("\u2212", "-")
    check(name + ": every option of --help", shown and not [o for o in shown if not re.search(
        r"^ +(-\w, )?%s( |$)" % re.escape(o), flat, re.M)], (shown, text))


def help_texts(names):
    for name in names:
        p = shell.run(["help", name])
        q = shell.run([name, "--help"])
        check("help %s: 80 columns, exit status 0, as %s --help" % (name, name), p.returncode == 0 and
              q.returncode == 0 and p.stdout == q.stdout and shell.widest(p.stdout) <= 80 and
              p.stdout.startswith("usage: jsampler ") and not p.stderr, p.stdout + p.stderr + q.stdout)
    p = shell.run(["help"])
    check("help names every command", p.returncode == 0 and p.stdout == shell.run(["--help"]).stdout and
          shell.widest(p.stdout) <= 80, p.stdout)
    p = shell.run(["help", "no-such"])
    check("help on what is none", p.returncode == 2 and p.stderr.count("\n") == 1 and not p.stdout, p.stderr)
    p = shell.run([])
    check("no argument at all: the same on stderr, and wrong usage", p.returncode == 2 and not p.stdout and
          p.stderr == shell.run(["--help"]).stdout, p.stdout + p.stderr)


def section(name):
    return "8" if name == "daemon" else "1"


def installed(names):
    with tempfile.TemporaryDirectory() as tmp:
        p = subprocess.run(["cmake", "-DCMAKE_INSTALL_PREFIX=" + tmp, "-P", str(PAGES / "cmake_install.cmake")],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = sorted(f.name for f in pathlib.Path(tmp, "share/man").glob("man?/*"))
        wanted = sorted(["jsampler.1"] + ["jsampler-%s.%s" % (n, section(n)) for n in names])
        check("installed below share/man", p.returncode == 0 and found == wanted, (p.stdout, found, wanted))


def main():
    if not shutil.which("groff"):
        print("skipped: no groff")
        sys.exit(jvm.SKIP)
    names = commands()
    check("commands", {"record", "list", "doctor", "help"} <= set(names), names)
    help_texts(names)
    page("jsampler", "")
    for name in names:
        page("jsampler-" + name, name)
    installed(names)
    shell.finish()


if __name__ == "__main__":
    main()
