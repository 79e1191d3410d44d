#!/usr/bin/env python3
"""What is not permitted, or scarce: perf events, capabilities, seccomp profiles, descriptors, memory."""

import os
import re
import resource
import stat
import subprocess
import sys
import tempfile

import jvm
from environments_common import (NOBODY, STRANGER, Target, alive, burn, check, check_run, demo, java_named, jdks,
                                 main, native, note, odd, run, spin, sysctl)


def python_named(r):
    return r.status == 0 and r.has("Py")


def paranoid():
    """Kernels that know 3 and 4 refuse; others take them for 2, which leaves user frames."""
    with spin(uid=NOBODY) as t:
        for level in (4, 3, 2):
            with sysctl("perf_event_paranoid", level):
                check_run("perf_event_paranoid %d, own process" % level, lambda r, level=level:
                          (python_named(r) and r.says("kernel frames are not permitted")) or r.refused(
                              r"kernel\.perf_event_paranoid is %d; run as root, or with CAP_PERFMON" % level),
                          "-p", t.pid, "-d", "1", "--engine", "perf", uid=NOBODY)
        with sysctl("perf_event_paranoid", 4):
            check_run("perf_event_paranoid 4, root", lambda r: python_named(r) and not r.says("not permitted"),
                      "-p", t.pid, "-d", "1")


def capabilities():
    """Root without a capability is told which."""
    with spin(uid=NOBODY) as t, spin() as own:
        r = run("-p", t.pid, "-d", "1", keep_caps=())
        check("root without capabilities, another's process", r.refused("CAP_SYS_PTRACE"), r)
        r = run("-p", t.pid, "-d", "1", keep_caps=("sys_ptrace",))
        check("root with CAP_SYS_PTRACE only", r.refused("CAP_DAC_READ_SEARCH"), r)
        check_run("root with both", python_named, "-p", t.pid, "-d", "1", keep_caps=("sys_ptrace", "dac_read_search"))
        r = run("-p", own.pid, "-d", "1", keep_caps=())
        check("root without capabilities, a process that has them", r.refused("CAP_SYS_PTRACE"), r)
        r = run("-p", t.pid, "-d", "1", keep_caps=("perfmon",))
        check("root with CAP_PERFMON only", r.refused("CAP_SYS_PTRACE"), r)
        check("its target runs on", alive(t.pid) and alive(own.pid))


def said_under(refused, *argv):
    return subprocess.run([str(native("refuse")), refused, "--", jvm.jsampler_path(), *argv], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent)


def seccomp():
    with spin() as t, spin(uid=NOBODY) as n:
        for error in ("EPERM", "ENOSYS", "EACCES"):
            r = run("-p", t.pid, "-d", "0.4", "--engine", "perf", refuse=["perf_event_open=" + error])
            check("seccomp: perf_event_open %s, root" % error, r.refused("seccomp profile"), r)
            r = run("-p", n.pid, "-d", "0.4", "--engine", "perf", refuse=["perf_event_open=" + error],
                    uid=NOBODY)
            check("seccomp: perf_event_open %s, nobody" % error, r.refused("seccomp profile"), r)
            check_run("seccomp: bpf %s" % error, lambda r: python_named(r) and r.says("thread x cpu events"),
                      "-p", t.pid, "-d", "0.4", "-v", refuse=["bpf=" + error])
        for error in ("EINVAL", "ENODEV"):  # ENODEV: gVisor's answer
            r = run("-p", t.pid, "-d", "0.4", "--engine", "perf", refuse=["perf_event_open=" + error])
            check("perf_event_open %s" % error, r.refused("event 'cpu' cannot be sampled here: perf_event_open"), r)
            check_run("perf_event_open %s: threads are stopped" % error, lambda r: python_named(r) and
                      r.says("threads are stopped instead"), "-p", t.pid, "-d", "0.4",
                      refuse=["perf_event_open=" + error])
        for call in ("openat2", "pidfd_open", "prlimit64", "sched_setscheduler", "getrandom"):
            check_run("seccomp: %s EPERM" % call, python_named, "-p", t.pid, "-d", "0.4", refuse=[call + "=EPERM"])
        r = run("-p", t.pid, "-d", "0.4", refuse=["capset=EPERM"])
        check("seccomp: capset EPERM", r.refused("capabilities"), r)
        said = said_under("capset=EPERM", "doctor").stdout
        check("seccomp: capset EPERM, doctor", re.search(r"cannot\s+give\s+up\s+capabilities", said) and "Broken" not in said,
              said)
        said = said_under("seccomp=EPERM", "list").stderr
        check("seccomp: no filter, list", "without a filter of system calls" in said, said)
    with demo(jdks()[0]) as t:
        burn(t.pid, 1.5)
        for error in ("EPERM", "ENOSYS"):
            check_run("seccomp: process_vm_readv %s, a JVM" % error, java_named, "-p", t.pid, "-d", "1",
                      refuse=["process_vm_readv=" + error])


