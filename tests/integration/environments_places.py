#!/usr/bin/env python3
"""Targets in other places: namespaces, chroots, 32 bits, and files of theirs that are traps."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jvm
from environments_common import (JS, NOBODY, Target, alive, burn, check, check_run, child_of, failures, java_named,
                                 jdks, left_out, main, native, note, odd, run)

CLONE_NEWNS = 0x20000


def java_line(jdk, home, classes):
    return "exec %s/bin/java -Xmx256m -cp %s Demo 1200" % (home, classes)


def named_threads(r):
    """Java names in --threads: they come by way of the thread ids inside the namespace."""
    return java_named(r) and all(r.has(r"^\[%s tid=" % n) for n in ("json-api", "report-builder", "session-cache"))


def namespaces():
    """Its own mounts, PIDs, user and network, as in a container; sampled from the host."""
    if not jvm.can_unshare():
        left_out("namespaces: no mount and user namespaces here")
        return
    for jdk, flags in ((jdks()[0], ["-U", "-r", "-m", "-p", "-f", "--mount-proc", "-n"]),
                       (jdks()[-1], ["-m", "-p", "-f", "--mount-proc"])):
        classes = jvm.public(jvm.compile_java(jdk, "demo"))
        script = ("mount -t tmpfs none /mnt && mkdir /mnt/jdk /mnt/classes && mount --bind %s /mnt/jdk && "
                  "mount --bind %s /mnt/classes && mount -t tmpfs none /tmp && %s" %
                  (jdk.home, classes, java_line(jdk, "/mnt/jdk", "/mnt/classes")))
        with Target(["unshare", *flags, "sh", "-c", script]) as t:
            pid = child_of(t.pid)
            inside = re.search(r"^NSpid:.*\s(\d+)$", pathlib.Path("/proc/%d/status" % pid).read_text(), re.M)
            jvm.wait_until(lambda: pathlib.Path("/proc/%d/comm" % pid).read_text() == "java\n")
            burn(pid, 1.5)
            check("namespaces: a PID of their own", int(inside.group(1)) < 10, inside.group(1))
            for options in ((), ("bpf=EPERM",)):
                what = "namespaces %s%s" % (" ".join(flags), ", no filter" * len(options))
                check_run(what, lambda r: named_threads(r) and r.has("thread_native_entry"), "-p", pid, "-d", "1.5",
                          "-t", refuse=options)
            os.kill(pid, 9)
        t.proc.wait()


def rootless():
    """A container that an ordinary user made: root inside, that user outside; by that user and by root."""
    if not jvm.can_unshare():
        left_out("rootless: no user namespaces here")
        return
    flags = ["-U", "-r", "-m", "-p", "-n", "-f", "--mount-proc"]
    if subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "unshare", *flags,
                       "true"], stderr=subprocess.DEVNULL).returncode:
        note("users may not make namespaces here")
        return
    jdk = jdks()[-1]
    script = ("mount -t tmpfs none /mnt && mkdir /mnt/classes && mount --bind %s /mnt/classes && "
              "mount -t tmpfs none /tmp && %s" %
              (jvm.public(jvm.compile_java(jdk, "demo")), java_line(jdk, jdk.home, "/mnt/classes")))
    with Target(["unshare", *flags, "sh", "-c", script], uid=NOBODY) as t:
        pid = child_of(t.pid)
        jvm.wait_until(lambda: pathlib.Path("/proc/%d/comm" % pid).read_text() == "java\n")
        burn(pid, 1.5)
        for who, uid in (("its user", NOBODY), ("root", None)):
            check_run("rootless, by %s" % who, lambda r: named_threads(r) and r.has("thread_native_entry"), "-p", pid,
                      "-d", "1.5", "-t", uid=uid)
        check("rootless: runs on", alive(pid))
        os.kill(pid, 9)
    t.proc.wait()


def nobody_inside():
    """Its user is 65534 inside, as root is; its /tmp is a directory of root's: nothing may be made there."""
    outer, inner = ["unshare", "-U", "-r", "-m"], "unshare -U --map-user=65534 --map-group=65534"
    as_user = ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups"]
    if not jvm.can_unshare() or subprocess.run([*as_user, *outer, *inner.split(), "true"],
                                               stderr=subprocess.DEVNULL).returncode:
        left_out("nobody inside: no user namespaces here")
        return
    jdk = jdks()[0]
    classes = jvm.public(jvm.compile_java(jdk, "demo"))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as roots:
        os.chmod(roots, 0o755)
        script = ("mount -t tmpfs none /mnt && mkdir /mnt/classes && mount --bind %s /mnt/classes && mount --bind %s /tmp "
                  "&& exec %s %s" % (classes, roots, inner, java_line(jdk, jdk.home, "/mnt/classes")[len("exec "):]))
        with Target([*as_user, *outer, "sh", "-c", script]) as t:
            burn(t.pid, 1.5)
            before = os.stat(roots).st_mtime_ns
            p = subprocess.run([JS, "doctor", "-p", str(t.pid)], stdout=subprocess.PIPE, text=True)
            check("nobody inside: said", "cannot write to its /tmp" in " ".join(p.stdout.split()), p.stdout)
            check("nobody inside: no file is made as root", os.stat(roots).st_mtime_ns == before)
            os.kill(t.pid, 9)
        t.proc.wait()


