"""What the environments*.py tests share: checks, users, system settings, odd targets."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import jvm

JS = str(jvm.public(jvm.jsampler_path()))
NOBODY, STRANGER = 65534, 65533
MARKS = jvm.MARKS
burn = jvm.burn
failures, skipped = [], []


def check(what, ok, detail=""):
    print("%s %s" % ("ok  " if ok else "FAIL", what), flush=True)
    if not ok:
        failures.append(what)
        print("     " + str(detail)[:3000].replace("\n", "\n     "), flush=True)


def note(text):
    """What cannot be tried here: visible, but no skip of the whole test."""
    print("note: %s" % text, flush=True)


def left_out(reason):
    """A part that cannot be tried here: the whole test counts as skipped, which tests/skips.txt has to allow."""
    print("skipped: %s" % reason, flush=True)
    skipped.append(reason)


def main(parts, of_users=()):
    """Runs the parts that the command line names, or all; as an ordinary user only those of `of_users`."""
    wanted = sys.argv[1:] or list(parts)
    if os.geteuid() != 0:
        for name in set(wanted).difference(of_users):
            note("%s needs root" % name)
        wanted = [name for name in wanted if name in of_users]
        if not wanted or not jvm.may_sample():
            print("skipped: needs root" + (" here: users may not sample their own processes" if wanted else ""))
            sys.exit(jvm.SKIP)
    for name in wanted:
        started = time.monotonic()
        parts[name]()
        print("-- %s: %.1f s" % (name, time.monotonic() - started), flush=True)
    print("%d failures" % len(failures))
    sys.exit(1 if failures else jvm.SKIP if skipped else 0)


# --- jsampler


class Run:
    """One finished jsampler."""

    def __init__(self, args, status, out, err, seconds):
        self.args, self.status, self.out, self.err = args, status, out, err
        self.seconds = seconds
        self.folded = list(jvm.parse_folded(out.splitlines()))

    def __str__(self):
        return "%s -> %s after %.1f s\n%s\n%s" % (" ".join(self.args), self.status, self.seconds,
                                                  self.err, self.out[:600])

    def lines(self):
        return self.err.splitlines()

    def says(self, pattern):
        return re.search(pattern, self.err) is not None

    def refused(self, pattern):
        """Exit status 1, one line that matches, no data."""
        return (self.status == 1 and len(self.lines()) == 1 and self.lines()[0].startswith("jsampler: ") and
                self.says(pattern) and not self.out)

    def samples(self):
        return sum(n for _, n in self.folded)

    def share(self, pattern, of=None):
        """Of the samples: those with a frame that matches."""
        found = sum(n for frames, n in self.folded if any(re.search(pattern, f) for f in frames))
        return found / max(1, of or self.samples())

    def has(self, pattern):
        return self.share(pattern) > 0

    def complete(self):
        """Share of the samples with Java frames whose stacks are complete."""
        java = [(f, n) for f, n in self.folded if any(re.search(r"_\[[0jci1]\]$", x) for x in f)]
        good = sum(n for f, n in java if jvm.is_complete(f))
        return good / max(1, sum(n for _, n in java))


def capabilities():
    """The names of those that this kernel knows and setpriv can name."""
    text = subprocess.run(["setpriv", "--list-caps"], stdout=subprocess.PIPE, text=True).stdout
    last = int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text())
    return text.split()[:last + 1]


def prefix_of(uid, refuse, keep_caps):
    prefix = []
    if refuse:
        prefix = [str(native("refuse")), *refuse, "--"]
    if uid is not None:
        prefix = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *prefix]
    if keep_caps is not None:
        dropped = ",".join("-" + c for c in capabilities() if c not in keep_caps)
        prefix = ["setpriv", "--bounding-set", dropped, *prefix]
    return prefix


def run(*args, uid=None, refuse=(), keep_caps=None, limits=(), timeout=jvm.PATIENCE, wrap=(), env=None):
    """jsampler with these arguments; limits: [(resource, value)], soft and hard."""
    argv = [*prefix_of(uid, refuse, keep_caps), *wrap, JS, *map(str, args)]

    def prepare():
        jvm.die_with_parent()
        for what, value in limits:
            resource.setrlimit(what, (value, value))

    started = time.monotonic()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=prepare, env=env) as p:
        try:
            out, err = p.communicate(timeout=timeout)
            status = p.returncode
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            status = "timeout"
    return Run([str(a) for a in args], status, out.decode(errors="replace"), err.decode(errors="replace"),
               time.monotonic() - started)


def longer(args, factor):
    """The same command line with a longer -d."""
    args = [str(a) for a in args]
    at = args.index("-d") + 1
    args[at] = "%g" % (float(args[at]) * factor)
    return args


def check_run(what, good, *args, **kw):
    """A run that is as good(run) says. Where the target got no CPU time, few samples decide: up to three runs,
    each four times as long. One that fails, crashes or is refused is not repeated."""
    r = run(*args, **kw)
    for i in range(1, jvm.TRIES):
        if r.status != 0 or good(r):
            break
        note("%s: again, longer, after %d samples" % (what, r.samples()))
        r = run(*longer(args, 4 ** i), **kw)
    check(what, good(r), r)
    return r


class Background:
    """A jsampler that runs until the with-block has told it to end."""

    def __init__(self, *args, wrap=()):
        self.args = [str(a) for a in args]
        self.started, self.wrapped = time.monotonic(), bool(wrap)
        self.proc = subprocess.Popen([*wrap, JS, *self.args], start_new_session=self.wrapped, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, preexec_fn=jvm.die_with_parent)
        if not wrap:
            self.wait_for_events()

    def wait_for_events(self, limit=jvm.PATIENCE):
        """Its drain thread starts when everything is open and the privileges are gone."""
        pid = child_of(self.proc.pid) if self.wrapped else self.proc.pid
        jvm.wait_until(lambda: "jsampler-drain\n" in jvm.texts_of(pid, "comm") or self.proc.poll() is not None, limit)

    def end(self, sig=signal.SIGINT, timeout=jvm.PATIENCE, group=False):
        if group:
            os.killpg(self.proc.pid, sig)
        elif sig:
            self.proc.send_signal(sig)
        try:
            out, err = self.proc.communicate(timeout=timeout)
            status = self.proc.returncode
        except subprocess.TimeoutExpired:
            self.proc.kill()
            out, err = self.proc.communicate()
            status = "timeout"
        return Run(self.args, status, out.decode(errors="replace"), err.decode(errors="replace"),
                   time.monotonic() - self.started)


# --- Targets


def native(name, source=None, options=("-O2", "-g0"), libraries=("-lpthread", "-ldl")):
    """A program of tests/native that every user can run, built when it is newer than the last time. None: cannot be
    built."""
    source = jvm.ROOT / "tests/native" / (source or name + ".c")
    out = jvm.build_dir() / "native" / name
    with jvm.to_be_made(out, source.stat().st_mtime) as wanted:
        p = subprocess.run([os.environ.get("CC", "gcc"), *options, "-o", str(out), str(source), *libraries],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) if wanted else None
    if p and p.returncode:
        print(p.stdout)
        return None
    return jvm.public(out)


class Target:
    """A process that prints "ready"; killed when the with-block ends."""

    def __init__(self, argv, uid=None, **kw):
        if uid is not None:
            argv = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *argv]
        self.proc = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     preexec_fn=jvm.die_with_parent, **kw)
        self.pid = self.proc.pid

    def __enter__(self):
        line = self.proc.stdout.readline()
        if not line.startswith(b"ready"):
            raise RuntimeError("%s: %r" % (self.proc.args, line))
        self.line = line.decode()
        return self

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()
        jvm.forget_attach(self.pid)
        self.proc.stdout.close()
        self.proc.stdin.close()

    def tell(self):
        self.proc.stdin.write(b"\n")
        self.proc.stdin.flush()


def odd(*args, **kw):
    return Target([native("odd_target"), *args], **kw)


def demo(jdk, seconds=1200, home=None, flags=(), uid=None, prefix=(), **kw):
    """The demo program under that JDK, or under a copy of it in another place."""
    classes = jvm.public(jvm.compile_java(jdk, "demo"))
    return Target([*prefix, str(home or jdk.home) + "/bin/java", "-Xmx256m", *flags, "-cp", classes, "Demo",
                   str(seconds)], uid=uid, **kw)


def spin(uid=None):
    return Target([sys.executable, "-c", "print('ready', flush=True)\nwhile True: sum(range(1000))"], uid=uid)


def jdks():
    return list(jvm.find_jdks().values())


def child_of(pid):
    """The one child of a process; waits for it."""
    children = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid))
    if not jvm.wait_until(lambda: children.read_text().split()):
        raise RuntimeError("process %d has no child" % pid)
    return int(children.read_text().split()[0])


def alive(pid):
    """Runs, is not stopped and not traced."""
    try:
        text = pathlib.Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return False
    return re.search(r"^State:\s+[RSD]", text, re.M) and re.search(r"^TracerPid:\s+0$", text, re.M)


def java_named(r):
    """A profile of the demo program with names, threads not looked at."""
    return (r.status == 0 and r.samples() > 20 and r.share(r"^Demo\$\w+\.") > 0.5 and r.complete() > 0.97 and
            r.share(r"^\[unknown\]$") < 0.02)


# --- The machine's settings


@contextlib.contextmanager
def sysctl(name, value):
    path = pathlib.Path("/proc/sys/kernel") / name
    old = path.read_text()
    path.write_text(str(value))
    try:
        yield
    finally:
        path.write_text(old)