def users():
    jdk = jdks()[0]
    with demo(jdk, uid=NOBODY) as t:
        burn(t.pid, 1.5)
        check_run("root, nobody's JVM", lambda r: java_named(r) and r.has(r"\[json-api tid="),
                  "-p", t.pid, "-d", "2", "-t")
        check_run("nobody, its own JVM", lambda r: java_named(r) and r.has(r"\[json-api tid=") and
                  r.says("kernel frames are not permitted"), "-p", t.pid, "-d", "2", "-t", uid=NOBODY)
        r = run("-p", t.pid, "-d", "1", uid=STRANGER)
        check("a third user", r.refused(r"belongs to user %d: .*as that user, or as root" % NOBODY), r)
        check("its target runs on", alive(t.pid))
    with odd("nodump", uid=NOBODY) as t:
        r = run("-p", t.pid, "-d", "1", uid=NOBODY)
        check("a process that is not dumpable", r.refused(r"not dumpable.*root"), r)
        check_run("... is no matter for root", lambda r: r.status == 0 and r.has("odd_spin|main"),
                  "-p", t.pid, "-d", "1")
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        program = tmp + "/setuid"
        subprocess.run(["cp", str(native("odd_target")), program], check=True)
        os.chown(program, STRANGER, STRANGER)
        os.chmod(program, 0o755 | stat.S_ISUID)
        with odd("threads", "1", uid=NOBODY) as _:
            pass
        t = subprocess.Popen(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                              program, "threads", "1"], stdout=subprocess.PIPE, preexec_fn=jvm.die_with_parent)
        t.stdout.readline()
        r = run("-p", t.pid, "-d", "1", uid=NOBODY)
        check("a setuid program that the user started", r.refused("user %d|not dumpable" % STRANGER), r)
        t.kill()
        t.wait()
    if not os.path.exists("/proc/sys/kernel/yama"):
        note("Yama is not in this kernel: ptrace_scope is not tried")


SCARCE = "descriptor|RLIMIT_NOFILE|ulimit"


def descriptors():
    with demo(jdks()[0]) as t:
        burn(t.pid, 1.5)
        for n in (4, 6, 8, 12, 16, 18, 20, 22, 24, 26, 28, 32):
            check_run("%d descriptors, root" % n, lambda r: r.refused(SCARCE) or
                      (r.status == 0 and r.has(r"^Demo\$") and r.complete() > 0.9) or
                      (r.status == 0 and r.says(SCARCE)), "-p", t.pid, "-d", "0.5", limits=[(resource.RLIMIT_NOFILE, n)])
        check_run("16 descriptors, but more to be had", java_named, "-p", t.pid, "-d", "1",
                  wrap=["prlimit", "--nofile=16:4096"])
        check_run("4096 descriptors without a filter", java_named, "-p", t.pid, "-d", "1",
                  limits=[(resource.RLIMIT_NOFILE, 4096)], refuse=["bpf=EPERM"])
        r = run("-p", t.pid, "-d", "1", limits=[(resource.RLIMIT_NOFILE, 64)], refuse=["bpf=EPERM"])
        check("64 descriptors without a filter", r.refused("threads x .* file descriptors, the limit is 64"), r)


def locked_memory():
    with spin(uid=NOBODY) as t:
        for kb in (1, 8, 64, 128, 260):
            with sysctl("perf_event_mlock_kb", kb):
                check_run("RLIMIT_MEMLOCK 0, perf_event_mlock_kb %d" % kb, lambda r, kb=kb:
                          r.refused("perf_event_mlock_kb.*now %d.*ulimit -l" % kb) or
                          (python_named(r) and r.says("perf_event_mlock_kb is %d" % kb)), "-p", t.pid, "-d", "1",
                          "--engine", "perf", uid=NOBODY, limits=[(resource.RLIMIT_MEMLOCK, 0)])
        check_run("RLIMIT_MEMLOCK 0, root", lambda r: python_named(r) and not r.says("mlock"), "-p", t.pid, "-d", "1",
                  limits=[(resource.RLIMIT_MEMLOCK, 0)])


def kernel_names():
    reads = "import os\nf = os.open('/dev/zero', os.O_RDONLY)\nprint('ready', flush=True)\nwhile True: os.read(f, 1 << 18)"
    with Target([sys.executable, "-c", reads]) as t:
        with sysctl("kptr_restrict", 2):
            r = check_run("kptr_restrict 2: [kernel] and a note", lambda r: r.status == 0 and
                          r.has(r"^\[kernel\]$") and r.says("kptr_restrict"), "-p", t.pid, "-d", "2", "-F", "999")
        check("... and no name", not r.has(r"_\[k\]$"), r)
        r = run("-p", t.pid, "-d", "1", "--no-kernel")
        check("--no-kernel: none", r.status == 0 and not r.has(r"_\[k\]$|^\[kernel\]$"), r)


def throttled():
    """What the kernel does above its own limit is said."""
    with spin() as t:
        try:
            with sysctl("perf_event_max_sample_rate", 100):
                check_run("throttled by the kernel: said, with its limit", lambda r: r.status == 0 and
                          r.says(r"the kernel lowered the rate \(kernel\.perf_event_max_sample_rate 100\)") and
                          r.says(r"throttled [1-9]"), "-p", t.pid, "-d", "1", "-F", "4999", "-v")
        except OSError as e:  # kernel.perf_cpu_time_max_percent may switch throttling off
            note("perf_event_max_sample_rate cannot be set here: %s" % e)


def threads():
    """Thousands of threads: with a filter at once, without one by thousands of descriptors."""
    with odd("threads", "2000") as t:
        for what, kw in (("root", {}), ("without a filter", {"refuse": ["bpf=EPERM"]})):
            check_run("2,000 threads, %s" % what, lambda r: r.status == 0 and r.has("odd_spin|spin_thread") and
                      r.says("lost 0"), "-p", t.pid, "-d", "2", **kw)
        r = run("-p", t.pid, "-d", "1", refuse=["bpf=EPERM"], limits=[(resource.RLIMIT_NOFILE, 1024)])
        check("2,000 threads, 1,024 descriptors", r.refused("2002 threads x .* limit is 1024"), r)


if __name__ == "__main__":
    main({f.__name__: f for f in (paranoid, capabilities, seccomp, users, descriptors, locked_memory,
                                  kernel_names, throttled, threads)})
