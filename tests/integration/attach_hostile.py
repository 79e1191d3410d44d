#!/usr/bin/env python3
"""The attach client where others have been before it, where it is killed, and where its library is in odd places.

usage: attach_hostile.py"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import attach
import jvm
import shell
from attach import PROBE, left_behind, probe, unharmed
from shell import check

COPY = re.compile(r"/(libjsampler-bridge-[0-9a-f]{16}\.so)\b")
STRANGER = 12345  # a user id that nobody has
V1_PATH_MAX = 1024  # ATTACH_ARG_V1, jvm-bridge/attach/protocol.h


def maps_of(pid):
    return pathlib.Path("/proc/%d/maps" % pid).read_text()


def long_path(jdk, lib):
    """A path that only version 2 of the protocol takes, which came with JDK 24."""
    deep = lib.joinpath(*["d" * 200] * (V1_PATH_MAX // 200 + 1))
    deep.mkdir(parents=True, exist_ok=True)
    shutil.copy(lib / "agent", deep / "agent")
    with shell.Busy(jdk) as t:
        out = probe(t.pid, "load", deep / "agent")
        what = "JDK %d, a path of %d bytes" % (jdk.major, len(str(deep / "agent")))
        if jdk.major >= 24:
            check(what, out == "hello\n" and str(deep) in maps_of(t.pid), out)
        else:
            check(what, "longer than this JVM's attach protocol takes" in out, out)
            check(what + ": and then another", probe(t.pid, "load", lib / "agent") == "hello\n")
        unharmed(what, t)


def plant(name, victim, user):
    """A link in the place of the copy, to somebody's file."""
    link = "/tmp/" + name
    os.symlink(victim, link)
    os.lchown(link, user, user)
    return link


def planted(jdk, lib):
    """Links where the library is copied to: the JVM's own user's is replaced, a stranger's is gone round."""
    private = pathlib.Path(tempfile.mkdtemp(prefix="jsampler-private-"))  # mode 0700: hence the copy
    shutil.copy(lib / "agent", private / "agent")
    victim = lib / "victim"
    victim.write_text("precious")
    os.chmod(victim, 0o666)
    with shell.Busy(jdk, wrap=shell.nobody) as t:
        out = probe(t.pid, "load", private / "agent")
        found = COPY.search(maps_of(t.pid))
        check("a copy", out == "hello\n" and found, out)
        for who, user in (("the JVM's user", shell.NOBODY), ("a stranger", STRANGER)) if found else ():
            link = plant(found[1], victim, user)
            out = probe(t.pid, "load", private / "agent")
            # Round it goes to /var/tmp, where that may be.
            well = out == "hello\n" or (user == STRANGER and "cannot be put where the JVM finds it" in out)
            check("a link of %s in its place" % who, well and victim.read_text() == "precious", out)
            check("... %s" % ("is replaced" if user == shell.NOBODY else "stays"),
                  os.path.lexists(link) == (user == STRANGER))
            if os.path.lexists(link):
                os.unlink(link)
        unharmed("links", t)
    shutil.rmtree(private)


def has_ended(pid):
    """It may wait for whoever reaps here."""
    try:
        return pathlib.Path("/proc/%s/stat" % pid).read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def killed(jdk, lib):
    """kill -9 of who attaches, at any moment: its child ends by itself, and takes away what it put there."""
    with shell.Busy(jdk) as t:
        for _ in range(8):
            p = subprocess.Popen([PROBE, "--wake", "--times", "100000", str(t.pid), "load", str(lib / "agent")],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)
            time.sleep(random.uniform(0, 0.1))
            p.send_signal(signal.SIGSTOP)  # its children are what they are now
            os.waitpid(p.pid, os.WUNTRACED)
            children = pathlib.Path("/proc/%d/task/%d/children" % (p.pid, p.pid)).read_text().split()
            p.kill()
            p.wait()
            gone = jvm.wait_until(lambda: all(map(has_ended, children)))
            check("killed: the child ends, and nothing is left", gone and not left_behind(t.pid), left_behind(t.pid))
        check("the next one", probe(t.pid, "load", lib / "agent") == "hello\n")
        unharmed("killed", t)


def on_musl(jdk, lib):
    """What looks like musl's loader is mapped: the library is loaded all the same."""
    loader = lib / "ld-musl-x86_64.so.1"
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", str(loader), "-x", "c", "/dev/null"], check=True)
    with shell.Busy(jdk, wrap=lambda a: ["env", "LD_PRELOAD=%s" % loader, *a]) as t:
        check("musl's loader is mapped", "/ld-musl-" in maps_of(t.pid))
        out = probe(t.pid, "load", lib / "agent")
        check("a JVM on musl", out == "hello\n", out)
        unharmed("a JVM on musl", t)


LISTENER = """
import os, socket, sys, time
path = "/tmp/.java_pid%d" % os.getpid()
listener = socket.socket(socket.AF_UNIX)
if os.path.lexists(path):
    os.unlink(path)
listener.bind(path)
listener.listen()
print("ready", flush=True)
try:
    c = listener.accept()[0]
    answer, size, pause = bytes.fromhex(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    while size > 0:
        c.sendall(answer)
        size -= len(answer)
        time.sleep(pause)
    c.close()
except OSError:
    pass
os.unlink(path)
"""


