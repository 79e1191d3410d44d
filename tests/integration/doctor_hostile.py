#!/usr/bin/env python3
"""jsampler doctor -p of a JVM that opens its attach socket and never answers: it ends in time, and on Ctrl-C at once.

usage: doctor_hostile.py"""

import signal
import subprocess
import sys
import time

import jvm
import shell
from shell import check

MOST = 10  # s, for the whole examination
SOON = 1  # s, from Ctrl-C on


class Silent:
    def __init__(self, jdk):
        classes = jvm.compile_java(jdk, "silent")
        self.proc = subprocess.Popen([str(jdk.home / "bin/java"), "-Xmx64m", "-cp", str(classes), "Silent"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     preexec_fn=jvm.die_with_parent)
        self.pid = self.proc.pid
        self.proc.stdout.readline()

    def stop(self):
        self.proc.stdin.close()
        try:
            self.proc.wait(jvm.PATIENCE)
        finally:
            self.proc.kill()
            self.proc.wait()
            jvm.forget_attach(self.pid)


def to_its_end(pid):
    began = time.monotonic()
    p = shell.run(["doctor", "-p", pid])
    took = time.monotonic() - began
    said = " ".join(p.stdout.split())
    check("an attach socket that never answers: doctor ends (after %.1f s)" % took, took <= MOST and
          p.returncode == 0, (took, p.returncode, p.stdout, p.stderr))
    check("... it says so, and what it knows besides", "the JVM did not answer" in said and "HotSpot" in said, p.stdout)


def interrupted(pid, after):
    p = subprocess.Popen([shell.JS, "doctor", "-p", str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, preexec_fn=jvm.die_with_parent)
    time.sleep(after)
    running = p.poll() is None
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    try:
        p.communicate(timeout=MOST)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
    took = time.monotonic() - began
    check("Ctrl-C after %.1f s ends it (after %.2f s)" % (after, took), running and took < SOON and
          p.returncode == -signal.SIGINT, (running, took, p.returncode))


def main():
    jdks = [j for j in sorted(jvm.find_jdks().values()) if j.major >= 16]
    if not jdks:
        print("needs JDK 16 or newer: one with sockets of the Unix domain")
        sys.exit(jvm.SKIP)
    silent = Silent(jdks[0])
    try:
        to_its_end(silent.pid)
        for after in (0.3, 2, 6):
            interrupted(silent.pid, after)
        check("the JVM runs on", silent.proc.poll() is None, silent.proc.poll())
    finally:
        silent.stop()
    shell.finish()


if __name__ == "__main__":
    sys.exit(main())
