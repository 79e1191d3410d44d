#!/usr/bin/env python3
"""Bad input: one clear line on stderr, the exit status that DESIGN section 3 gives it, nothing lost."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import jvm

JS = jvm.jsampler_path()
failures = []


def run(args, **kw):
    return subprocess.run([JS, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=jvm.PATIENCE, **kw)


def check(what, ok, detail=""):
    print("%s %s" % ("ok  " if ok else "FAIL", what))
    if not ok:
        failures.append(what)
        print("     " + str(detail).replace("\n", "\n     "))


def expect(what, args, status, pattern, **kw):
    """One line on stderr that matches, nothing on stdout, that exit status."""
    p = run(args, **kw)
    lines = p.stderr.splitlines()
    good = (p.returncode == status and len(lines) == 1 and re.search(pattern, lines[0]) and
            lines[0].startswith("jsampler: ") and not p.stdout)
    check(what, good, "%s -> %d, %r %r" % (args, p.returncode, p.stderr, p.stdout[:200]))


def spin(**kw):
    """A process that burns CPU and is no JVM."""
    return subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"],
                            preexec_fn=jvm.die_with_parent, **kw)


def wait_for_drain(q):
    """Its drain thread starts when everything is open."""
    jvm.wait_until(lambda: "jsampler-drain\n" in jvm.texts_of(q.pid, "comm") or q.poll() is not None)


def start(pid, *args, hangup=signal.SIG_DFL):
    """A jsampler that samples, and has seen the process for half a second of CPU time."""
    def prepare():
        jvm.die_with_parent()
        signal.signal(signal.SIGHUP, hangup)
    q = subprocess.Popen([JS, "-p", str(pid), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, preexec_fn=prepare)
    wait_for_drain(q)
    jvm.burn(pid, 0.5)
    return q


def usage(tmp):
    expect("no target", ["-d", "1"], 2, "which process")
    expect("-F 0", ["-p", "1", "-F", "0"], 2, "-F 0.*from 1 to")
    expect("-F 1000000", ["-p", "1", "-F", "1000000"], 2, "-F 1000000.*from 1 to")
    expect("-d -1", ["-p", "1", "-d", "-1"], 2, "-d -1.*30s")
    expect("-d 5x", ["-p", "1", "-d", "5x"], 2, "-d 5x.*30s")
    expect("-i too short", ["-p", "1", "-i", "1us"], 2, "-i 1us.*100us")
    expect("-i and -F", ["-p", "1", "-i", "10ms", "-F", "9"], 2, "same thing")
    expect("unknown format", ["-p", "1", "-f", "bogus"], 2, "unknown format 'bogus'.*folded")
    expect("unknown event", ["-p", str(os.getpid()), "-e", "no-such-event"], 2, "no-such-event")
    expect("unknown option", ["-p", "1", "--bogus"], 2, "--bogus")
    expect("option without argument", ["-p"], 2, "-p needs")
    expect("PID that is none", ["-p", "12x"], 2, "12x")
    expect("bad regular expression", ["-p", "1", "-I", "("], 2, "include")
    expect("format as output", ["-p", "1", "-f", "x.html"], 2, "-o x.html")
    expect("output as format", ["-p", "1", "-o", "collapsed"], 2, "-o out.folded")
    expect("unknown ending", ["-p", "1", "-o", "x.xyz"], 2, "ending")
    expect("--bridge maybe", ["-p", "1", "--bridge", "maybe"], 2, "auto, on or off")
    expect("an engine for an event", ["-p", "1", "--engine", "perf", "-e", "wall"], 2, "--engine suspend")
    expect("a command of other tools", ["top"], 2, "there is no live view")
    expect("command and PID", ["-p", "1", "--", "true"], 2, "not both")
    expect("empty command", ["--"], 2, "command must follow")
    expect("no such name", ["no.such.Main"], 1, "no running JVM")
    expect("-d .", ["-p", "1", "-d", "."], 2, "-d [.]: a time such as")
    expect("snapshot without a file", ["snapshot", "-p", "1"], 2, "usage: jsampler snapshot")
    expect("snapshot into no directory", ["snapshot", "-p", str(os.getpid()), "-o", tmp + "/no/x"], 1, "no/x")
    expect("replay of nothing", ["replay"], 2, "usage: jsampler replay")
    expect("replay of no file", ["replay", tmp + "/none"], 1, "none': No such file")
    expect("replay of what is no recording", ["replay", str(jvm.ROOT / "LICENSE")], 1, "not a recording")


def targets(tmp):
    dead = subprocess.Popen(["true"])
    dead.wait()
    expect("no such PID", ["-p", str(dead.pid), "-d", "1"], 1, "no process %d" % dead.pid)
    expect("snapshot: no such PID", ["snapshot", "-p", str(dead.pid), "-o", tmp + "/x"], 1, "no process %d" % dead.pid)
    expect("no such command", ["-o", tmp + "/c.folded", "--", "/no/such/command"], 1, "/no/such/command")
    check("nothing left behind by it", not os.path.exists(tmp + "/c.folded"))

    short = spin()
    q = start(short.pid, "-d", "1000")
    short.kill()
    short.wait()
    out, err = q.communicate(timeout=jvm.PATIENCE)
    check("a PID that ends while recording", q.returncode == 0 and out and "target ended" in err, err)

    idle = subprocess.Popen(["sleep", "1000"], preexec_fn=jvm.die_with_parent)
    jvm.wait_until(lambda: pathlib.Path("/proc/%d/stat" % idle.pid).read_text().split()[1:3] == ["(sleep)", "S"])
    p = run(["-p", str(idle.pid), "-d", "1"])
    check("an idle target", p.returncode == 0 and not p.stdout and "no samples" in p.stderr, p.stderr)
    idle.kill()
    idle.wait()

    s = spin()
    for seconds in (2, 8, 32):
        p = run(["-p", str(s.pid), "-d", str(seconds)])
        if p.returncode or p.stdout:
            break
    check("not a JVM: native profile", p.returncode == 0 and "Py" in p.stdout, p.stderr + p.stdout[:300])
    other_user(s)
    s.kill()
    s.wait()


def ends_soon(tmp):
    """A PID that ends before, while or after it is attached to: a profile, or there is no such process."""
    wrong = []
    for n in range(12):
        p = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt %d ]; do i=$((i+1)); done" % (n * 8000)],
                             preexec_fn=jvm.die_with_parent)
        r = run(["-p", str(p.pid), "-d", "1000"])  # it is not waited for yet: a zombie is an end, too
        p.wait()
        lines = r.stderr.splitlines()
        gone = r.returncode == 1 and len(lines) == 1 and re.match("jsampler: .*(process|target)", lines[0])
        if not gone and not (r.returncode == 0 and sum("jsampler: " in line for line in lines) <= 1):
            wrong.append((n, r.returncode, r.stderr))
    check("a PID that ends while attaching", not wrong, wrong)


def as_nobody(args, **kw):
    os.chmod(JS, 0o755)
    return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", JS, *args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=jvm.PATIENCE, **kw)


def other_user(s):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skip: other users (not root)")
        return
    p = as_nobody(["-p", str(s.pid), "-d", "1"])
    check("another user's PID", p.returncode == 1 and len(p.stderr.splitlines()) == 1 and
          re.search("user|permi|root|CAP_", p.stderr), p.stderr)


def outputs(tmp):
    s = spin()
    pid = str(s.pid)
    # At once: before anything is recorded, or the run would not end in time.
    expect("output directory missing", ["-p", pid, "-d", "1000", "-o", tmp + "/no/dir/x.folded"], 1, "no/dir")
    os.mkdir(tmp + "/d.folded")
    expect("output is a directory", ["-p", pid, "-d", "1", "-o", tmp + "/d.folded"], 1, "d.folded")
    p = run(["-p", pid, "-d", "1", "-o", "/dev/full", "-f", "folded"])
    check("disk full", p.returncode == 1 and "/dev/full" in p.stderr and rescued(p.stderr), p.stderr)

    old = pathlib.Path(tmp, "old.folded")
    old.write_text("old\n")
    q = start(s.pid, "-o", str(old))
    q.kill()
    q.communicate()
    check("kill -9: the old file is there, nothing else", old.read_text() == "old\n" and
          sorted(os.listdir(tmp)) == ["d.folded", "old.folded"], os.listdir(tmp))

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        out = pathlib.Path(tmp, "sig.folded")
        q = start(s.pid, "-o", str(out))
        q.send_signal(sig)
        _, err = q.communicate(timeout=jvm.PATIENCE)
        check("%s writes" % sig.name, q.returncode == 0 and out.exists() and out.stat().st_size > 0, err)
        out.unlink(missing_ok=True)
    hangup(s, pathlib.Path(tmp, "nohup.folded"))

    q = subprocess.Popen("%s -p %s -d 1 -t | head -c 10" % (JS, pid), shell=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    out, err = q.communicate(timeout=jvm.PATIENCE)
    check("closed stdout ends quietly", "roken pipe" not in err and "cannot" not in err, err)
    closed(pid, tmp)
    s.kill()
    s.wait()


def hangup(s, out):
    """nohup jsampler ... &: the terminal's end is no matter."""
    q = start(s.pid, "-o", str(out), hangup=signal.SIG_IGN)
    q.send_signal(signal.SIGHUP)
    jvm.burn(s.pid, 0.5)
    check("SIGHUP that is ignored ends nothing", q.poll() is None, q.poll())
    q.send_signal(signal.SIGINT)
    _, err = q.communicate(timeout=jvm.PATIENCE)
    check("... SIGINT does", q.returncode == 0 and out.exists(), err)