def answer_of(answer, size=0, pause=0, options=()):
    """What the client makes of an answer, sent until it has the size, by a process that is no JVM. And how long it took."""
    with subprocess.Popen([sys.executable, "-c", LISTENER, answer.hex(), str(size or max(1, len(answer))), str(pause)],
                          stdout=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent) as p:
        p.stdout.readline()
        start = time.monotonic()
        done = subprocess.run([PROBE, *options, str(p.pid), "threaddump"], capture_output=True, text=True, errors="replace",
                              timeout=100)
        took = time.monotonic() - start
        p.kill()
    jvm.forget_attach(p.pid)
    return done.returncode, done.stdout, took


def answers():
    """Whatever comes for an answer, the client ends in time, and not by a signal."""
    for answer, code, out in (
            (b"0\n", 0, ""), (b"0", 0, ""), (b"0\n\0\0", 0, "\0\0"), (b"0\nx", 0, "x"),
            (b"\n", 1, "the JVM refused"), (b"\0", 1, "the JVM"), (b"1\nno", 1, "the JVM refused: 1"),
            (b"00000000000000000000001\n", 1, "the JVM refused"), (b"999999999999999999999\n", 1, "the JVM refused"),
            (b"-\n", 1, "the JVM refused"), (b"0 \n", 1, "the JVM refused"), (b"\xff\x1b[2J", 1, "the JVM refused")):
        got = answer_of(answer)
        check("the answer %r" % answer, got[0] == code and out in got[1] and (code or got[1] == out), got)
    got = answer_of(b"0\n" + b"x" * 32766, 70 << 20)
    check("70 MiB of an answer", got[0] == 1 and "too long" in got[1] and got[2] < 10, got)
    got = answer_of(b"0\n", 1000, 1)
    slow = answer_of(b"0\n", 1000, 1, ("--cancel", "300"))
    check("cancelled while it waits", slow[0] == 1 and "ended early" in slow[1] and slow[2] < 3, slow)
    check("an answer of two bytes a second", got[0] == 1 and "did not answer in time" in got[1] and got[2] < 12, got)


CROWDED = """
import os, signal, socket, time
path = "/tmp/.java_pid%d" % os.getpid()
def listen(*_):
    global kept
    listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(0)
    client.connect(path)
    kept = listener, client
signal.signal(signal.SIGQUIT, listen)
print("ready", flush=True)
while True:
    time.sleep(1)
"""


def marked(mark):
    """The processes with that in their environment: the client, and what attaches for it."""
    found = []
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and mark.encode() in (p / "environ").read_bytes() and not has_ended(p.name):
                found.append(int(p.name))
        except OSError:
            pass
    return found


def given_up(what, program, *args):
    """Nobody waits any more: the child that attaches ends, too."""
    with subprocess.Popen([sys.executable, "-c", program, *args], stdout=subprocess.PIPE, text=True,
                          preexec_fn=jvm.die_with_parent) as p:
        p.stdout.readline()
        mark = "GIVEN_UP_ON=%d" % p.pid
        client = subprocess.Popen([PROBE, "--wake", "--cancel", "2000", str(p.pid), "threaddump"], stdout=subprocess.DEVNULL,
                                  env={**os.environ, "GIVEN_UP_ON": str(p.pid)}, preexec_fn=jvm.die_with_parent)
        attaches = jvm.wait_until(lambda: len(marked(mark)) > 1 or client.poll() is not None) and client.poll() is None
        client.wait(100)
        gone = jvm.wait_until(lambda: not marked(mark), 5)
        check("given up on %s: the child ends" % what, attaches and gone, (attaches, marked(mark)))
        p.kill()
    jvm.forget_attach(p.pid)


STOPPER = """
import os, signal, socket, struct
path = "/tmp/.java_pid%d" % os.getpid()
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
print("ready", flush=True)
c = listener.accept()[0]
pid, uid, _ = struct.unpack("3i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
try:
    os.kill(pid, signal.SIGSTOP)
    said = "stopped"
except PermissionError:
    said = "refused"
print(pid, uid == os.geteuid(), said, flush=True)
c.sendall(b"0\\n")
c.shutdown(socket.SHUT_WR)
while c.recv(4096):  # closed with bytes unread, the connection would be reset
    pass
c.close()
os.unlink(path)
"""


def stopped():
    """A target cannot stop the child that has become its user."""
    with subprocess.Popen(shell.nobody([sys.executable, "-c", STOPPER]), stdout=subprocess.PIPE, text=True,
                          preexec_fn=jvm.die_with_parent) as p:
        p.stdout.readline()
        with subprocess.Popen([PROBE, str(p.pid), "threaddump"], stdout=subprocess.DEVNULL,
                              preexec_fn=jvm.die_with_parent) as client:
            pid, same, said = p.stdout.readline().split()
            if said == "stopped":
                os.kill(int(pid), signal.SIGCONT)
            code = client.wait()
        check("a target does not stop who attaches as its user", (same, said, code) == ("True", "refused", 0), (same, said, code))
    jvm.forget_attach(p.pid)


def main():
    if shell.can_be_nobody():
        stopped()
    answers()
    given_up("an answer of two bytes a second", LISTENER, b"0\n".hex(), "1000", "1")
    given_up("a listener that does not accept", CROWDED)
    jdks = sorted(jvm.find_jdks().values())
    if not jdks:
        sys.exit(jvm.SKIP)
    lib = attach.agents()
    try:
        for jdk in {j.major: j for j in (jdks[0], jdks[-1])}.values():
            long_path(jdk, lib)
        on_musl(jdks[0], lib)
        killed(jdks[-1], lib)
        if shell.can_be_nobody():
            planted(jdks[0], lib)
    finally:
        shutil.rmtree(lib)
    shell.finish()


if __name__ == "__main__":
    main()
