#!/usr/bin/env python3
"""packaging/group/jsampler-jvm, which sudo runs as root for whoever is in a group: what it makes of its arguments, and
that nothing else reaches jsampler."""

import mmap
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = "#!/bin/sh\nprintf '%s\\n' \"$@\"\necho /environment/\nenv\n"
FIXED = ["record", "--only-jvm", "--engine", "perf", "--bridge", "off"]
failures = []


def check(what, ok, got=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, got))


def run(tmp, *args, stdout=subprocess.PIPE, **env):
    """(status, the arguments that jsampler gets, its environment, what was said)"""
    r = subprocess.run([tmp + "/jsampler-jvm", *args], stdout=stdout, stderr=subprocess.PIPE, text=True,
                       env={"PATH": os.environ["PATH"], **env})
    passed, _, variables = (r.stdout or "").partition("/environment/\n")
    return r.returncode, passed.splitlines(), variables.splitlines(), r.stderr


def accepted(tmp, jvm):
    for args, options, target in (((jvm,), [], ["-p", jvm]),
                                  (("-d", "30", "-F999", "-t", jvm), ["-d", "30", "-F", "999", "-t"], ["-p", jvm]),
                                  (("-f", "html", "com.acme.Shop$Main"), [], ["com.acme.Shop$Main"]),
                                  (("shop-1.2+3.jar",), [], ["shop-1.2+3.jar"])):
        form = args[1] if args[0] == "-f" else "folded"
        status, passed, _, said = run(tmp, *args)
        check("it accepts %s" % (args,), status == 0 and passed == [*FIXED, *options, "-f", form, "-o", "-", *target],
              "%s %s" % (passed, said))


def refused(tmp, jvm):
    here = str(os.getppid())  # no JVM
    for args in ((), ("",), (jvm, jvm), (jvm, "--", "id"), (jvm, "-o", "/etc/x"), ("-o", "/etc/x", jvm), ("--bridge", "on", jvm),
                 ("-e", "wall", jvm), ("-d", "1 -o /etc/x", jvm), ("-d", "-1", jvm), ("-d", "", jvm), ("-F", "9\n9", jvm),
                 ("-f", "html -o /etc/x", jvm), ("-f", "-o", jvm), ("-f", "*", jvm), (jvm + "," + here,), ("-p" + jvm,), ("a b",),
                 ("Shop\n--",), ("--", "-o/etc/x"), ("*",), ("`id`",), ("@file",), (here,), ("999999999",), ("0",), ("..",), ("1/../1",),
                 ("/etc/shadow",), ("opt/shop.jar",), ("-f", "/etc/x", jvm)):
        status, passed, _, said = run(tmp, *args)
        ok = status in (1, 2) and not passed and "jsampler-jvm" in said
        if args == ("..",):  # the name of no JVM: jsampler says so
            ok = status == 0 and passed[-1] == args[0]
        check("it refuses %s" % (args,), ok, "%d %s %s" % (status, passed, said))
    status, passed, _, said = run(tmp, "--", "sh")
    check("no command follows a --", "--" not in passed and passed[-1:] == ["sh"], passed)


def environment(tmp, jvm):
    bad = dict(LD_PRELOAD="/tmp/x.so", JSAMPLER_BRIDGE="/tmp/x.so", TZ=":/etc/shadow", IFS="/", ENV="/tmp/env", DEBUGINFOD_URLS="http://x", CDPATH="/tmp")
    status, _, variables, said = run(tmp, jvm, SUDO_UID="1000", **bad)
    names = {v.split("=")[0] for v in variables} - {"PWD", "SHLVL", "_", "OLDPWD"}
    check("of the environment, nothing is passed", status == 0 and names == {"PATH"}, "%s %s" % (variables, said))
    check("programs are those of the system", "PATH=/usr/sbin:/usr/bin:/sbin:/bin" in variables, variables)


def terminal(tmp, jvm):
    outer, inner = pty.openpty()
    status, _, _, said = run(tmp, jvm, stdout=inner)
    os.close(inner)
    os.close(outer)
    check("a terminal is no place for a profile", status == 1 and ">FILE" in said, said)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copy(ROOT / "packaging/group/jsampler-jvm", tmp)
        stub = pathlib.Path(tmp, "jsampler")
        stub.write_text(PROGRAM)
        stub.chmod(0o755)
        library = pathlib.Path(tmp, "libjvm.so")
        library.write_bytes(bytes(4096))
        with open(library, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ):
            jvm = str(os.getpid())
            accepted(tmp, jvm)
            refused(tmp, jvm)
            environment(tmp, jvm)
            terminal(tmp, jvm)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
