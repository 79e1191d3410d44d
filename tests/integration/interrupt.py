#!/usr/bin/env python3
"""INT, TERM and HUP, whatever jsampler is at: the first ends sampling or naming, the second everything.

usage: interrupt.py"""

import fcntl
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
SOON = 1  # s: a second signal ends it in that time, whatever it is at
APART = 0.4  # s: closer together they are one signal that came twice (timeout(1))


def spin():
    return subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=jvm.die_with_parent)


def start(*args):
    return subprocess.Popen([JS, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=jvm.die_with_parent)


def samples(p):
    """Its threads are there: it samples."""
    return jvm.wait_until(lambda: len(os.listdir("/proc/%d/task" % p.pid)) > 2)


def end_of(p):
    """Its exit status and messages, and how long they took; kills it when that is too long."""
    began = time.monotonic()
    try:
        err = p.communicate(timeout=10 * SOON)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        err = p.communicate()[1] + "did not end"
    return p.returncode, err, time.monotonic() - began


def blocked_write(pid, fifo, sig):
    """Nobody reads what is written: the first signal ends sampling, the second the program."""
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    p = start("-p", str(pid), "-o", fifo, "-f", "html")
    samples(p)
    time.sleep(APART)
    p.send_signal(sig)
    time.sleep(APART)
    check("%s: the first does not end it while it writes" % sig.name, p.poll() is None, p.returncode)
    p.send_signal(sig)
    code, err, took = end_of(p)
    check("... the second does", code == -sig and took < SOON and "second signal" in err, (code, err, took))
    os.close(reader)
    os.unlink(fifo)


def full_pipe():
    """One that nobody reads, and that takes no more bytes."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(ends[1], False)
    try:
        while True:
            os.write(ends[1], bytes(4096))
    except BlockingIOError:
        os.set_blocking(ends[1], True)
    return ends


def blocked_message(pid, tmp):
    """Nor does anybody read its messages: they do not keep it when the second signal comes."""
    fifo = os.path.join(tmp, "fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    ends = full_pipe()
    p = subprocess.Popen([JS, "-p", str(pid), "-o", fifo, "-f", "html"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=ends[1], preexec_fn=jvm.die_with_parent)
    samples(p)
    time.sleep(APART)
    p.send_signal(signal.SIGINT)
    time.sleep(APART)
    check("stderr is full: the first signal does not end it", p.poll() is None, p.returncode)
    p.send_signal(signal.SIGINT)
    began = time.monotonic()
    try:
        p.wait(10 * SOON)
    except subprocess.TimeoutExpired:
        p.kill()
    p.wait()
    took = time.monotonic() - began
    check("... the second does", p.returncode == -signal.SIGINT and took < SOON, (p.returncode, took))
    for fd in (*ends, reader):
        os.close(fd)
    os.unlink(fifo)


def twice_at_once(pid, tmp):
    """timeout(1) signals the process, then its group: that is one signal."""
    out = pathlib.Path(tmp, "twice.folded")
    p = start("-p", str(pid), "-o", str(out))
    samples(p)
    time.sleep(APART)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.02)
    p.send_signal(signal.SIGTERM)
    code, err, _ = end_of(p)
    check("twice at once is once", code == 0 and out.exists(), (code, err))


def opening(tmp):
    """What cannot be opened yet: nothing is there that could be written, and the first signal ends it."""
    fifo = os.path.join(tmp, "opening")
    os.mkfifo(fifo)
    p = start("-p", str(os.getpid()), "-o", fifo, "-f", "folded")
    time.sleep(2 * APART)
    if p.poll() is None:
        p.send_signal(signal.SIGINT)
    code, err, took = end_of(p)
    check("opening: the first ends it", code != 0 and took < SOON, (code, err, took))


def command(tmp):
    """A command has SIGINT to itself, as often as it comes."""
    out = pathlib.Path(tmp, "command.folded")
    p = start("-o", str(out), "--", "sh", "-c", "trap '' INT; sleep 3; exit 7")
    samples(p)
    for _ in range(3):
        time.sleep(APART)
        p.send_signal(signal.SIGINT)
    check("a command: SIGINT ends no sampling", p.poll() is None, p.returncode)
    code, err, _ = end_of(p)
    check("... its status is the command's", code == 7 and out.exists(), (code, err))


def sandboxed(pid):
    """The thread that waits for signals has no capability and the filter."""
    p = start("-p", str(pid), "-o", "/dev/null", "-f", "folded")
    samples(p)
    status = []
    for task in pathlib.Path("/proc/%d/task" % p.pid).iterdir():
        lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        status.append((lines["CapPrm"], lines["CapBnd"], lines["NoNewPrivs"], lines["Seccomp"]))
    check("every thread is in the sandbox", all(s[2:] == ("1", "2") and int(s[1], 16) == 0 for s in status)
          if os.geteuid() == 0 else all(s[2:] == ("1", "2") for s in status), status)
    check("... one has no capability at all", any(int(s[0], 16) == 0 for s in status), status)
    p.send_signal(signal.SIGINT)
    end_of(p)


def held_by_exec(other, tmp):
    """A process in execve(2), of which /proc cannot be read until a file system answers: sampling ends all the same."""
    place = tempfile.mkdtemp()
    fs = subprocess.Popen([sys.executable, str(jvm.ROOT / "tests/integration/silent_fs.py"), place, "file", "exec"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          preexec_fn=jvm.die_with_parent)
    said = fs.stdout.readline().split()
    if said[:1] == ["ready"]:
        out = os.path.join(tmp, "of-%p.folded")
        p = start("-p", "%d,%s" % (other, said[1]), "--engine", "suspend", "-i", "1ms", "-d", "3", "-o", out)
        jvm.wait_until(lambda: jvm.suspending(p.pid) == 2 or p.poll() is not None)
        fs.stdin.write("\n")
        fs.stdin.flush()
        time.sleep(3)
        code, err, took = end_of(p)
        check("execve() that a file system holds up: sampling ends in 10 s", code == 1 and
              "PID %s: sampling cannot end" % said[1] in err and
              "written: " + out.replace("%p", str(other)) in err and out.replace("%p", said[1]) not in err, (code, err, took))
        check("... with the results of another process", os.path.getsize(out.replace("%p", str(other))) > 0 and
              not os.path.exists(out.replace("%p", said[1])), os.listdir(tmp))
    else:
        print("skip: execve() that a file system holds up (%s)" % " ".join(said))
    # With force it ends what waits there.
    subprocess.run(["umount", "-f", place], stderr=subprocess.DEVNULL, check=False)
    fs.kill()
    fs.wait()
    subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL, check=False)
    os.rmdir(place)


def main():
    s = spin()
    with tempfile.TemporaryDirectory() as tmp:
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            blocked_write(s.pid, os.path.join(tmp, "fifo"), sig)
        blocked_message(s.pid, tmp)
        twice_at_once(s.pid, tmp)
        opening(tmp)
        command(tmp)
        sandboxed(s.pid)
        held_by_exec(s.pid, tmp)
    s.kill()
    s.wait()
    finish()


if __name__ == "__main__":
    sys.exit(main())
