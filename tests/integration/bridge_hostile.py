#!/usr/bin/env python3
"""--bridge on where what was loaded into the JVM never stops sending: the recording ends when it should.

usage: bridge_hostile.py"""

import os
import pathlib
import subprocess
import tempfile
import time

import jvm
import shell
from shell import check

SECONDS, MOST = 1, 20  # of recording; of the whole run: a replay that never ends is waited for, too


def agent(folder):
    """Of nobody's but this user's: jsampler loads no other."""
    out = os.path.join(folder, "endless.so")
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O2", "-I", str(jvm.ROOT), "-o", out,
                    str(jvm.ROOT / "tests/native/endless_bridge.c"), "-pthread"], check=True)
    os.chmod(out, 0o755)
    return out


def main():
    with tempfile.TemporaryDirectory() as folder, shell.Busy(jvm.pick_jdk(None), args=["idle"]) as t:
        os.chmod(folder, 0o755)
        out = pathlib.Path(folder, "out.folded")
        for how in ("once", "again, where it is loaded"):
            began = time.monotonic()
            try:
                p = shell.run(["-p", t.pid, "-d", SECONDS, "--bridge", "on", "-v", "-o", out],
                              env={"JSAMPLER_BRIDGE": agent(folder)}, timeout=2 * MOST)
                code, err = p.returncode, p.stderr
            except subprocess.TimeoutExpired as e:
                code, err = None, (e.stderr or b"").decode(errors="replace")
            took = time.monotonic() - began
            check("a stream that never ends, %s: the recording ends (after %.1f s)" % (how, took), code == 0 and
                  took < MOST, (code, took, err))
            check("... and is written", out.exists(), err)
            out.unlink(missing_ok=True)
        check("the JVM runs on", t.proc.poll() is None, t.proc.poll())
    shell.finish()


if __name__ == "__main__":
    main()
