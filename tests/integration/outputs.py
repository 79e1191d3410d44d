#!/usr/bin/env python3
"""Output names that another user has prepared, in /tmp and in directories like it: root's files stay as they are."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

import jvm
import shell
from environments_common import JS, NOBODY, Background, check, main, note, run, spin

SAVED = str(jvm.ROOT / "tests/golden/mixed.folded")
REFUSED = "belongs to user %d" % NOBODY


@contextlib.contextmanager
def scratch(mode=0o700):
    """A directory of root's; the victim's. In /var/tmp: the links that lead to it are in /tmp."""
    with tempfile.TemporaryDirectory(prefix="js-outputs-", dir="/var/tmp") as name:
        os.chmod(name, mode)
        yield pathlib.Path(name)


@contextlib.contextmanager
def planted(text, name):
    """A link of nobody's in /tmp itself."""
    link = pathlib.Path("/tmp", "js-outputs-%d-%s" % (os.getpid(), name))
    os.symlink(text, link)
    os.lchown(link, NOBODY, NOBODY)
    try:
        yield link
    finally:
        link.unlink()


def is_shared(path):
    st = os.stat(path)
    return st.st_uid == 0 and st.st_mode & (stat.S_ISVTX | stat.S_IWOTH) == stat.S_ISVTX | stat.S_IWOTH


def links():
    """The attack as an administrator would meet it: each command that writes a file, and a link to a file of root's."""
    if not is_shared("/tmp"):
        note("/tmp is not root's and sticky here")
        return
    sudo = ["sudo", "-n"] if shutil.which("sudo") else []
    with spin(uid=NOBODY) as t, scratch() as root:
        victim, new = root / "bashrc", root / "new"
        victim.write_text("precious\n")
        with planted(victim, "f.html") as link, planted(new, "g.folded") as dangling, planted(root, "d") as way:
            for what, args in (
                    ("record", ["-p", t.pid, "-d", "1", "-o", link]),
                    ("record, a new file", ["-p", t.pid, "-d", "1", "-o", dangling]),
                    ("record, a link on the way", ["-p", t.pid, "-d", "1", "-o", str(way) + "/bashrc", "-f", "folded"]),
                    ("snapshot", ["snapshot", "-p", t.pid, "-n", "2", "-o", link]),
                    ("snapshot -s", ["snapshot", "-p", t.pid, "-n", "2", "-o", "/dev/null", "-s", link]),
                    ("convert", ["convert", SAVED, "-o", link]),
                    ("diff", ["diff", SAVED, SAVED, "-o", link])):
                r = run(*args, wrap=sudo if what.startswith("record") else [])
                check(what + ": another user's link is refused", r.refused(REFUSED), r)
            check("root's file is what it was, and alone", victim.read_text() == "precious\n" and
                  os.listdir(root) == ["bashrc"], os.listdir(root))


def own_links():
    with spin() as t, scratch(0o755) as root, tempfile.NamedTemporaryFile(suffix=".folded", dir="/tmp") as f:
        os.unlink(f.name)
        os.symlink(root / "real.folded", f.name)
        r = run("-p", t.pid, "-d", "0.3", "-o", f.name)
        check("the caller's own link is followed", r.status == 0 and os.listdir(root) == ["real.folded"], r)
        check("... and still a link", os.path.islink(f.name))
        if os.geteuid() == 0:
            his, link = root / "his", root / "link.folded"
            his.mkdir()
            os.chown(his, NOBODY, NOBODY)
            os.symlink(his / "f.folded", link)
            r = run("-p", t.pid, "-d", "0.3", "-o", link)
            check("... into a directory of another user's", r.status == 0 and (his / "f.folded").exists(), r)
        r = run("-p", t.pid, "-d", "0.3", "-F", "999", "-f", "folded", "-o", "/dev/stdout")
        check("/dev/stdout", r.status == 0 and r.samples(), r)


def folder(root):
    """A directory that is as /tmp is."""
    path = root / "shared"
    path.mkdir()
    os.chmod(path, 0o1777)
    return path