def refused_place(tmp):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skip: a directory that is not writable (not root)")
        return
    os.chmod(tmp, 0o755)
    out = tmp + "/x.folded"
    t = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c",
                          "while :; do :; done"], preexec_fn=jvm.die_with_parent)
    # At once: before anything is recorded, or the run would not end in time.
    p = as_nobody(["-p", str(t.pid), "-d", "1000", "-o", out])
    check("output directory not writable", p.returncode == 1 and re.fullmatch(
        "jsampler: cannot write '%s': Permission denied; .*\n" % re.escape(out), p.stderr), p.stderr)
    t.kill()
    t.wait()


def rescued(err):
    """Mode and bytes of the file that took what had no room; removes it."""
    found = re.search(r"(?m)^jsampler: cannot write '.*': No space left on device; the profile is in "
                      r"'(/\S+/jsampler-[0-9a-f]{16}-\S+)' instead$", err)
    if not found:
        return None
    path = pathlib.Path(found.group(1))
    answer = path.stat().st_mode & 0o777, path.read_bytes()
    path.unlink()
    return answer


def full_disk(tmp):
    """The old file stays, the other output is written."""
    disk, good = tmp + "/disk", tmp + "/good.folded"
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], stderr=subprocess.DEVNULL).returncode:
        print("skip: a full disk (no mount)")
        return
    try:
        old = pathlib.Path(disk, "old.html")
        old.write_text("old\n")
        with open(disk + "/fill", "wb", buffering=0) as f:
            while f.write(b"x" * 4096) == 4096 and f.tell() < 12 << 10:
                pass
        s = spin()
        q = start(s.pid, "-q", "-o", str(old), "-o", good)
        q.send_signal(signal.SIGINT)
        _, err = q.communicate(timeout=jvm.PATIENCE)
        mode, page = rescued(err) or (0, b"")
        check("a disk that is full: the profile is elsewhere, for its owner only", q.returncode == 1 and
              "old.html': No space" in err and mode == 0o600 and b"</html>" in page[-100:], (q.returncode, err))
        check("... the old file is there, nothing else", old.read_text() == "old\n" and
              sorted(os.listdir(disk)) == ["fill", "old.html"], os.listdir(disk))
        check("... the other output is written", os.path.exists(good) and os.path.getsize(good) > 0)
        s.kill()
        s.wait()
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def closed(pid, tmp):
    """Closed descriptors: nothing that is opened later gets what is meant for stdout or stderr."""
    def shell(text):
        return subprocess.run(["sh", "-c", text, "sh", JS, pid, tmp + "/closed.folded"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE)
    p = shell('exec "$1" -p "$2" -d 1 -f folded >&-')
    check("closed stdout is said", p.returncode == 1 and "cannot write to stdout: it is closed; name a file" in p.stderr,
          (p.returncode, p.stderr))
    p = shell('exec "$1" -p "$2" -d 1 -o "$3" <&- >&- 2>&-')
    lines = pathlib.Path(tmp, "closed.folded").read_text().splitlines()
    check("all closed: a profile, and nothing else in it", p.returncode == 0 and lines and
          all(re.fullmatch(r"\S.* \d+", line) for line in lines), (p.returncode, lines[-3:]))


def command(tmp):
    p = run(["-o", tmp + "/cmd.folded", "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo hi; exit 7"])
    check("exit status and stdout are the command's", p.returncode == 7 and p.stdout == "hi\n",
          "%d %r %r" % (p.returncode, p.stdout, p.stderr))
    check("... and the profile is written", os.path.getsize(tmp + "/cmd.folded") > 0)
    p = run(["-q", "-o", tmp + "/x.folded", "--", "sh", "-c", "kill -KILL $$"])
    check("a command that is killed: 128 + signal", p.returncode == 137, (p.returncode, p.stderr))
    handed_on(tmp)


def handed_on(tmp):
    """SIGTERM is the command's, while it is sampled and when that is over."""
    for what, limit in (("while it is sampled", []), ("when that is over", ["-d", "0.1"])):
        out = pathlib.Path(tmp, "term.folded")
        q = subprocess.Popen([JS, "-q", *limit, "-o", str(out), "--", "sleep", "300"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=jvm.die_with_parent)
        wait_for_drain(q)
        jvm.wait_until(lambda: out.exists() or not limit)
        commands = pathlib.Path("/proc/%d/task/%d/children" % (q.pid, q.pid)).read_text().split()
        q.send_signal(signal.SIGTERM)
        try:
            _, err = q.communicate(timeout=jvm.PATIENCE / 2)
        except subprocess.TimeoutExpired:
            for pid in commands:
                os.kill(int(pid), signal.SIGKILL)
            err = q.communicate()[1] + "no end before the command was killed"
        check("SIGTERM is handed on to the command, %s" % what, q.returncode == 128 + signal.SIGTERM and
              out.exists(), (q.returncode, err))
        out.unlink(missing_ok=True)


def limits(tmp):
    s = spin()
    p = run(["-p", str(s.pid), "-d", "1"], preexec_fn=lambda: __import__("resource").setrlimit(
        __import__("resource").RLIMIT_NOFILE, (8, 8)))
    check("too few descriptors", p.returncode == 1 and re.search("descriptor|RLIMIT_NOFILE|ulimit", p.stderr),
          p.stderr)
    for n in (5, 12):
        p = run(["list"], preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_NOFILE, (n, n)))
        check("list: too few descriptors, %d" % n, p.returncode == 1 and "ulimit" in p.stderr, (p.returncode, p.stderr))
    p = run(["-q", "-p", str(s.pid), "-d", "1", "-o", tmp + "/x.html"], preexec_fn=lambda: __import__(
        "resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (1024, 1024)))
    check("too small a limit of file size", p.returncode == 1 and re.fullmatch(
        "jsampler: cannot write '.*x.html': File too large; .*ulimit -f.*\n", p.stderr), (p.returncode, p.stderr))
    s.kill()
    s.wait()


def main():
    for part in (usage, targets, ends_soon, outputs, refused_place, full_disk, command, limits):
        with tempfile.TemporaryDirectory() as tmp:
            part(tmp)
    print("%d failures" % len(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
