"""The capabilities of packaging/kubernetes/job/job.yaml: with all of them everything is seen, and without any one of them what
docs/install.md says is not."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from packages_root import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = ROOT / "packaging/kubernetes/job/job.yaml"
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
            started.append(subprocess.Popen(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", program, what, "1000"]))
        time.sleep(0.5)
        (place / "deleted").unlink()
        yield [p.pid for p in started]
    finally:
        for p in started:
            p.kill()
            p.wait()
        shutil.rmtree(place)


def record(program, pids, capabilities):
    """(exit status, stacks, what was said) with these capabilities."""
    bounding = "--bounding-set=-all," + ",".join("+" + c.lower() for c in capabilities)
    r = subprocess.run(["setpriv", bounding, "--inh-caps=-all", program, "-v", "-F", "199", "-d", "1.5", "-p", ",".join(map(str, pids)),
                        "-f", "folded", "-o", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=120)
    return r.returncode, r.stdout, r.stderr


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


def rights(program):
    held = re.search(r"^ +add: \[(.*)\]$", JOB.read_text(), re.M).group(1).split(", ")
    check("each capability of the Job is tried", sorted(held) == sorted(SEEN), held)
    with targets() as pids:
        got = record(program, pids, held)
        missing = [c for c in held if not SEEN[c](*got)]
        check("with the Job's capabilities everything is seen", not missing, "%s\n%s\n%s" % (missing, *got[1:]))
        for c in held:
            got = record(program, pids, [h for h in held if h != c])
            check("the Job needs %s" % c, not SEEN[c](*got), "%d\n%s\n%s" % got)