def others():
    """What else may stand there under the name."""
    with spin() as t, scratch(0o755) as root:
        shared, pid = folder(root), t.pid
        (shared / "file.folded").write_text("his\n")
        os.mkfifo(shared / "fifo.folded")
        os.mknod(shared / "null.folded", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mkdir(shared / "dir.folded")
        for name in ("file", "fifo", "dir"):
            os.chown(shared / (name + ".folded"), NOBODY, NOBODY)
        s = socket.socket(socket.AF_UNIX)
        s.bind(str(shared / "socket.folded"))
        for name, why in (("file", REFUSED), ("fifo", REFUSED), ("null", "device"), ("dir", "Is a directory"),
                          ("socket", "socket")):
            r = run("-p", pid, "-d", "1", "-o", shared / (name + ".folded"))
            check("a %s: refused" % name, r.refused(why), r)
        check("the file is what it was", (shared / "file.folded").read_text() == "his\n")
        s.close()


def taken_meanwhile():
    """Another user takes the name while the recording runs: his file stays, and nothing is lost."""
    with spin() as t, scratch(0o755) as root:
        out = folder(root) / "f.folded"
        q = Background("-p", t.pid, "-F", "999", "-o", out)
        jvm.burn(t.pid, 0.3)
        out.write_text("his\n")
        os.chown(out, NOBODY, NOBODY)
        r = q.end()
        elsewhere = pathlib.Path(r.err.partition("the profile is in '")[2].partition("'")[0])
        check("a name that is taken meanwhile", r.status == 1 and r.says("f.folded': somebody else") and
              out.read_text() == "his\n", r)
        check("... the profile is elsewhere", elsewhere.is_file() and elsewhere.stat().st_size, r)
        if elsewhere.is_file():
            elsewhere.unlink()


def gone_meanwhile():
    """Its owner removes the directory: nothing is lost, with two outputs neither."""
    with spin() as t, scratch(0o755) as root:
        his = root / "his"
        his.mkdir()
        q = Background("-p", t.pid, "-F", "999", "-o", his / "a.folded", "-o", his / "b.folded")
        jvm.burn(t.pid, 0.3)
        his.rmdir()
        r = q.end()
        places = [pathlib.Path(p) for p in re.findall("the profile is in '(.*?)'", r.err)]
        check("a directory that is removed meanwhile", r.status == 1 and len(places) == 2 and
              all(p.is_file() and p.stat().st_size for p in places), r)
        for p in places:
            p.unlink(missing_ok=True)


def default_name():
    """PID and time are guessed: a link for each second of the next half minute, to a file of root's each."""
    with spin() as t, scratch(0o755) as root:
        shared, private = folder(root), root / "private"
        private.mkdir()
        now = time.time()
        for i in range(31):
            name = time.strftime("jsampler-%d-%%Y%%m%%d-%%H%%M%%S.html" % t.pid, time.localtime(now + i))
            (private / str(i)).write_text("precious\n")
            os.symlink(private / str(i), shared / name)
            os.lchown(shared / name, NOBODY, NOBODY)
        before = set(os.listdir(shared))
        status, text = shell.on_terminal(["-p", t.pid, "-d", "0.3"], cwd=shared)
        made = sorted(set(os.listdir(shared)) - before)
        if time.time() - now > 30:
            note("the machine was too slow: no planted name was met")
        else:
            check("a default name that is planted: another is taken", status == 0 and len(made) == 1 and
                  (shared / made[0]).stat().st_size > 1000 and made[0] in text, (made, text))
        changed = [f.name for f in private.iterdir() if f.read_text() != "precious\n"]
        check("... no link was followed", not changed, changed)


def fifo():
    """Nobody reads: Ctrl-C ends the waiting. Somebody does later: he gets all."""
    with spin() as t, scratch() as root:
        path = root / "fifo.folded"
        os.mkfifo(path)
        p = subprocess.Popen([JS, "-p", str(t.pid), "-d", "0.3", "-F", "999", "-o", str(path)],
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             preexec_fn=jvm.die_with_parent)
        line = p.stderr.readline()
        check("a FIFO without a reader: said", "waiting for a reader of '%s'" % path in line, line)
        started = time.monotonic()
        p.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(timeout=jvm.PATIENCE)
        check("... Ctrl-C ends it", p.poll() in (1, -signal.SIGINT), p.poll())
        print("after %.2f s" % (time.monotonic() - started))
        p.kill()
        p.wait()
        with subprocess.Popen("sleep 0.5; cat '%s'" % path, shell=True, stdout=subprocess.PIPE, text=True) as reader:
            r = run("-p", t.pid, "-d", "0.3", "-F", "999", "-o", path)
            text = reader.stdout.read()
        check("a reader that comes later has it all", r.status == 0 and list(jvm.parse_folded(text.splitlines())), (r, text))


if __name__ == "__main__":
    main({f.__name__: f for f in (links, own_links, others, taken_meanwhile, gone_meanwhile, default_name, fifo)},
         of_users=("own_links", "fifo"))
