#!/usr/bin/env python3
"""A Java class whose name has 60,000 letters, in every frame of deep stacks: what is written stays small.

usage: hostile_names.py"""

import os
import pathlib
import subprocess
import tempfile
import zipfile

import jvm
import list as listing
import shell
from shell import check

METHODS, LETTERS, BOUND = 400, 60000, 2048
LARGEST = 200 << 20  # of a file, so that a failure does not fill the disk


def source():
    call = "static void m%d() { sink++; if (sink %% 7 == 0) spin(); m%d(); }"
    return "\n".join(["public class M { static volatile int sink;",
                      "static void spin() { for (int i = 0; i < 20000; i++) sink++; }",
                      *(call % (i, i + 1) for i in range(METHODS)), "static void m%d() { spin(); }" % METHODS,
                      "public static void main(String[] a) { System.out.println(\"ready\"); while (true) m0(); } }"])


def program(jdk, tmp, name):
    pathlib.Path(tmp, "M.java").write_text(source())
    subprocess.run([str(jdk.home / "bin/javac"), "-d", tmp, tmp + "/M.java"], check=True)
    data = listing.renamed_class(pathlib.Path(tmp, "M.class").read_bytes(), "M", name)
    with zipfile.ZipFile(tmp + "/m.jar", "w") as z:
        z.writestr(zipfile.ZipInfo(name + ".class"), data)
    return subprocess.Popen([str(jdk.home / "bin/java"), "-Xmx64m", "-cp", tmp + "/m.jar", name], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)


def record(pid, out):
    return subprocess.run(["prlimit", "--fsize=%d" % LARGEST, shell.JS, "-p", str(pid), "-d", "1", "-o", out],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent, check=False)


def bounded(out, pid):
    """(whether they are, what was found); a program that had no CPU shows few methods in a second."""
    for again in range(jvm.TRIES):
        if again:
            record(pid, str(out))
        frames = [f for line in out.read_text().splitlines() for f in line.split(";")]
        long = [f for f in frames if f.startswith("EEE")]
        found = (len(long), [f[-40:] for f in long[:3]])
        if any(len(f) >= BOUND + 20 for f in long):
            return False, found
        if len({f.rpartition(".")[2] for f in long}) > METHODS // 2:
            return True, found
    return False, found


def main():
    with tempfile.TemporaryDirectory() as tmp:
        java = program(jvm.pick_jdk(None), tmp, "E" * LETTERS)
        try:
            java.stdout.readline()
            for ending in ("folded", "txt", "speedscope.json"):
                out = os.path.join(tmp, "out." + ending)
                p = record(java.pid, out)
                size = os.path.getsize(out) if p.returncode == 0 else 0
                check("%s: %d bytes" % (ending, size), 0 < size < LARGEST // 2, p.stderr)
            check("names are bounded, and their methods told apart", *bounded(pathlib.Path(tmp, "out.folded"), java.pid))
        finally:
            java.kill()
            java.wait()
    shell.finish()


if __name__ == "__main__":
    main()
