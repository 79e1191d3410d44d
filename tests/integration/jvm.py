"""What the integration tests share: JDKs, Java programs, jsampler runs, folded stacks."""

import atexit
import collections
import contextlib
import ctypes
import faulthandler
import fcntl
import math
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# For what takes a second: whole machines were seen to stand still for a minute.
PATIENCE = 240
# JSAMPLER_STRICT=1: the bars of a quiet machine, and each in the first recording.
STRICT = os.environ.get("JSAMPLER_STRICT") == "1"
# How often something is recorded whose shares depend on what else the machine does.
TRIES = 1 if STRICT else 3
# A build with sanitizers is there for memory errors and races. It is slow, and shares tell how slow.
# "address,undefined", "thread", or "".
SANITIZED = os.environ.get("JSAMPLER_SANITIZED", "")
# How often one recording of a product that just meets a bar may miss it by chance; cubed by the tries.
FALSE_ALARM = 1e-3

# Before ctest kills a test that hangs, it says where.
if os.environ.get("JSAMPLER_TEST_TIMEOUT"):
    faulthandler.dump_traceback_later(int(os.environ["JSAMPLER_TEST_TIMEOUT"]) - 10, exit=True)

Jdk = collections.namedtuple("Jdk", "major home")


def die_with_parent():
    """In the child: whatever ends the test ends its JVM too."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def can_unshare():
    """Whether this user may make user and mount namespaces. Root may, but in a chroot: user namespaces are refused
    there (user_namespaces(7)), and unless / is a mount point so is making mounts private (mount_namespaces(7))."""
    return all(subprocess.run(["unshare", how, "true"], stderr=subprocess.DEVNULL).returncode == 0
               for how in ("--user", "--mount"))


def may_sample():
    """Whether the kernel lets users without privileges sample their own processes."""
    return int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 2


def may_be_prompt():
    """Whether jsampler may put its readers into the real-time class."""
    return os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] > 0


def find_jdks(named=None):
    """{major: Jdk} of /usr/lib/jvm, or of what `named` or JSAMPLER_JDKS names: homes, or folders of homes (what
    scripts/jdks brought), separated by colons."""
    named = named or os.environ.get("JSAMPLER_JDKS") or "/usr/lib/jvm"
    dirs = []
    for d in named.split(":"):
        is_home = os.path.exists(os.path.join(d, "bin/java"))
        dirs += [d] if is_home else sorted(map(str, pathlib.Path(d).glob("*")))
    found = {}
    for d in dirs:
        home = pathlib.Path(d).resolve()
        if not (home / "bin/java").exists() or not (home / "bin/javac").exists():
            continue
        major = jdk_major(home)
        if major and major not in found:
            found[major] = Jdk(major, home)
    return found


def jdk_major(home):
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return 0
    m = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    return int(m.group(1)) if m else 0


def pick_jdk(wanted):
    """'17', '21,25' (the first that is here), a home, or None: the lowest. Exits when there is none."""
    jdks = find_jdks()
    if wanted and "/" in wanted:
        home = pathlib.Path(wanted).resolve()
        return Jdk(jdk_major(home), home)
    if not jdks:
        sys.exit("no JDK found in /usr/lib/jvm (nor named by JSAMPLER_JDKS)")
    if not wanted:
        return jdks[min(jdks)]
    for w in wanted.split(","):
        if int(w) in jdks:
            return jdks[int(w)]
    print("skipped: no JDK", wanted, "here")
    sys.exit(SKIP)


def build_dir():
    return pathlib.Path(os.environ.get("JSAMPLER_BUILD", ROOT / "build/release"))


def jsampler_path():
    path = os.environ.get("JSAMPLER") or str(build_dir() / "sampler/cli/jsampler")
    if not os.access(path, os.X_OK):
        sys.exit("no jsampler at %s (scripts/test builds it; JSAMPLER names another)" % path)
    return path


PUBLIC = {}  # (file or folder, its time): the copy


def public(path):
    """A copy of a file or folder that every user can reach, which the checkout (below /root) need not be. It is removed
    when the test ends."""
    path = pathlib.Path(path)
    key = (path, path.stat().st_mtime_ns)
    if key not in PUBLIC:
        # Not in /tmp, over which some tests mount another one.
        top = pathlib.Path(tempfile.mkdtemp(prefix="jsampler-public-", dir="/var/tmp"))
        atexit.register(remove_public, top, os.getpid())
        copy = top / path.name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
        for p in (top, copy, *copy.rglob("*")):
            p.chmod(0o755 if os.access(p, os.X_OK) else 0o644)
        PUBLIC[key] = copy
    return PUBLIC[key]


def remove_public(top, pid):
    if os.getpid() == pid:  # a fork leaves it
        shutil.rmtree(top, ignore_errors=True)


@contextlib.contextmanager
def to_be_made(out, newest):
    """Whether the file or folder is older than that time, or not there. Tests that run side by side share what they make: until
    the block ends, the others wait."""
    def is_old():
        return not out.exists() or out.stat().st_mtime < newest

    if not is_old():
        yield False
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out.with_name(".%s.lock" % out.name), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield is_old()


def compile_java(jdk, name, options=()):
    """Class files of tests/java/NAME made by that JDK; compiled again when a source is newer."""
    sources = sorted((ROOT / "tests/java" / name).glob("*.java"))
    out = build_dir() / "java" / ("%s-%d" % (name.replace("/", "-"), jdk.major))
    with to_be_made(out, max(s.stat().st_mtime for s in sources)) as wanted:
        if wanted:
            javac(jdk, name, sources, out, options)
    return out


def javac(jdk, name, sources, out, options):
    tmp = tempfile.mkdtemp(dir=str(out.parent))
    os.chmod(tmp, 0o755)
    run = subprocess.run([str(jdk.home / "bin/javac"), "-nowarn", *options, "-d", tmp, *map(str, sources)],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode:
        shutil.rmtree(tmp)
        sys.exit("javac %s: %s" % (name, run.stdout))
    shutil.rmtree(out, ignore_errors=True)
    os.rename(tmp, out)
    os.utime(out)


def compile_library(jdk, source, name, options=()):
    """A shared library of one C file in the checkout, for that JDK; skips where there is no jni.h."""
    source = ROOT / source
    out = build_dir() / "java" / ("%s-%d.so" % (name, jdk.major))
    include = jdk.home / "include"
    if not (include / "jni.h").exists():
        print("skipped: no jni.h in", jdk.home)
        sys.exit(SKIP)
    with to_be_made(out, source.stat().st_mtime) as wanted:
        if wanted:
            subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", *options,
                            "-I%s" % include, "-I%s/linux" % include, "-o", str(out), str(source), "-pthread"],
                           check=True)
    return out


def jar_of(classes):
    """A jar file of these class files, beside them: archives of classes (CDS, AOT) take no folders."""
    jar = classes.with_name(classes.name + ".jar")
    if not jar.exists() or jar.stat().st_mtime < classes.stat().st_mtime:
        with tempfile.NamedTemporaryFile(dir=str(jar.parent), delete=False) as tmp:
            with zipfile.ZipFile(tmp, "w") as z:
                for f in sorted(classes.rglob("*.class")):
                    z.write(f, f.relative_to(classes))
        os.chmod(tmp.name, 0o644)
        os.rename(tmp.name, jar)
    return jar


def forget_attach(pid):
    """A JVM that is killed leaves the socket of its attach listener, in the way of a later process of its number."""
    try:
        os.unlink("/tmp/.java_pid%d" % pid)
    except OSError:
        pass


class Jvm:
    """A Java program that prints "ready"; killed when the with-block ends."""

    def __init__(self, jdk, classes, main, args=(), flags=(), env=None, stderr=None, who=None):
        """who: of subprocess.Popen, for another user."""
        # -Xshare:auto and friends are the JVM's business; what the environment adds is not.
        env = {k: v for k, v in (env or os.environ).items()
               if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")}
        if any(f.startswith(("-XX:SharedArchiveFile=", "-XX:AOTCache=")) for f in flags):
            classes = jar_of(classes)
        self.argv = [str(jdk.home / "bin/java"), *flags, "-cp", str(classes), main, *args]
        self.proc = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=stderr, env=env, preexec_fn=die_with_parent, bufsize=0, **(who or {}))
        self.pid = self.proc.pid
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        forget_attach(self.pid)
        self.proc.stdin.close()
        self.proc.stdout.close()

    def line(self, timeout):
        """The next line of its output; None at the end of it."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.proc.stdout], [], [], left)[0]:
                raise TimeoutError("%s: no output in %d s" % (" ".join(self.argv), timeout))
            more = os.read(self.proc.stdout.fileno(), 65536)
            if not more:
                return None
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode(errors="replace")

    def wait_ready(self, timeout=PATIENCE):
        while True:
            line = self.line(timeout)
            if line is None:
                raise RuntimeError("%s ended early" % " ".join(self.argv))
            if line.split(" ")[0] == "ready":
                return line

    def tell(self, word):
        self.proc.stdin.write((word + "\n").encode())


