#!/usr/bin/env python3
"""What tests/integration/apps.py decides with: each check can fail, and only files that SHA256SUMS lists are used."""

import hashlib
import os
import pathlib
import struct
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import apps_check  # noqa: E402
import apps_fetch  # noqa: E402
import apps_list  # noqa: E402
import apps_table  # noqa: E402
import jvm  # noqa: E402
from on_cpu import TIMERS, on_cpu_ns, parsed  # noqa: E402

failures = []
CLASSES = {"java.lang.Thread", "p.Main", "p.Main$$Lambda/0x00007f0000001000", "Top"}
GOOD = (["start_thread", "JavaThread::run", "java/lang/Thread.run_[0]", "p/Main.main_[j]", "p/Main$$Lambda+0x00007f0000001000.apply_[i]"], 15000)
MESSAGES = "samples 15000, lost 0\nCPU time of the target %s s, samples x period %s s\n"


def check(what, ok, got=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, got))


def checked(*more, used="15.0", sampled="15.1", good=GOOD, starting=False):
    recording = jvm.Recording(0, [good, *more], MESSAGES % (used, sampled))
    return apps_check.Checked(recording, CLASSES, 999, 15, 2, starting)


def names():
    for frame, want in (("java/util/HashMap.getNode_[j]", "java.util.HashMap"),
                        ("Top.<clinit>_[0]", "Top"),
                        ("java/lang/System.arraycopy", "java.lang.System"),
                        ("a/B$$Lambda+0x00007f16.f_[i]", "a.B$$Lambda/0x00007f16"),
                        ("a/B$$Lambda$4/0x00007f16.f_[1]", "a.B$$Lambda$4/0x00007f16"),
                        ("clojure/core$_PLUS_.invokeStatic_[1]", "clojure.core$_PLUS_"),
                        ("std::vector<a/b>::at", None), ("I2C/C2I adapters", None), ("do_syscall_64_[k]", None),
                        ("[libc.so.6]", None), ("foo.part.0", None), ("PhaseIdealLoop::build_and_optimize", None)):
        got = apps_check.class_of(frame)
        check("the class of " + frame, got == want, got)
    log = ["java.lang.Object source: shared objects file\n", "a.B$$Lambda/0x1 source: a.B\n", "[warning] something else\n"]
    check("what the JVM has loaded", apps_check.loaded(log) == {"java.lang.Object", "a.B$$Lambda/0x1"})


def bars():
    check("a good recording", not checked().bad, checked().bad)
    check("a part of a CPU scatters", abs(apps_check.period_bar(1.5, 999, 15, 2) - 3 * (0.95 / 1498.5) ** 0.5) < 1e-9)
    check("a whole one does not", apps_check.period_bar(30, 999, 15, 2) == 0.02)
    for what, bad, word in (
            ("incomplete stacks", checked((["[incomplete]", "p/Main.main_[j]"], 40)), "complete stacks"),
            ("[unknown]", checked((["start_thread", "[unknown]"], 1)), "[unknown]"),
            ("a class that is not there", checked((["start_thread", "p/Other.f_[i]"], 1)), "p.Other is no class"),
            ("a native method of one", checked((["start_thread", "p/Other.f"], 1)), "p.Other is no class"),
            ("another lambda", checked((["start_thread", "p/Main$$Lambda+0x00007f0000001400.apply_[i]"], 1)), "1400 is no class"),
            ("too many samples", checked(sampled="15.5"), "samples x period +3"),
            ("too few", checked(sampled="14.5"), "samples x period -3"),
            ("no CPU time", checked(used="0.000"), "not known"),
            ("few samples", checked(good=(GOOD[0], 10)), "10 samples"),
            ("no Java", checked(good=(["start_thread", "work"], 15000)), "no Java frames")):
        check(what, len(bad.bad) == 1 and word in bad.bad[0], bad.bad)
    early = (["[incomplete]", "p/Main.main_[j]"], 50)
    check("at the start less is complete", checked(early).bad and not checked(early, starting=True).bad)


def maven(folder, script):
    path = folder / "mvn"
    path.write_text("#!/bin/sh\necho called >>%s/calls\nfor a; do case $a in -DoutputDirectory=*) out=${a#*=} ;; esac; done\n%s\n" %
                    (folder, script))
    path.chmod(0o755)


def raised(*args):
    try:
        apps_fetch.bring(*args)
        return None
    except (apps_fetch.NotHad, apps_fetch.Altered) as e:
        return e


