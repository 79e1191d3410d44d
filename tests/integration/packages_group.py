"""What members of a group may do by jsampler-jvm, and what not: docs/install.md, "Without root"."""

import os
import pathlib
import signal
import subprocess
import sys
import time

from packages_root import check, run


UNUSED = range(0x70000000, 0x80000000)  # sampler/closed/closed.c


def uid_of(status):
    return int(next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1])


def worker(root):
    """The process that parses for a program in that root, or None. Its ids are nobody's."""
    for d in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(d / "exe") == "%s/usr/bin/jsampler" % root and uid_of((d / "status").read_text()) in UNUSED:
                return int(d.name)
        except OSError:
            continue
    return None


def memory_of(pid, java):
    """The descriptor of the JVM's memory that the process has."""
    for f in pathlib.Path("/proc/%s/fd" % pid).iterdir():
        try:
            if os.readlink(f).endswith("/proc/%d/mem" % java):
                return f.name
        except OSError:
            continue
    return None


def wait_for(what):
    for _ in range(1200):
        found = what()
        if found:
            return found
        time.sleep(0.05)
    return None


class Group:
    """What a group may do in a root with sudo, before and after it is turned on."""

    def __init__(self, debian, java):
        self.debian, self.java = debian, java
        for command in (["useradd", "-m", "-G", "jsampler", "member"], ["useradd", "-m", "other"]):
            status, out = debian.run(*command)
            if status:
                sys.exit("packages.py: %s: %s" % (command, out))

    def tries(self, user, command):
        return self.debian.run("su", "-", user, "-c", command)

    def profiles(self, what, target):
        status, out = self.tries("member", "sudo -n jsampler-jvm -d 2 %s >out.folded" % target)
        folded = self.debian.path / "home/member/out.folded"
        text = folded.read_text()
        check("a member profiles %s" % what, status == 0 and "Truth.k" in text, "%d\n%s" % (status, out.decode()))
        folded.unlink()

    def reads_no_memory(self):
        """What holds the JVM's memory is out of reach for whoever started it."""
        uid = int(self.debian.run("id", "-u", "member")[1])
        sudo = subprocess.Popen(["chroot", self.debian.path, "su", "-", "member", "-c", "sudo -n jsampler-jvm -d 60 %d >/dev/null" % self.java.pid],
                                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pid = wait_for(lambda: worker(self.debian.path))
        memory = pid and wait_for(lambda: memory_of(pid, self.java.pid))
        tried = [["cat", "/proc/%s/%s" % (pid, f)] for f in ("mem", "maps", "environ", "fd/%s" % memory)] + [["kill", "-0", str(pid)]]
        done = [t for t in tried if run("setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", *t)[0] == 0]
        check("a member cannot reach the process that reads the JVM", pid and memory and not done, "%s %s %s" % (pid, memory, done))
        if pid:
            os.kill(pid, signal.SIGTERM)
        sudo.wait(90)

    def refused(self, what, user, command):
        before = self.files()
        status, out = self.tries(user, command)
        check(what, status != 0 and b";" not in out and self.files() == before, "%d\n%s" % (status, out.decode()))

    def files(self):
        return sorted(str(p) for d in ("etc", "tmp", "home") for p in (self.debian.path / d).rglob("*"))

    def tried(self):
        pid = self.java.pid
        self.refused("a member, before the group is turned on", "member", "sudo -n jsampler-jvm -d 1 %d" % pid)
        self.debian.run("install", "-m", "0440", "/usr/share/jsampler/sudoers", "/etc/sudoers.d/jsampler")
        status, out = self.debian.run("visudo", "-c")
        check("sudo takes the file for the group", status == 0 and b"sudoers.d/jsampler: parsed OK" in out, out)
        self.profiles("root's JVM by its PID", pid)
        self.profiles("root's JVM by its main class", "Packaged")
        self.reads_no_memory()
        for what, user, command in (
                ("nobody else does", "other", "sudo -n jsampler-jvm -d 1 %d" % pid),
                ("no member runs jsampler itself", "member", "sudo -n jsampler -p %d -d 1" % pid),
                ("no member names a file", "member", "sudo -n jsampler-jvm -d 1 -o /etc/planted %d" % pid),
                ("no member starts a command", "member", "sudo -n jsampler-jvm -d 1 %d -- touch /etc/planted" % pid),
                ("no member profiles what is no JVM", "member", "sudo -n jsampler-jvm -d 1 %d | cat" % os.getpid())):
            self.refused(what, user, command.replace(" | cat", " >/dev/null"))
