#!/usr/bin/env python3
"""jsampler list and doctor among processes that never answer, and native images.

Reads of what they have mapped never end: it is a FUSE file's, whose daemon is silent (silent_fs.py).

usage: list_hostile.py"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import jvm
import shell
from shell import check

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(tmp, name, source, *flags):
    out = os.path.join(tmp, name)
    subprocess.run([os.environ.get("CC", "gcc"), *flags, "-o", out, str(ROOT / "tests/native" / source)], check=True)
    return out


def start(exe, *args):
    p = subprocess.Popen([exe, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    return p, p.stdout.readline().strip()


def listed():
    began = time.monotonic()
    p = shell.run(["list", "-f", "json"])
    took = time.monotonic() - began
    check("list is valid", p.returncode == 0, p.stderr)
    return {e["pid"]: e for e in json.loads(p.stdout)}, p.stderr, took


def silent(tmp):
    """A process that maps a libjvm.so whose bytes never come; None: it cannot be made here."""
    place = tempfile.mkdtemp(dir=tmp)
    p = subprocess.Popen([sys.executable, str(ROOT / "tests/integration/silent_fs.py"), place, "libjvm.so"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    said = p.stdout.readline().strip()
    p.place = place
    if said == "ready":
        return p
    print("skip: memory whose reads never end (%s)" % (said or p.stderr.read().strip()[-200:]))
    end(p)
    return None


def end(p):
    # With force it ends what waits there, also of other programs that look at all processes.
    subprocess.run(["umount", "-f", p.place], stderr=subprocess.DEVNULL, check=False)
    p.kill()
    p.wait()
    subprocess.run(["umount", "-l", p.place], stderr=subprocess.DEVNULL, check=False)


def never_answers(tmp, n):
    """Each costs its time, all together less than 10 s, and what answers is listed."""
    good, _ = start(build(tmp, "image", "no_tables.c", "-O1", "-DSVM"))
    all_of = []
    try:
        for _ in range(n):
            all_of.append(silent(tmp))
            if not all_of[-1]:
                return
        seen, err, took = listed()
        check("%d that never answer: list ends" % n, took < 12, took)
        check("... what answers is there", seen.get(good.pid, {}).get("jdk") == "native image", seen)
        check("... and it is said", "could not be read within" in err and not any(p.pid in seen for p in all_of), (err, seen))
        began = time.monotonic()
        p = shell.run(["doctor", "--no-attach", "-p", all_of[0].pid], timeout=60)
        took = time.monotonic() - began
        said = " ".join(p.stdout.split())
        check("doctor ends, and says what it knows", p.returncode == 1 and took < 15 and
              "libjvm.so that the target runs is not read: a file whose file system does not answer" in said,
              (took, p.stdout, p.stderr))
    finally:
        for p in filter(None, all_of):
            end(p)
        good.kill()
        good.wait()


def native_image(tmp, name, *flags):
    with_image, said = start(build(tmp, "image", "no_tables.c", "-O1", "-DSVM", *flags))
    seen, _, _ = listed()
    check(name + " is listed", said == "ready" and seen.get(with_image.pid, {}).get("jdk") == "native image" and
          seen[with_image.pid]["readable"] is False, seen)
    with_image.kill()
    with_image.wait()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        native_image(tmp, "a native image")
        native_image(tmp, "a static one without symbols", "-DSVM_HEAP", "-static", "-s")
        never_answers(tmp, 1)
        never_answers(tmp, 6)
    shell.finish()


if __name__ == "__main__":
    sys.exit(main())
