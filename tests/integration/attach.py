#!/usr/bin/env python3
"""The attach client: JVMs of every kind, agents that load and that do not; nothing is left, nobody is harmed."""

import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import jvm
import shell
from shell import check

PROBE = os.environ.get("ATTACH_PROBE") or str(jvm.build_dir() / "tests/integration/attach_probe")
KINDS = {"agent": (), "agent7": ("-DRETURNS=7",), "broken": ("-DNEEDS", "-Wl,-z,now")}
# A C library of the future, for an agent that was built with it.
FUTURE = ("int function_that_no_library_has(void) { return 1; }", "GLIBC_2.99 { function_that_no_library_has; };")


def agents():
    """One of each kind, where every user can read it."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="jsampler-agents-", dir="/var/tmp"))
    os.chmod(d, 0o755)
    for name, options in KINDS.items():
        subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-shared", "-fPIC", *options, "-o", str(d / name),
                        str(jvm.ROOT / "tests/native/attach_agent.c")], check=True)
    return d


def foreign(d):
    """{file: what is said} of what is not a bridge for this JVM; made in the folder of agents()."""
    cc, source = os.environ.get("CC", "gcc"), str(jvm.ROOT / "tests/native/attach_agent.c")
    (d / "future.c").write_text(FUTURE[0])
    (d / "future.map").write_text(FUTURE[1])
    subprocess.run([cc, "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libc.so.6", "-Wl,--version-script=%s" % (d / "future.map"),
                    "-o", str(d / "libfuture.so"), str(d / "future.c")], check=True)
    subprocess.run([cc, "-shared", "-fPIC", "-DNEEDS", "-Wl,-z,now,--allow-shlib-undefined", "-o", str(d / "newer"), source,
                    str(d / "libfuture.so")], check=True)
    (d / "garbage").write_text("no library, but of some length\n" * 20)
    shutil.copy(d / "agent", d / "open")
    os.chmod(d / "open", 0o777)
    (d / "folder").mkdir()
    (d / "empty").touch()
    said = {"newer": "GLIBC_2.99.*another C library", "garbage": "is not a shared library", "empty": "is not a shared library",
            "folder": "is not a regular file", "open": "other users can write to it"}
    if shutil.which("musl-gcc"):
        subprocess.run(["musl-gcc", "-shared", "-fPIC", "-o", str(d / "musl"), source], check=True)
        said["musl"] = "another C library"
    return said


def hello(version):
    """The first record of the stream, jvm-bridge/stream/wire.h."""
    wire = (jvm.ROOT / "jvm-bridge/stream/wire.h").read_text()
    magic = re.search(r'WIRE_MAGIC "(.{8})"', wire)[1].encode()
    kind = int(re.search(r"WIRE_HELLO = (\d+)", wire)[1])
    body = magic + struct.pack("<HHIIIQQH", version, 0, 8, 1, 0, 1, 1, 0)
    body += bytes(-len(body) % 8)
    return struct.pack("<IHHQ", 16 + len(body), kind, 0, 1) + body


def strangers(jdk, lib):
    """What connects is not a bridge, or is from another release, or breaks off: with on that is a failure."""
    major = int(re.search(r"WIRE_VERSION_MAJOR = (\d+)", (jvm.ROOT / "jvm-bridge/stream/wire.h").read_text())[1])
    cases = [("not a bridge", b"hello, hello, hello, hello\n", "not a record|not a bridge"),
             ("another version", hello(major + 1), "speaks version %d .*of one release" % (major + 1)),
             ("cut off", hello(major)[:20], "ended in the middle of a record"),
             ("at once at its end", hello(major), "connection ended")]
    with shell.Busy(jdk) as t:
        for what, says, wanted in cases:
            file = lib / what.replace(" ", "-")
            subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", '-DSAYS="%s"' % "".join("\\%03o" % c for c in says),
                            "-o", str(file), str(jvm.ROOT / "tests/native/attach_agent.c")], check=True)
            p = shell.run(["-p", t.pid, "-d", "0.3", "-f", "folded", "--bridge", "on"],
                          env=dict(os.environ, JSAMPLER_BRIDGE=str(file)))
            lines = [l for l in p.stderr.splitlines() if "JEP 451" not in l]
            check("the stream: %s" % what, p.returncode == 1 and re.search(wanted, " ".join(lines)) and not p.stdout,
                  (p.returncode, p.stderr))
        unharmed("strangers", t)


def refused(jdk, lib):
    """One line each, and the JVM does not notice."""
    with shell.Busy(jdk) as t:
        for name, says in foreign(lib).items():
            out = probe(t.pid, "load", lib / name)
            check("%s instead of the library" % name, re.fullmatch("failed: .*%s.*\n" % says, out), out)
        if os.geteuid() == 0 and shell.can_be_nobody():
            out = probe(t.pid, "load", lib / "agent", wrap=shell.nobody)
            check("another user", re.fullmatch("failed: .*(denied|not permitted|user).*\n", out), out)
        check("and at last", probe(t.pid, "load", lib / "agent") == "hello\n")
        unharmed("refused", t)


def probe(pid, *args, wake=True, wrap=lambda a: a, timeout=jvm.PATIENCE, times=1):
    p = subprocess.run(wrap([PROBE, *(["--wake"] if wake else []), "--times", str(times), str(pid), *map(str, args)]),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", timeout=timeout, preexec_fn=jvm.die_with_parent)
    return p.stdout


def left_files(pid, inside):
    found = set()
    for d in ("tmp", "var/tmp", "dev/shm", "run"):
        root = pathlib.Path("/proc/%d/root" % pid, d)
        if root.is_dir():
            found |= {str(p) for pattern in (".jsampler-*", "*libjsampler-bridge-*", ".attach_pid%d" % (inside or pid))
                      for p in root.glob(pattern)}
    return found


def left_behind(pid, inside=None):
    """What attaching put into the target's directories; its own socket is the JVM's. Another jsampler on the machine may
    use the same directories: what it puts there is soon gone."""
    found = left_files(pid, inside)
    jvm.wait_until(lambda: not found & left_files(pid, inside), 10)
    return sorted(found & left_files(pid, inside))


def unharmed(what, target, pid=None, inside=None):
    """It runs on, printed nothing (no thread dump), and nothing is left behind."""
    check(what + ": nothing is left", not left_behind(pid or target.pid, inside), left_behind(pid or target.pid, inside))
    check(what + ": the JVM runs on", target.proc.poll() is None, target.proc.poll())
    target.proc.stdin.close()
    rest = target.buffer + target.proc.stdout.read()
    check(what + ": it printed nothing", not rest, rest[:500])
    check(what + ": and it ended as it should", target.proc.wait(jvm.PATIENCE) == 0, target.proc.returncode)


def kinds(jdk, user, wrap, lib):
    what = "JDK %d of %s" % (jdk.major, user)
    with shell.Busy(jdk, wrap=wrap) as t:
        check(what + ": no listener, none asked for", probe(t.pid, "properties", wake=False) ==
              "failed: the JVM has no attach listener yet\n")
        check(what + ": properties", "java.specification.version=" in probe(t.pid, "properties"))
        check(what + ": a thread dump", '"main"' in probe(t.pid, "threaddump", wake=False))
        out = probe(t.pid, "nonsense", wake=False)
        check(what + ": an unknown command", out.startswith("failed: the JVM refused"), out)
        out = probe(t.pid, "load", lib / "agent")
        check(what + ": an agent loads and connects", out == "hello\n", out)
        out = probe(t.pid, "load", lib / "agent7")
        check(what + ": an agent that returns 7", "failed: " in out and "code 7" in out, out)
        out = probe(t.pid, "load", lib / "broken")
        check(what + ": an agent that cannot be linked", "failed: the JVM did not load" in out and
              "function_that_no_library_has" in out, out)
        out = probe(t.pid, "load", "/nowhere/agent")
        check(what + ": an agent that is not there", "failed: cannot open /nowhere/agent" in out, out)
        if os.geteuid() == 0:
            private = pathlib.Path(tempfile.mkdtemp(prefix="jsampler-private-"))  # mode 0700
            shutil.copy(lib / "agent", private / "agent")
            out = probe(t.pid, "load", private / "agent")
            maps = pathlib.Path("/proc/%d/maps" % t.pid).read_text()
            copied = "libjsampler-bridge-" in maps
            check(what + ": a library that its user may not read is copied", out == "hello\n" and
                  copied == (user != "root"), (out, copied))
            shutil.rmtree(private)
        unharmed(what, t)


def repeated(jdk, lib):
    """The same library again and again: mapped once, nothing grows."""
    what = "JDK %d, 10 times" % jdk.major

    def facts(pid):
        d = "/proc/%d/" % pid
        return (len(os.listdir(d + "fd")), len(os.listdir(d + "task")),
                pathlib.Path(d + "maps").read_text().count(str(lib / "agent")))

    with shell.Busy(jdk, args=["idle"]) as t:
        probe(t.pid, "load", lib / "agent", times=2)
        before = facts(t.pid)
        out = probe(t.pid, "load", lib / "agent", times=10)
        jvm.wait_until(lambda: facts(t.pid) == before, 10, 0.1)  # compilers' threads come and go
        check(what, out == "hello\n" * 10 and facts(t.pid)[0] <= before[0] and facts(t.pid)[2] == before[2] and
              facts(t.pid)[1] <= before[1] + 1, (before, facts(t.pid), out))
        unharmed(what, t)


def flags(jdk, lib):
    with shell.Busy(jdk, flags=["-Xrs"]) as t:
        out = probe(t.pid, "load", lib / "agent")
        check("-Xrs: the listener is there, no signal is needed", out == "hello\n", out)
        unharmed("-Xrs", t)
    with shell.Busy(jdk, flags=["-Xrs", "-XX:+DisableAttachMechanism"]) as t:
        out = probe(t.pid, "load", lib / "agent")
        check("-Xrs without listener: not signalled", "SIGQUIT is not caught" in out, out)
        unharmed("-Xrs without listener", t)


def starting(jdk, lib):
    """Asked at random moments of its start: never ended by the signal, no thread dump printed."""
    classes = jvm.compile_java(jdk, "cli")
    for delay in [0, 0.01, *(random.uniform(0.02, 0.5) for _ in range(4))]:
        with jvm.Jvm(jdk, classes, "Busy", flags=["-Xmx64m"]) as t:
            time.sleep(delay)
            out = probe(t.pid, "load", lib / "agent")
            # Before its execve it is not even a JVM.
            check("%.0f ms after the start" % (1000 * delay), out == "hello\n" or "ended" in out, out)
            t.wait_ready()
            unharmed("%.0f ms after the start" % (1000 * delay), t)


def all_stopped(pid):
    return all(") T " in text for text in jvm.texts_of(pid, "stat"))


def stopped(jdk, lib):
    with shell.Busy(jdk) as t:
        for what in ("no listener", "listener"):
            os.kill(t.pid, signal.SIGSTOP)
            jvm.wait_until(lambda: all_stopped(t.pid))
            out = probe(t.pid, "load", lib / "agent")
            check("stopped, %s" % what, "is stopped" in out and "kill -CONT" in out, out)
            os.kill(t.pid, signal.SIGCONT)
            check("going on again", probe(t.pid, "load", lib / "agent") == "hello\n")
        unharmed("stopped", t)


def ending(jdk, lib):
    t = shell.Busy(jdk)
    with t:
        p = subprocess.Popen([PROBE, "--wake", "--times", "1000", str(t.pid), "load", str(lib / "agent")],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=jvm.die_with_parent)
        p.stdout.readline()
        t.proc.kill()
        t.proc.wait()
        out = p.communicate(timeout=jvm.PATIENCE)[0]
        check("a JVM that ends: said, no hang", re.search(
            "failed: .*(ended|without an answer|no process|does not connect|no attach listener|Connection re)", out), out)


def stale(jdk, lib):
    """The socket file of an earlier process with the same PID."""
    with shell.Busy(jdk) as t:
        path = "/tmp/.java_pid%d" % t.pid
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
        out = probe(t.pid, "load", lib / "agent")
        check("a stale socket file", out == "hello\n", out)
        unharmed("a stale socket file", t)
    if not shell.can_be_nobody():
        return
    with shell.Busy(jdk, wrap=shell.nobody) as t:
        path = "/tmp/.java_pid%d" % t.pid
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            out = probe(t.pid, "load", lib / "agent")
            os.unlink(path)
        check("one of another user: said", "%s in the JVM's root belongs to user 0" % path in out, out)
        check("... and then attached", probe(t.pid, "load", lib / "agent") == "hello\n")
        unharmed("another user's socket file", t)


def linked(jdk, lib):
    """A link to another socket of the JVM's user would send it a command that it did not ask for."""
    with shell.Busy(jdk) as t, tempfile.TemporaryDirectory() as tmp, socket.socket(socket.AF_UNIX) as s:
        path = "/tmp/.java_pid%d" % t.pid
        s.bind(tmp + "/other")
        s.listen()
        s.settimeout(0.5)
        os.symlink(tmp + "/other", path)
        out = probe(t.pid, "load", lib / "agent")
        os.unlink(path)
        check("a link in place of the socket: said", "%s in the JVM's root is not a socket" % path in out, out)
        try:
            s.accept()
            check("a link in place of the socket is not followed", False)
        except TimeoutError:
            check("a link in place of the socket is not followed", True)
        unharmed("a link in place of the socket", t)