def same_container():
    """Both inside: jsampler sees the PIDs of the namespace it runs in."""
    # In a chroot only /proc can be made private, which is all that this needs.
    how = [] if jvm.can_unshare() else ["--propagation", "unchanged"]
    jdk = jdks()[0]
    classes = jvm.compile_java(jdk, "demo")
    wanted = ("[json-api tid=", "Demo$Json.once", "[session-cache tid=")
    for seconds in (2, 6, 20)[:jvm.TRIES]:
        script = ("%s/bin/java -Xmx256m -cp %s Demo 1200 & sleep %d; %s -p $! -d %d -t; s=$?; kill $!; exit $s" %
                  (jdk.home, classes, seconds, JS, seconds))
        p = subprocess.run(["unshare", "-m", *how, "-p", "-f", "--mount-proc", "sh", "-c", script], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE)
        if p.returncode or all(w in p.stdout for w in wanted):
            break
    check("jsampler and JVM in one PID namespace", p.returncode == 0 and all(w in p.stdout for w in wanted),
          p.stderr + p.stdout[:500])


def chroot():
    """The maps of a JVM in a chroot have the outer paths; its root is read-only."""
    if not jvm.can_unshare():
        left_out("chroot: mounts cannot be made private here")
        return
    jdk = jdks()[0]
    classes = jvm.compile_java(jdk, "demo")
    pid = os.fork()
    if pid == 0:  # mounts end with this process
        code = 1
        try:
            code = in_chroot(jdk, classes)
        finally:
            os._exit(code)
    check("chroot with a read-only root", os.waitpid(pid, 0)[1] == 0)


