"""The rights of packaging/kubernetes/daemon/daemonset.yaml: in the container that it describes the image's daemon keeps everything, and
without any one capability or volume what docs/install.md says is missing."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import jvm
import packages_container
from packages_root import check, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
DAEMONSET = ROOT / "packaging/kubernetes/daemon/daemonset.yaml"
USER = 64002  # of the JVM
CONFIG = """[sampling]
frequency = 99
cpu_limit = 100%%
[store]
directory = /var/lib/%s
[http]
socket = /run/%s/s.sock
[rule ours]
user = %d
[rule others]
pid = *
sample = no
"""


@contextlib.contextmanager
def target(jdk, classes):
    """A JVM of a user that nobody else may read, with a library that has been deleted."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="jsampler-test-", dir="/tmp"))
    library = place / "libpreloaded.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-pthread", "-o", library, ROOT / "tests/native/preloaded.c"], check=True)
    os.chmod(place, 0o755)
    java = subprocess.Popen(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "env", "LD_PRELOAD=%s" % library,
                             os.path.join(jdk.home, "bin/java"), "-Xmx64m", "-cp", classes, "Truth", "seconds=1000", "warmup=2", "threads=1"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        time.sleep(3)
        library.unlink()
        yield java.pid
    finally:
        java.kill()
        java.wait()
        shutil.rmtree(place)


class Daemon:
    """The image's, in the container that the manifest describes, less what it is to lack."""

    def __init__(self, root, context, lacks=""):
        name = (lacks or "all").lower().replace("/", "-").strip("-")
        self.root, self.name = root, name
        config = root / "etc" / (name + ".conf")
        config.write_text(CONFIG % (name, name, USER))
        self.log = tempfile.TemporaryFile()
        context = {what: [c for c in all_of if c != lacks] for what, all_of in context.items()}
        self.process = subprocess.Popen(packages_container.command(root, context, "/usr/bin/jsampler", "daemon", "--config", "/etc/%s.conf" % name),
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.programs, self.ended, self.stacks, self.said = False, False, "", ""

    def look(self):
        """Does the process that samples have BPF programs?"""
        for worker in self.children():
            with contextlib.suppress(OSError):
                self.programs |= any("bpf-prog" in os.readlink(f) for f in pathlib.Path("/proc/%s/fd" % worker).iterdir())

    def end(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
            self.ended = True
        for child in self.children():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def children(self):
        with contextlib.suppress(OSError):
            return [int(c) for c in pathlib.Path("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)).read_text().split()]
        return []

    def read(self, program):
        """What it has kept, and what it said."""
        self.stacks = run(program, "convert", "--store", self.root / "var/lib" / self.name, "--since", "1h", "-f", "folded", "-o", "-")[1].decode()
        self.log.seek(0)
        self.said = self.log.read().decode()
        return "%s: ended %s, programs %s\n%s\n%s" % (self.name, self.ended, self.programs, self.said, self.stacks[:3000])


SEEN = {
    "PERFMON": lambda d: "_[k]" in d.stacks,
    "BPF": lambda d: d.programs,
    "SYS_PTRACE": lambda d: "Truth.k" in d.stacks,
    "DAC_READ_SEARCH": lambda d: "Truth.k" in d.stacks,
    "CHECKPOINT_RESTORE": lambda d: "removed_here" in d.stacks,
    "SYSLOG": lambda d: re.search(r";(?!\[kernel\])[\w.]+_\[k\]", d.stacks),
    "SETUID": lambda d: "Truth.k" in d.stacks,
    "SETGID": lambda d: "Truth.k" in d.stacks,
    "CHOWN": lambda d: "Truth.k" in d.stacks,
    "KILL": lambda d: d.ended and "left behind" not in d.said,
    "/var/lib": lambda d: "Truth.k" in d.stacks,
    "/run": lambda d: "Truth.k" in d.stacks,
}
# Without these, the rest is still there.
ONLY = ("BPF", "CHECKPOINT_RESTORE", "SYSLOG", "KILL")


def kept(daemons, program, seconds):
    """Runs them all for that time, and reads what each has kept."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1)
        for d in daemons:
            if d.process.poll() is None:
                d.look()
    for d in daemons:
        d.end()
    for d in daemons:
        d.wait()
    return [d.read(program) for d in daemons]


def daemon_rights(root, program, jdk):
    """root: the image's; program: one that reads the history."""
    context = packages_container.security_context(DAEMONSET)
    held = context["capabilities"] + context["volumes"]
    check("each capability and volume of the DaemonSet is tried", sorted(held) == sorted(SEEN), held)
    with target(jdk, jvm.compile_java(jdk, "truth")):
        daemons = [Daemon(root, context)] + [Daemon(root, context, lacks) for lacks in held]
        got = kept(daemons, program, 40)
    missing = [c for c in held if not SEEN[c](daemons[0])]
    check("with the DaemonSet's rights everything is kept", not missing, "%s\n%s" % (missing, got[0]))
    for c, d, text in zip(held, daemons[1:], got[1:]):
        check("the DaemonSet needs %s" % c, not SEEN[c](d) and (c not in ONLY or "Truth.k" in d.stacks), text)
