"""What the tests of the command line share: checks that are counted, other users, a pty of 80 columns."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

import jvm

JS = jvm.jsampler_path()
NOBODY = 65534
failures = []


def check(what, ok, detail=""):
    print("%s %s" % ("ok  " if ok else "FAIL", what))
    if not ok:
        failures.append(what)
        print("     " + str(detail)[:4000].replace("\n", "\n     "))
    return ok


def finish():
    print("%d failures" % len(failures))
    sys.exit(1 if failures else 0)


def can_be_nobody():
    return os.geteuid() == 0 and shutil.which("setpriv") is not None


def nobody(argv):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *argv]


def run(args, wrap=lambda a: a, env=None, timeout=jvm.PATIENCE):
    return subprocess.run(wrap([JS, *map(str, args)]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=timeout,
                          env={**os.environ, **(env or {})}, preexec_fn=jvm.die_with_parent)


def on_terminal(args, env=None, columns=80, cwd="."):
    """(exit status, output of stdout and stderr) on a terminal of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        jvm.die_with_parent()
        os.environ.update(env or {})
        os.chdir(cwd)
        os.execv(JS, [JS, *map(str, args)])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    out = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        out += more
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode(errors="replace")


def go_env(tmp):
    """Go's, with nothing of this user's. From Go 1.25 on, `go tool pprof` is compiled when it is first run, which takes a
    minute of CPU time; so what Go compiles is kept in the build tree."""
    return dict(os.environ, HOME=tmp, PPROF_TMPDIR=tmp, GOCACHE=str(jvm.ROOT / "build/go-cache"), GO111MODULE="off", GOFLAGS="",
                GOTOOLCHAIN="local")


def columns_of(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def widest(text):
    return max((columns_of(line.rstrip("\r")) for line in text.split("\n")), default=0)


def is_harmless(text, more=""):
    """No control character but line ends (and `more`), no bidirectional one."""
    bad = [c for c in text if c not in "\n" + more and
           (unicodedata.category(c) == "Cc" or unicodedata.bidirectional(c) in
            ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or c in "\u200e\u200f\u061c\u2028\u2029")]
    return not bad


class Busy(jvm.Jvm):
    """tests/java/cli/Busy, ready; as another user with wrap=nobody."""

    def __init__(self, jdk, wrap=lambda a: a, flags=(), args=(), exec_name=None):
        classes = jvm.compile_java(jdk, "cli")
        java = str(jdk.home / "bin/java")
        env = {k: v for k, v in os.environ.items()
               if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")}
        # The class path is copied: the build tree may be closed to other users.
        self.dir = tempfile.mkdtemp(prefix="jsampler-busy-", dir="/var/tmp")
        shutil.copytree(classes, self.dir + "/classes")
        os.chmod(self.dir, 0o755)
        self.argv = wrap([java, "-Xmx64m", "-XX:CICompilerCount=2", *flags, "-cp", self.dir + "/classes",
                          "Busy", *args])
        self.proc = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
                                     preexec_fn=jvm.die_with_parent, bufsize=0, cwd="/")
        self.pid = self.proc.pid
        self.buffer = b""
        self.wait_ready()

    def stop(self):
        super().stop()
        shutil.rmtree(self.dir, ignore_errors=True)