def in_chroot(jdk, classes):
    if jvm.LIBC.unshare(CLONE_NEWNS) != 0:
        return 1
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with tempfile.TemporaryDirectory() as tmp:
        root = tmp + "/root"
        for d in ("usr", "lib", "lib64", "proc", "dev", "opt/jdk", "opt/classes", "opt/bridge", "tmp"):
            os.makedirs("%s/%s" % (root, d))
        for src, dst in (("/usr", "usr"), ("/lib", "lib"), ("/lib64", "lib64"), ("/proc", "proc"), ("/dev", "dev"),
                         (jdk.home, "opt/jdk"), (classes, "opt/classes"),
                         (jvm.build_dir() / "jvm-bridge", "opt/bridge")):
            subprocess.run(["mount", "--rbind", str(src), "%s/%s" % (root, dst)], check=True)
        subprocess.run(["mount", "--bind", root, root], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", root], check=True)
        subprocess.run("for d in usr:/usr lib:/lib lib64:/lib64 proc:/proc dev:/dev opt/jdk:%s opt/classes:%s opt/bridge:%s; do "
                       "mount --rbind ${d#*:} %s/${d%%%%:*} || exit 1; done" %
                       (jdk.home, classes, jvm.build_dir() / "jvm-bridge", root),
                       shell=True, check=True)
        ok = sample_chroot(root) and bridge_in_chroot(root)
        subprocess.run(["umount", "-l", root], stderr=subprocess.DEVNULL)
        subprocess.run(["sh", "-c", "for d in usr lib lib64 proc dev opt/jdk opt/classes opt/bridge tmp; do umount -l %s/$d; done" %
                        root], stderr=subprocess.DEVNULL)
    return 0 if ok else 1


def sample_chroot(root):
    # The link /usr/lib/jvm/NAME of the distribution may leave the directory that is bound.
    with Target(["chroot", root, "/opt/jdk/bin/java", "-Xmx256m", "-cp", "/opt/classes", "Demo", "1200"]) as t:
        burn(t.pid, 1.5)
        check_run("chroot, map_files", lambda r: named_threads(r) and r.has("thread_native_entry"), "-p", t.pid, "-d",
                  "1.5", "-t")
        no_map_files = ("sys_ptrace", "dac_read_search", "dac_override", "perfmon", "bpf")
        check_run("chroot, by name", named_threads, "-p", t.pid, "-d", "1.5", "-t", keep_caps=no_map_files)
        return not failures


def bridge_in_chroot(root):
    """The JVM is asked for the bridge that it has loaded, by the path that it knows."""
    subprocess.run(["mount", "-t", "tmpfs", "none", root + "/tmp"], check=True)
    with Target(["chroot", root, "/opt/jdk/bin/java", "-agentpath:/opt/bridge/libjsampler-bridge.so=quiet", "-Xmx256m", "-cp",
                 "/opt/classes", "Demo", "1200"]) as t:
        burn(t.pid, 1.5)
        check_run("chroot, with the bridge", named_threads, "-p", t.pid, "-d", "1.5", "-t", "--bridge", "on")
        return not failures


def bits32():
    program = native("spin32", options=("-m32", "-nostdlib", "-static", "-O1", "-fno-pie", "-no-pie"), libraries=())
    if not program:
        note("no 32-bit programs can be built here")
        return
    t = subprocess.Popen([str(program)], preexec_fn=jvm.die_with_parent)
    burn(t.pid, 0.1)
    if t.poll() is not None:
        note("no 32-bit programs can be run here")
        return
    check_run("a 32-bit target", lambda r: r.refused("32-bit") or
              (r.status == 0 and r.share("spin32|spin_in_32_bits") > 0.9), "-p", t.pid, "-d", "1")
    check("... runs on", alive(t.pid))
    t.kill()
    t.wait()


# Without these the target's files are opened by name, not through map_files.
BY_NAME = ("sys_ptrace", "dac_read_search", "dac_override", "perfmon", "bpf", "setuid", "setgid")


def traced(*args, **kw):
    """(run, the paths that it opened, but for O_PATH); without strace they are not looked at."""
    if not shutil.which("strace"):
        note("no strace here: which files were opened is not looked at")
        return run(*args, **kw), ""
    with tempfile.TemporaryDirectory() as tmp:
        log = tmp + "/trace"
        wrap = ["strace", "-f", "-qq", "-y", "-o", log, "-e", "trace=open,openat,openat2"]
        r = run(*args, wrap=wrap, **kw)
        lines = pathlib.Path(log).read_text(errors="replace").splitlines()
        return r, "\n".join(x.rpartition("= ")[2] for x in lines if "O_PATH" not in x)


def traced_enough(pid, **kw):
    """With some samples of a target that computes."""
    for seconds in ("0.5", "4", "30"):
        r, trace = traced("-p", pid, "-d", seconds, **kw)
        if r.status != 0 or r.samples() > 5:
            break
    return r, trace


def trap(path, kind, outside):
    os.unlink(path)
    if kind == "an absolute symlink":
        os.symlink(outside, path)
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a symlink to a device":
        os.symlink("/dev/zero", path)
    elif kind == "a symlink to itself":
        os.symlink(path, path)
    elif kind == "a huge file":
        with open(path, "wb") as f:
            f.truncate(1 << 40)
    elif kind == "a directory":
        os.mkdir(path)


def mapped_traps():
    """The name of a mapped file leads elsewhere now."""
    kinds = ("an absolute symlink", "a FIFO", "a symlink to a device", "a symlink to itself", "a huge file",
             "a directory")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as tmp:
            path = tmp + "/mapped"
            with odd("file", path) as t:
                trap(path, kind, "/etc/shadow")
                r, trace = traced_enough(t.pid, keep_caps=BY_NAME)
                check("a mapped file is %s" % kind, r.status == 0 and r.share(r"^\[(mapped|unknown)\]$") > 0.9 and
                      r.seconds < 120 and not re.search(r"<(/etc/shadow|/dev/zero|%s)" % path, trace), r)


def perfmap_traps():
    """/tmp/perf-PID.map of a target that is not trusted: only its own, and no more than 64 MB."""
    for kind in ("its own", "an absolute symlink", "a FIFO", "a symlink to a device", "a huge file", "root's file"):
        with tempfile.TemporaryDirectory() as tmp, Anonymous() as t:
            os.chmod(tmp, 0o755)
            secret = pathlib.Path(tmp, "secret")
            text = "%x 1000 jitted_code\n" % t.start
            secret.write_text(text)
            secret.chmod(0o600)
            path = pathlib.Path("/tmp/perf-%d.map" % t.pid)
            try:
                path.write_text(text)
                if kind not in ("its own", "root's file"):
                    trap(path, kind, secret)
                if kind != "root's file":
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
                r, trace = traced_enough(t.pid)
                named = r.has("jitted_code")
                check("perf-PID.map is %s" % kind, r.status == 0 and r.seconds < 120 and
                      named == (kind == "its own") and r.samples() > 5 and "</dev/zero" not in trace, r)
            finally:
                path.unlink(missing_ok=True)


class Anonymous(Target):
    """Code in anonymous memory, of user nobody; start: its page."""

    def __init__(self):
        super().__init__([sys.executable, "-c", "import ctypes, mmap\n"
                          "m = mmap.mmap(-1, 4096, prot=7)\n"
                          "m.write(b'\\xf3\\x90\\xeb\\xfc')\n"
                          "a = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
                          "print('ready %x' % a, flush=True)\n"
                          "ctypes.CFUNCTYPE(None)(a)()"], uid=NOBODY)

    def __enter__(self):
        super().__enter__()
        self.start = int(self.line.split()[1], 16)
        return self


def changing_maps():
    with odd("remap") as t:
        check_run("a target that maps and unmaps", lambda r: r.status == 0 and r.samples() > 20 and
                  r.has("main|mprotect|munmap"), "-p", t.pid, "-d", "1")


if __name__ == "__main__":
    main({f.__name__: f for f in (namespaces, rootless, nobody_inside, same_container, chroot, bits32, mapped_traps,
                                  perfmap_traps, changing_maps)})
