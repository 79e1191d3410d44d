"""The rights of packaging/kubernetes/job/job.yaml: in the container that it describes everything is seen, and without any one capability
what docs/install.md says is not. An ephemeral container has the same, and sees the container beside it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import packages_container
from packages_root import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = ROOT / "packaging/kubernetes/job/job.yaml"
EPHEMERAL = ROOT / "packaging/kubernetes/debug/container.json"
USER = 64001  # whose processes are sampled


def compiled(place, name, function="spin_here"):
    subprocess.run(["gcc", "-O1", "-pthread", "-DSPIN=" + function, "-o", place / name, ROOT / "tests/native/small_targets.c"], check=True)
    os.chown(place / name, USER, USER)
    os.chmod(place / name, 0o700)
    return place / name


@contextlib.contextmanager
def targets():
    """Programs of a user that nobody else may read; one of them has been deleted."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="jsampler-test-", dir="/tmp"))
    os.chown(place, USER, USER)
    started = []
    try:
        for program, what in ((compiled(place, "private", "private_here"), "spin"), (compiled(place, "deleted", "deleted_here"), "spin"),
                              (place / "private", "zero"), (place / "private", "brief")):
            started.append(subprocess.Popen(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", program, what, "1000"],
                                            start_new_session=True))
        time.sleep(0.5)
        (place / "deleted").unlink()
        yield [p.pid for p in started]
    finally:
        for p in started:
            os.killpg(p.pid, signal.SIGKILL) # with what it has started
            p.wait()
        shutil.rmtree(place)


def record(root, context, pids):
    """(exit status, stacks, what was said) in that container of the image."""
    r = subprocess.run(packages_container.command(root, context, "/usr/bin/jsampler", "-v", "-F", "199", "-d", "1.5", "-p", ",".join(map(str, pids)),
                                                  "-f", "folded", "-o", "/profiles/it.folded"),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    profile = root / "profiles/it.folded"
    stacks = profile.read_text() if profile.exists() else ""
    profile.unlink(missing_ok=True)
    return r.returncode, stacks, r.stdout


def weight(stacks, part):
    return sum(int(line.rsplit(" ", 1)[1]) for line in stacks.splitlines() if part in line)


def brief_threads(stacks):
    """True: most of their time has samples."""
    return weight(stacks, "brief_here") > weight(stacks, "[not sampled: short-lived threads]")


def kernel_names(stacks):
    return bool(re.search(r";(?!\[kernel\])[\w.]+_\[k\]", stacks))


SEEN = {
    "PERFMON": lambda status, stacks, said: "_[k]" in stacks,
    "BPF": lambda status, stacks, said: brief_threads(stacks),
    "SYS_PTRACE": lambda status, stacks, said: status == 0,
    "DAC_READ_SEARCH": lambda status, stacks, said: status == 0,
    "CHECKPOINT_RESTORE": lambda status, stacks, said: "deleted_here" in stacks,
    "SYSLOG": lambda status, stacks, said: kernel_names(stacks),
    "SETUID": lambda status, stacks, said: "private_here" in stacks,
    "SETGID": lambda status, stacks, said: "parsed with uid 0" not in said,
}


def rights(root):
    """root: the image's."""
    context = packages_container.security_context(JOB)
    held = context["capabilities"]
    check("each capability of the Job is tried", sorted(held) == sorted(SEEN), held)
    with targets() as pids:
        got = record(root, context, pids)
        missing = [c for c in held if not SEEN[c](*got)]
        check("with the Job's rights everything is seen", not missing, "%s\n%s\n%s" % (missing, *got[1:]))
        for c in held:
            got = record(root, dict(context, capabilities=[h for h in held if h != c]), pids)
            check("the Job needs %s" % c, not SEEN[c](*got), "%d\n%s\n%s" % got)
        status, stacks, out = record(root, dict(context, volumes=[]), pids)
        check("the Job needs /profiles, and says so", status and not stacks and "Read-only file system" in out, "%d\n%s" % (status, out))


@contextlib.contextmanager
def pod():
    """A container's first process, in PIDs and mounts of its own."""
    with targets() as pids:
        program = os.readlink("/proc/%d/exe" % pids[0])
        unshare = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "setpriv", "--reuid", str(USER), "--regid", str(USER),
                                    "--clear-groups", program, "spin", "1000"], stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            time.sleep(0.5)
            yield pathlib.Path("/proc/%d/task/%d/children" % (unshare.pid, unshare.pid)).read_text().split()[0]
        finally:
            os.killpg(unshare.pid, signal.SIGKILL) # --kill-child ends no process that has changed its uid
            unshare.wait()


def ephemeral(root):
    """What `kubectl debug --target` does with that file: the PIDs of one container, the files of the image."""
    custom = json.loads(EPHEMERAL.read_text())["securityContext"]
    context = {"capabilities": custom["capabilities"]["add"], "volumes": []}
    job = packages_container.security_context(JOB)
    check("an ephemeral container has the Job's capabilities", context["capabilities"] == job["capabilities"] and not custom["privileged"], custom)
    with pod() as first:
        r = subprocess.run(["nsenter", "--target", first, "--pid", *packages_container.command(
            root, context, "/usr/bin/jsampler", "-q", "-p", "1", "-d", "1", "-f", "folded", "-o", "-")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        check("an ephemeral container profiles the one beside it", r.returncode == 0 and "private_here" in r.stdout and not r.stderr,
              "%d\n%s\n%s" % (r.returncode, r.stdout, r.stderr))