def in_namespace(jdk, what, script, expected, lib, flags=("-p", "-f", "-m", "-n", "--mount-proc")):
    wrap = lambda a: ["unshare", *flags, "sh", "-c", script + " && exec \"$@\"", "sh", *a]
    if subprocess.run(wrap(["true"]), stderr=subprocess.DEVNULL).returncode:
        print("note: no such namespace can be made here: %s" % what)
        return
    with shell.Busy(jdk, wrap=wrap) as t:
        pid = t.pid
        if "-f" in flags:
            pid = int(pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()[0])
        for again in ("", ", again"):
            out = probe(pid, "load", lib)
            check(what + again, re.search(expected, out), out)
        if expected == "^hello\n$":
            maps = [l for l in pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines() if "libjsampler-bridge-" in l]
            check(what + ": a copy, unlinked, mapped once", maps and all("(deleted)" in l for l in maps) and
                  len({l.split()[4] for l in maps}) == 1, maps)
        unharmed(what, t, pid, 1)


def namespaces(jdk, others):
    # Its own /tmp and /var/tmp: the library is not visible there.
    hide = "mount -t tmpfs none /var/tmp/%s" % others.name
    own_tmp = "mount -t tmpfs none /tmp && " + hide
    lib = others / "agent"
    in_namespace(jdk, "own /tmp", own_tmp, "^hello\n$", lib)
    # TSan has a thread of its own in every process, and who has threads may not enter a user namespace.
    if jvm.SANITIZED != "thread":
        in_namespace(jdk, "own /tmp, own user ids", own_tmp, "^hello\n$", lib,
                     ("-U", "-r", "-p", "-f", "-m", "-n", "--mount-proc"))
    in_namespace(jdk, "/tmp is noexec", "mount -t tmpfs -o noexec none /tmp && " + hide, "^hello\n$", lib)
    rest = " && for d in /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec none $d; done"
    # Covering /var/tmp hides the program's classes too: they are bound back.
    keep = "mkdir /tmp/k && mount --bind /var/tmp /tmp/k"
    back = " && for d in /tmp/k/jsampler-busy-*; do [ -e $d ] || continue; mkdir -p /var/tmp/${d##*/} && mount --bind $d /var/tmp/${d##*/}; done"
    in_namespace(jdk, "nothing but noexec", "mount -t tmpfs -o noexec none /tmp && %s%s%s" % (keep, rest, back) +
                 " && umount /tmp/k", "failed: .*noexec.*/dev/shm.*mount it there", lib)
    # Members of a group could put another library in place of the copy.
    in_namespace(jdk, "nothing but directories of a group", "mount -t tmpfs -o mode=775,gid=65534 none /tmp && %s%s%s" %
                 (keep, rest.replace("noexec", "mode=775,gid=65534"), back) + " && umount /tmp/k",
                 "failed: .*others may replace files in it", lib)
    in_namespace(jdk, "a read-only /tmp", "mount -t tmpfs -o ro none /tmp && " + hide, "failed: .*its /tmp", lib)
    # A root of its own, with everything but /tmp in it.
    root = ("mount -t tmpfs none /mnt && for d in /*; do [ $d = /mnt ] || [ $d = /tmp ] || if [ -L $d ]; then cp -P $d /mnt$d; "
            "elif [ -d $d ]; then mkdir /mnt$d && mount --rbind $d /mnt$d; fi; done")
    inside = ' && exec chroot /mnt "$@"'
    in_namespace(jdk, "no /tmp", root + inside, "failed: .*no /tmp in its root", lib)
    read_only = (" && mkdir /mnt/tmp && for d in /mnt/* /mnt/dev/shm /mnt/run; do mountpoint -q $d && "
                 "mount -o remount,bind,ro $d; done; mount -o remount,ro /mnt")
    in_namespace(jdk, "a read-only root", root + read_only + inside, "failed: .*Read-only file system", lib)


def main():
    jdks = sorted(jvm.find_jdks().values())
    if not jdks:
        sys.exit(jvm.SKIP)
    lib = agents()
    try:
        for jdk in jdks[:1] + jdks[-1:]:
            kinds(jdk, "root" if os.geteuid() == 0 else "this user", lambda a: a, lib)
            if shell.can_be_nobody():
                kinds(jdk, "nobody", shell.nobody, lib)
            repeated(jdk, lib)
        starting(jdks[-1], lib)
        stopped(jdks[-1], lib)
        ending(jdks[0], lib)
        stale(jdks[0], lib)
        linked(jdks[0], lib)
        refused(jdks[0], lib)
        strangers(jdks[0], lib)
        flags(jdks[0], lib)
        if os.geteuid() == 0:
            namespaces(jdks[-1], lib)
    finally:
        shutil.rmtree(lib)
    shell.finish()


if __name__ == "__main__":
    main()