def fetch(tmp):
    stubs = pathlib.Path(tmp, "bin")
    stubs.mkdir()
    os.environ.update(XDG_CACHE_HOME=tmp + "/cache")
    path, os.environ["PATH"] = os.environ["PATH"], str(stubs)
    want = {"a.jar": hashlib.sha256(b"a\n").hexdigest()}
    error = raised("app", ["g:a:1"], want)
    check("no Maven", isinstance(error, apps_fetch.NotHad) and "scripts/setup --apps" in str(error), error)
    os.environ["PATH"] += ":" + path
    maven(stubs, "echo '[ERROR] '; echo '[ERROR] no route to host'; exit 1")
    error = raised("app", ["g:a:1"], want)
    check("no network", isinstance(error, apps_fetch.NotHad) and "no route to host" in str(error), error)
    for what, script in (("is missing", "true"), ("is not listed", 'echo a >"$out/a.jar"; echo b >"$out/b.jar"'),
                         ("has SHA-256", 'echo b >"$out/a.jar"')):
        maven(stubs, script)
        error = raised("app", ["g:a:1"], want)
        check("a file that " + what, isinstance(error, apps_fetch.Altered) and what in str(error), error)
        check("and nothing of it is kept", not (apps_fetch.cache_dir() / "app").exists())
    maven(stubs, 'echo a >"$out/a.jar"')
    folder = apps_fetch.bring("app", ["g:a:1"], want)
    check("the right files", [f.name for f in folder.iterdir()] == ["a.jar"])
    calls = (stubs / "calls").read_text()
    apps_fetch.bring("app", ["g:a:1"], want)
    check("are brought once", (stubs / "calls").read_text() == calls)
    (folder / "a.jar").write_text("changed")
    apps_fetch.bring("app", ["g:a:1"], want)
    check("but when they have changed", (folder / "a.jar").read_text() == "a\n")


def lists(tmp):
    names = [a.name for a in apps_list.ALL]
    check("each application has its own name", len(set(names)) == len(names), names)
    check("the quick ones are among them", {n for n, _ in apps_list.QUICK} <= set(names))
    files = {a.files or a.name for a in apps_list.ALL if a.artifacts}
    check("SHA256SUMS lists the files of all", files == apps_fetch.sums().keys(), files ^ apps_fetch.sums().keys())
    table = pathlib.Path(tmp, "apps.md")
    row = {"app": "h2", "title": "H2", "version": "2", "jdk": 17, "jdk_version": "17.0.1", "jsampler": "jsampler 9", "duration": 15,
           "frequency": 999, "samples": 15000, "complete": 99.9999, "used": 15.0, "off": 0.01, "off_bar": 0.02, "lost": 0, "unknown": 0,
           "classes": 300, "foreign": 0, "sure": 20.0, "bad": []}
    worse = {**row, "jdk": 25, "jdk_version": "25", "complete": 98.7, "bad": ["complete"]}
    absent = {k: row[k] for k in ("app", "title", "version", "jdk", "jdk_version", "jsampler", "duration", "frequency")}
    apps_table.write(table, [worse, row, {**absent, "jdk": 26, "bad": ["ended early"]}], names)
    rows = [line for line in table.read_text().splitlines() if line.startswith("| H2")]
    check("a row each, by JDK", [r.split(" | ")[2] for r in rows] == ["17.0.1", "25", "17.0.1"], rows)
    check("what failed is said", ["failed" in r for r in rows] == [False, True, True], rows)
    check("and why", "* H2, JDK 25: complete\n" in table.read_text(), table.read_text())
    check("99.9999 % is not 100", "| 99.99 % |" in rows[0], rows[0])


def on_cpu():
    """Process 7 beside 8, timers of 10."""
    def sample(pid, when, kind=9, more=0):
        return struct.pack("=IHHIIQ", kind, 0, 24 + more, pid, pid, when) + bytes(more)
    found = parsed(sample(7, 10) + sample(8, 20, 2, 16) + sample(7, 30) + sample(8, 40) + sample(7, 50)[:16])
    check("a timer's ring, without records of loss and what is cut off", found == [(10, 7), (30, 7), (40, 8)], found)
    got = [on_cpu_ns([found] * TIMERS, 7, begin, end, 10) for begin, end in ((0, 100), (10, 30), (11, 31), (40, 100))]
    check("time on the CPUs: by the timers' average, from begin to end", got == [20, 10, 10, 0], got)


def main():
    names()
    on_cpu()
    bars()
    with tempfile.TemporaryDirectory() as tmp:
        lists(tmp)
        fetch(tmp)
    print("%d failed" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