def suspending(pid):
    """For how many targets this jsampler has begun to stop threads: each takes a thread, or a process, whose questions a thread
    answers."""
    return sum(comm in ("jsampler-stop\n", "jsampler-frozen\n") for comm in texts_of(pid, "comm"))


def tracer_of(pid):
    """The process that stops threads for this jsampler: a child of its, or itself. None: there is none yet."""
    if "jsampler-stop\n" in texts_of(pid, "comm"):
        return pid
    children = (int(c) for text in texts_of(pid, "children") for c in text.split())
    return next((c for c in children if "jsampler-stop\n" in texts_of(c, "comm")), None)


def texts_of(pid, name):
    """That file of each of its threads; those that end meanwhile are left out."""
    found = []
    try:
        tids = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return found
    for tid in tids:
        try:
            found.append(pathlib.Path("/proc/%d/task" % pid, tid, name).read_text())
        except OSError:
            pass
    return found


def cpu_seconds(pid):
    """Of all its threads so far; without end when it is gone."""
    try:
        fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(condition, seconds=PATIENCE, pause=0.02):
    """Whether it came true in that time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def burn(pid, seconds, limit=PATIENCE):
    """Lets a process use that much CPU time, however busy the machine is."""
    start = cpu_seconds(pid)
    return wait_until(lambda: cpu_seconds(pid) >= start + seconds, limit)


def odds(count, mean):
    """Of so many events or more where `mean` are expected (Poisson)."""
    if mean > 400:
        return 0.5 * math.erfc((count - 0.5 - mean) / math.sqrt(2 * mean))
    below, term = 0.0, math.exp(-mean)
    for i in range(int(count)):
        below += term
        term *= mean / (i + 1)
    return max(0.0, 1 - below)


def too_many(count, share, whole):
    """More than that share of the whole, and not by chance."""
    mean = share * whole
    return count > mean and (STRICT or odds(count, mean) < FALSE_ALARM)


class Recording:
    """What one jsampler run left: stacks and the facts of -v."""

    def __init__(self, status, folded, messages):
        self.status, self.folded, self.messages = status, folded, messages

    def fact(self, pattern, default=None):
        """The number (or numbers) that a pattern captures in the messages."""
        m = re.search(pattern, self.messages)
        if not m:
            return default
        values = tuple(float(g) for g in m.groups())
        return values[0] if len(values) == 1 else values


def record(pid, *options, timeout=600, check=True):
    """jsampler -p PID ... -v; folded stacks in memory."""
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        out = os.path.join(tmp, "out.folded")
        run = subprocess.run([jsampler_path(), "-p", str(pid), "-v", "-o", out, *map(str, options)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=timeout, preexec_fn=die_with_parent)
        messages = run.stderr.decode(errors="replace")
        if check and run.returncode:
            sys.exit("jsampler: exit status %d\n%s" % (run.returncode, messages))
        folded = []
        if os.path.exists(out):
            # What is no UTF-8 arrives as lone surrogates, so that a test can see it.
            with open(out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
                folded = list(parse_folded(f))
        return Recording(run.returncode, folded, messages)


def parse_folded(lines):
    """([frame, ...] root first, count) of each line."""
    for line in lines:
        stack, _, count = line.rstrip("\n").rpartition(" ")
        if stack:
            yield stack.split(";"), int(count)


THREAD = re.compile(r"\[(?:(.*) )?tid=(\d+)\]$")


def thread_of(frames):
    """(name, tid, frames behind it) of a stack recorded with --threads."""
    m = THREAD.match(frames[0]) if frames else None
    return (m.group(1) or "", int(m.group(2)), frames[1:]) if m else (None, 0, frames)


MARKS = ("[incomplete]", "[resynchronised]", "[frozen]", "[truncated]", "[storage limit]")


def is_sampled(frames):
    """False for CPU time that no sample stands for: it has a name, but no stack."""
    return not (frames and frames[-1].startswith("[not sampled: "))


def is_complete(frames):
    return not any(f in MARKS for f in frames[:4])
