#!/usr/bin/env python3
"""A JVM as container engines run it, without one: namespaces of its own (mounts, PIDs, network, users), a
root of its own on overlayfs, read-only, a /tmp of its own, another user; sampled from the host, from inside of
its PID namespace, by its own user, beside another JVM, and after an upgrade replaced its libjvm.so. Last, one
that is of a JDK nobody knows: a field in its tables has another name.

usage: containers.py [--jdk 17]
Exit status: 0 all hold, 1 not, 77 not root, or the JDK asked for is not here.
"""

import argparse
import contextlib
import ctypes
import faulthandler
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import jvm
from environments_common import (JS, Run, Target, alive, burn, check, check_run, child_of, demo, failures, longer,
                                 note)
from environments_jvms import native_only, rename_in
from environments_places import named_threads

CLONE_NEWUSER, MNT_DETACH = 0x10000000, 2
OUTER_UID = 100000  # of the namespace's root, in the host's eyes
UID = 1000  # in the namespace
BY_USER = ["setpriv", "--reuid", str(OUTER_UID + UID), "--regid", str(OUTER_UID + UID), "--clear-groups"]


def root_and_home(jdk):
    """The root directory that this JDK's C library is in, and its home there."""
    root = jdk.home / "root"
    if not root.exists():
        return pathlib.Path("/"), jdk.home
    root = root.resolve()
    return root, pathlib.Path("/") / (jdk.home / "lib").resolve().parent.relative_to(root)


def mount_all(tmp, root, classes, how):
    """tmp/root becomes an overlay of root, ro or rw, with a /tmp of its own that has the classes."""
    subprocess.run(["sh", "-ec", "cd {tmp}; mount -t tmpfs none layers; mkdir layers/upper layers/work; "
                    "mount -t overlay -o lowerdir={root},upperdir=layers/upper,workdir=layers/work none root; "
                    "mount -t proc none root/proc; mount --rbind /dev root/dev; mount -t tmpfs none root/tmp; "
                    "cp -r {classes} root/tmp/classes; chmod 1777 root/tmp; mount -o remount,{how} root"
                    .format(tmp=tmp, root=root, classes=classes, how=how)], check=True)


def enter_user_namespace(proc):
    """IDs from 0 on are OUTER_UID and so on outside; who wrote that down has to be outside."""
    faulthandler.cancel_dump_traceback_later()  # its thread: only a process of one may leave
    r, w = os.pipe()
    me = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(w)
        os.read(r, 1)
        for kind in ("uid_map", "gid_map"):
            pathlib.Path(proc, str(me), kind).write_text("0 %d 65536" % OUTER_UID)
        os._exit(0)
    if jvm.LIBC.unshare(CLONE_NEWUSER):
        raise OSError("no user namespace: " + os.strerror(ctypes.get_errno()))
    os.close(w)
    if os.waitpid(helper, 0)[1]:
        raise OSError("no IDs for the user namespace")


def start(tmp, root, home, classes, kind):
    """In namespaces of its own already: becomes the JVM. kind: users, plain, or unknown (an unknown JDK)."""
    users = kind == "users"
    uid = UID if users else OUTER_UID + UID
    mount_all(tmp, root, classes, "ro" if users else "rw")
    if kind == "unknown":
        rename_in(next(pathlib.Path(tmp + "/root" + home).glob("**/server/libjvm.so")), "_entry_bci", "_entry_bcx")
    # The old root is mounted over the new one for a moment (pivot_root(2), "." "."); this process goes along.
    os.chdir(tmp + "/root")
    subprocess.run(["pivot_root", ".", "."], check=True)
    if jvm.LIBC.umount2(b".", MNT_DETACH):
        raise OSError("the old root stays mounted")
    if users:
        enter_user_namespace("/proc")
    os.chroot(".")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.execv(home + "/bin/java", ["java", "-Xmx256m", "-cp", "/tmp/classes", "Demo", "1200"])


class Container:
    """One that is started; pid: of its JVM, in the host's eyes."""

    def __init__(self, jdk, kind):
        self.tmp = tempfile.mkdtemp(prefix="jsampler-container-")
        os.chmod(self.tmp, 0o755)
        for d in ("layers", "root"):
            os.mkdir(os.path.join(self.tmp, d))
        root, home = root_and_home(jdk)
        self.target = Target(["unshare", "-m", "-p", "-n", "-f", "--kill-child", "--propagation", "private",
                              sys.executable, "-B", __file__, "--start", self.tmp, root, home,
                              jvm.compile_java(jdk, "demo"), kind])

    def __enter__(self):
        self.target.__enter__()
        self.pid = child_of(self.target.pid)
        burn(self.pid, 1)
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, 9)
        self.target.__exit__(*exc)
        shutil.rmtree(self.tmp, ignore_errors=True)


def libjvm(jdk):
    """Where it is, from the JDK's home."""
    return next(p for p in ("lib/server/libjvm.so", "jre/lib/amd64/server/libjvm.so") if (jdk.home / p).exists())


