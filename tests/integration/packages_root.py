"""For packages.py and its parts: counting, and a root to run things in."""

import pathlib
import re
import subprocess
import threading

counts = {"passed": 0, "failed": 0}
one_at_a_time = threading.Lock()


def check(what, ok, got=""):
    with one_at_a_time:
        counts["passed" if ok else "failed"] += 1
        print("packages: %s %s" % ("passed" if ok else "FAILED", what), flush=True)
        if not ok:
            print(got, flush=True)


def run(*args, timeout=180, **kw):
    r = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=timeout, **kw)
    return r.returncode, r.stdout


class BareRoot:
    """A root with the host's /proc and /sys; removed at the end."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        for d in ("proc", "sys", "dev", "tmp"):
            (self.path / d).mkdir(exist_ok=True)

    def __enter__(self):
        for d in ("proc", "sys", "dev"):
            subprocess.run(["mount", "--rbind", "/" + d, self.path / d], check=True)
        return self

    def __exit__(self, *_):
        for d in ("proc", "sys", "dev"):
            subprocess.run(["umount", "--recursive", "--lazy", self.path / d], check=True)

    def run(self, *args):
        return run("chroot", self.path, *args)

    def records(self, what, program, java):
        """Stacks of the program, with and without the bridge."""
        for options in ((), ("--bridge", "on")):
            status, out = self.run(program, "-p", java.pid, "-d", 2, *options, "-o", "/tmp/out.folded")
            folded = self.path / "tmp/out.folded"
            text = folded.read_text() if folded.exists() else ""
            folded.unlink(missing_ok=True)
            check(" ".join((what, "records a JVM", *options)), status == 0 and "Truth.k" in text, "%d\n%s" % (status, out.decode()))

    def lists(self, what, program):
        status, out = self.run(program, "list")
        check("%s lists the JVM" % what, status == 0 and b" Packaged" in out, out)


def distribution(root):
    text = pathlib.Path(root, "etc/os-release").read_text()
    return re.search('(?m)^PRETTY_NAME="?([^"\n]*)', text).group(1)


def package_files(root):
    return sorted(str(p.relative_to(root)) for p in pathlib.Path(root).rglob("*jsampler*") if not str(p).startswith("%s/proc" % root))
