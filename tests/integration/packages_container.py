"""A container as a kubelet and its runtime make it for the manifests in packaging/kubernetes: namespaces of its own but for PIDs, a
root that is read-only, new instances of /proc and /sys with the usual parts covered, a small /dev, no new privileges, and of
root's capabilities those that the manifest adds.

usage: packages_container.py OPTIONS -- COMMAND..., where OPTIONS are JSON: root, capabilities, volumes (what may be written), uid"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWNET = 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x40000000
MNT_DETACH = 2
SYS_PIVOT_ROOT = 155
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
NUMBERS = {"CHOWN": 0, "DAC_READ_SEARCH": 2, "KILL": 5, "SETGID": 6, "SETUID": 7, "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38, "BPF": 39,
           "CHECKPOINT_RESTORE": 40}
# As containerd's and CRI-O's defaults have them.
COVERED = ("proc/acpi", "proc/kcore", "proc/keys", "proc/latency_stats", "proc/timer_list", "proc/timer_stats", "proc/sched_debug",
           "proc/scsi", "sys/firmware", "sys/devices/virtual/powercap")
READ_ONLY = ("proc/bus", "proc/fs", "proc/irq", "proc/sys", "proc/sysrq-trigger")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def security_context(manifest):
    """What the container of that manifest may do; all of it has to be there."""
    text = pathlib.Path(manifest).read_text()
    for line in ("hostPID: true", "runAsUser: 0", "privileged: false", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true",
                 "drop: [ALL]", "seccompProfile: {type: Unconfined}"):
        if line not in text:
            sys.exit("packages: %s does not have %s" % (manifest, line))
    return {"capabilities": re.search(r"^ +add: \[(.*)\]$", text, re.M).group(1).split(", "),
            "volumes": re.findall(r"mountPath: (/[^}]+)\}", text)}


def command(root, context, *args):
    """The command that runs the arguments in that container."""
    for d in ("proc", "sys", "dev", *(v[1:] for v in context["volumes"])):
        pathlib.Path(root, d).mkdir(parents=True, exist_ok=True)
    return [sys.executable, "-B", __file__, json.dumps(dict(context, root=str(root))), "--", *map(str, args)]


def mount(*args):
    subprocess.run(["mount", *map(str, args)], check=True)


def call(name, *args):
    if getattr(LIBC, name)(*args):
        raise OSError(ctypes.get_errno(), "%s: %s" % (name, os.strerror(ctypes.get_errno())))


def mount_system(root):
    mount("-t", "proc", "-o", "nosuid,nodev,noexec", "proc", root / "proc")
    mount("-t", "sysfs", "-o", "ro,nosuid,nodev,noexec", "sysfs", root / "sys")
    mount("-t", "tmpfs", "-o", "mode=755,size=64k", "tmpfs", root / "dev")
    for d in DEVICES:
        (root / "dev" / d).touch()
        mount("--bind", "/dev/" + d, root / "dev" / d)
    for p in COVERED:
        if (root / p).is_dir():
            mount("-t", "tmpfs", "-o", "ro,size=0", "tmpfs", root / p)
        elif (root / p).exists():
            mount("--bind", "/dev/null", root / p)
    for p in READ_ONLY:
        if (root / p).exists():
            mount("--bind", root / p, root / p)
            mount("-o", "remount,bind,ro", root / p)


def enter(root, volumes):
    call("unshare", CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET)
    mount("--make-rprivate", "/")
    mount("--bind", root, root)
    for v in volumes:
        mount("--bind", root / v[1:], root / v[1:])
    mount_system(root)
    mount("-o", "remount,bind,ro", root)
    os.chdir(root)
    call("syscall", SYS_PIVOT_ROOT, b".", b".")
    call("umount2", b".", MNT_DETACH)
    os.chdir("/")


def give_up(capabilities):
    last = int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text())
    kept = {NUMBERS[c] for c in capabilities}
    for cap in range(last + 1):
        if cap not in kept:
            call("prctl", PR_CAPBSET_DROP, cap, 0, 0, 0)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main():
    options, program = json.loads(sys.argv[1]), sys.argv[3:]
    enter(pathlib.Path(options["root"]), options["volumes"])
    give_up(options["capabilities"])
    os.execve(program[0], program, {"PATH": "/usr/bin:/bin"})


if __name__ == "__main__":
    main()