def named_with_vm(jdk):
    """Java frames with names, and the JVM's own, where its file has symbols."""
    has_symbols = b"thread_native_entry" in (jdk.home / libjvm(jdk)).read_bytes()
    return lambda r: named_threads(r) and (not has_symbols or r.has("thread_native_entry"))


def from_host(jdk, c):
    check_run("%d, from the host" % jdk.major, named_with_vm(jdk), "-p", c.pid, "-d", "1.5", "-t")
    check_run("%d, from the host, no filter" % jdk.major, named_with_vm(jdk), "-p", c.pid, "-d", "1.5", "-t",
              refuse=("bpf=EPERM",))


def from_within(jdk, c):
    """jsampler in the PID namespace of the container, where the JVM is number 1."""
    for i in range(jvm.TRIES):
        args = longer(["-p", "1", "-d", "1.5", "-t"], 4 ** i)
        p = subprocess.run(["nsenter", "-t", str(c.pid), "-p", "unshare", "-m", "--mount-proc", JS, *args],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           errors="replace", timeout=jvm.PATIENCE)
        r = Run(args, p.returncode, p.stdout, p.stderr, 0)
        if r.status != 0 or named_with_vm(jdk)(r):
            break
    check("%d, from inside of its PID namespace" % jdk.major, named_with_vm(jdk)(r), r)


def by_its_user(jdk, c):
    """Without a user namespace: the same user, no privileges."""
    if not jvm.may_sample():
        note("perf_event_paranoid keeps users out")
        return
    check_run("%d, by its user on the host" % jdk.major, named_with_vm(jdk), "-p", c.pid, "-d", "1.5", "-t",
              wrap=BY_USER)


def with_another(jdk, c):
    """Two JVMs at once, of two roots; which is which."""
    other = min(jvm.find_jdks("/usr/lib/jvm").values(), default=jdk)
    with demo(other) as t:
        burn(t.pid, 1)

        def both(r):
            mine = [[x for x in r.folded if x[0][0] == "[java pid=%d]" % p] for p in (c.pid, t.pid)]
            return (r.status == 0 and sum(map(len, mine)) == len(r.folded) and r.complete() > 0.97 and
                    all(any(x.startswith("Demo$") for f, _ in m for x in f) for m in mine))

        check_run("%d, and another JVM on the host" % jdk.major, both, "-p", "%d,%d" % (c.pid, t.pid), "-d", "2", "-t")


def upgraded(jdk, c):
    """The package's upgrade: a new file takes the name. From the host its pages are still to be had."""
    _, home = root_and_home(jdk)
    path = "/proc/%d/root%s/%s" % (c.pid, home, libjvm(jdk))
    shutil.copy(path, path + ".new")
    os.replace(path + ".new", path)
    maps = pathlib.Path("/proc/%d/maps" % c.pid).read_text()
    check("%d, its libjvm.so is deleted" % jdk.major, re.search(r"libjvm\.so.* \(deleted\)$", maps, re.M))
    check_run("%d, libjvm.so replaced, from the host" % jdk.major, named_with_vm(jdk), "-p", c.pid, "-d", "1.5", "-t")


def overlay_is_there():
    """Not where / is of a kind that overlayfs cannot lie on."""
    with tempfile.TemporaryDirectory() as tmp:
        return subprocess.run(["unshare", "-m", "sh", "-ec", "mount -t tmpfs none {0}; cd {0}; mkdir upper work root; "
                               "mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work none root".format(tmp)],
                              stderr=subprocess.DEVNULL).returncode == 0


def run(jdk):
    with Container(jdk, "users") as c:
        ids = pathlib.Path("/proc/%d/status" % c.pid).read_text()
        check("%d, other IDs inside" % jdk.major, re.search(r"^NSpid:\s+\d+\s+1$", ids, re.M) and
              re.search(r"^Uid:\s+%d\s" % (OUTER_UID + UID), ids, re.M), ids)
        from_host(jdk, c)
        from_within(jdk, c)
        with_another(jdk, c)
    with Container(jdk, "plain") as c:
        by_its_user(jdk, c)
        upgraded(jdk, c)
    with Container(jdk, "unknown") as c:
        check_run("%d, with a field that nobody knows: native frames, and why" % jdk.major, lambda r: native_only(r) and
                  r.says("nmethod::_entry_bci") and r.has(r"CompileBroker|JavaThread|start_thread|\[libjvm\.so\]"),
                  "-p", c.pid, "-d", "1.5")
        check("... which runs on", alive(c.pid))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--start", nargs=5, help=argparse.SUPPRESS)
    o = p.parse_args()
    if os.geteuid() != 0:
        print("skipped: needs root")
        return jvm.SKIP
    if o.start:
        return start(*o.start)
    if not jvm.can_unshare():
        print("skipped: no mount and user namespaces here")
        return jvm.SKIP
    if not overlay_is_there():
        print("skipped: overlayfs cannot be mounted on / here")
        return jvm.SKIP
    jdk = jvm.pick_jdk(o.jdk)
    began = time.monotonic()
    run(jdk)
    print("-- JDK %d: %.1f s, %d failures" % (jdk.major, time.monotonic() - began, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
