#!/usr/bin/env python3
"""Files of a target on a file system that does not answer: sampling and naming end all the same, with the names of the rest.
Such a read cannot be ended, so no process but the broker may make it. One that answers is no worse than a disk.

usage: silent_files.py"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import jvm
from shell import check, finish

JS = jvm.jsampler_path()
SILENT = "whose file system does not answer"
SOON = 1 if os.environ.get("JSAMPLER_STRICT") == "1" else 2  # s; of the machine as it is, other tests beside this one
PROGRAM = """
volatile unsigned long n;
static __attribute__((noinline)) void hidden(void) { for (int i = 0; i < 1000000; i++) n += i; }
__attribute__((noinline, visibility("default"))) void visible(void) { for (int i = 0; i < 1000000; i++) n ^= i; }
int main(void) { for (;;) { hidden(); visible(); } }
"""


def run(*args, **more):
    subprocess.run(args, check=True, **more)


def make_program(place):
    """One with a symbol of `visible` only, and its debug file elsewhere, which has `hidden`."""
    program, debug = place / "program", place / "full" / "program.debug"
    debug.parent.mkdir()
    run(os.environ.get("CC", "gcc"), "-x", "c", "-O1", "-rdynamic", "-Wl,--build-id", "-o", str(debug), "-", text=True, input=PROGRAM)
    run("objcopy", "--strip-all", str(debug), str(program))
    run("objcopy", "--add-gnu-debuglink=" + str(debug), str(program))
    return program, debug


refused = []


@contextlib.contextmanager
def mounted(directory, name, contents, *words):
    """None where that is refused."""
    fs = subprocess.Popen([sys.executable, str(jvm.ROOT / "tests/integration/silent_fs.py"), str(directory), name, str(contents),
                           *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
    said = fs.stdout.readline().strip()
    try:
        if said != "ready":
            print("skip: a FUSE file system (%s)" % said)
            refused.append(said)
        yield fs if said == "ready" else None
    finally:
        # With force it ends what waits there.
        subprocess.run(["umount", "-f", str(directory)], stderr=subprocess.DEVNULL, check=False)
        fs.kill()
        fs.wait()
        subprocess.run(["umount", "-l", str(directory)], stderr=subprocess.DEVNULL, check=False)


def start(program):
    return subprocess.Popen([str(program)], stdin=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)


def stop(p):
    p.kill()
    p.wait()


def record(pid, *more, stop_after=None):
    """Exit status, folded stacks, messages, seconds from its start, or from when it was told to stop."""
    p = subprocess.Popen([JS, "-p", str(pid), "-F", "999", "-o", "-", *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
    if stop_after:
        time.sleep(stop_after)
        p.send_signal(signal.SIGINT)
    began = time.monotonic()
    try:
        out, err = p.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        p.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(2)
        p.stdout.close()
        p.stderr.close()
        return None, "", "does not end" if p.poll() is None else "killed", 30
    return p.returncode, out, err, time.monotonic() - began


def debug_file(program, debug, *words):
    (program.parent / ".debug").mkdir(exist_ok=True)
    with mounted(program.parent / ".debug", "program.debug", debug, *words) as fs:
        if not fs:
            return
        target = start(program)
        code, out, err, took = record(target.pid, "-d", "1")
        if words:
            what = "a debug file where nobody answers %s(2)" % words[0]
            check(what + ": the rest is named", code == 0 and "visible" in out and "hidden" not in out, (code, out, err))
            check("... which is said", SILENT in err and "program.debug" in err, err)
            check("... within 10 s", took < 10, took)
            # The first ends sampling, the second naming.
            code, out, err, took = record(target.pid, "-d", "1", stop_after=2.5)
            check("... and Ctrl-C ends it while it waits", code == 0 and took < SOON and out, (code, out, err, took))
        else:
            check("a debug file on FUSE is read", code == 0 and "visible" in out and "hidden" in out and SILENT not in err,
                  (code, out, err))
        stop(target)


def mapped_file(place, debug):
    """The program itself; what of it has run is in memory."""
    (place / "fuse").mkdir()
    with mounted(place / "fuse", "program", debug) as fs:
        if not fs:
            return
        target = start(place / "fuse" / "program")
        time.sleep(0.5)
        code, out, err, _ = record(target.pid, "-d", "1")
        check("a program on FUSE has names", code == 0 and ("hidden" in out or "visible" in out), (code, out, err))
        fs.stdin.write("open read\n")
        fs.stdin.flush()
        fs.stdout.readline()
        code, out, err, took = record(target.pid, "-d", "1")
        check("where nobody answers any more it is named by its file", code == 0 and "[program]" in out, (code, out, err))
        check("... which is said, within 10 s", SILENT in err and took < 10, (err, took))
        stop(target)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        place = pathlib.Path(tmp)
        place.chmod(0o755)
        program, debug = make_program(place)
        debug_file(program, debug)
        for word in ("read", "open"):
            debug_file(program, debug, word)
        mapped_file(place, debug)
    if refused:
        sys.exit(jvm.SKIP)
    finish()


if __name__ == "__main__":
    sys.exit(main())
