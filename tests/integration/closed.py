#!/usr/bin/env python3
"""What parses saved files, or a target, holds nothing: what /proc says of it before its first byte, and what whoever takes it over
cannot do (closed_trials.c), in each command, as root, as a user with sudo, and as an ordinary user.

usage: closed.py [TRIAL...]
Exit status: 0 it holds, 1 not, 77 not root.
"""

import concurrent.futures
import errno
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import jvm
import shell
from shell import check

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
TRIALS = str(jvm.build_dir() / "tests/integration/libclosed_trials.so")
ATTACH_PROBE = os.environ.get("ATTACH_PROBE") or str(jvm.build_dir() / "tests/integration/attach_probe")
SUDO_USER, OTHER_USER = 64001, 64002
# A process whose real uid is SUDO_USER starts jsampler as root, as sudo does.
SUDO = """import os, subprocess, sys
os.setresgid(%d, 0, 0); os.setresuid(%d, 0, 0)
def root(): os.setresgid(0, 0, 0); os.setresuid(0, 0, 0)
sys.exit(subprocess.call(sys.argv[1:], preexec_fn=root) %% 256)""" % (SUDO_USER, SUDO_USER)


def with_sudo(argv, said=SUDO_USER):
    return ["env", "SUDO_UID=%s" % said, sys.executable, "-I", "-S", "-c", SUDO, *argv]


def as_user(argv):
    return ["setpriv", "--reuid", str(OTHER_USER), "--regid", str(OTHER_USER), "--clear-groups", *argv]


# Without sudo root's parser has ids of its own, so that no other process can stop it: sampler/closed/closed.c.
UNUSED = range(0x70000000, 0x80000000)
# How it is started, and the uid with which it parses; NOBODY: one of those.
USERS = {"root": (lambda a: a, shell.NOBODY), "sudo": (with_sudo, SUDO_USER), "user": (as_user, OTHER_USER)}
SAVED = [str(FIXTURES / "17-c2.folded"), str(FIXTURES / "17-c1.folded")]
COMMANDS = {"report": ["report", SAVED[0]], "convert": ["convert", SAVED[0], "-f", "folded", "-o", "-"],
            "diff": ["diff", *SAVED], "replay": ["replay", str(FIXTURES / "17-c2.jsrec")]}
# Those that sample a process; the command's last word is its PID.
SAMPLING = {"record": ["-F", "99", "-d", "20", "-f", "folded", "-o", "-", "-p"],
            "wall": ["record", "-e", "wall", "-i", "5ms", "-d", "20", "-f", "folded", "-o", "-", "-p"],
            "suspend": ["record", "--engine", "suspend", "-F", "99", "-d", "20", "-f", "folded", "-o", "-", "-p"],
            "snapshot": ["snapshot", "-o", "/dev/null", "-p"], "list": ["list"], "doctor": ["doctor", "-p"]}
# Computes for some ms at a time.
OFTEN = "import time\nprint(flush=True)\nwhile True:\n    sum(range(100000))\n    time.sleep(0.01)"
# Those of a command. Without CAP_SYS_PTRACE its parent is the broker, since Yama's ptrace_scope 1 lets only ancestors read.
SPIN = ["setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", "-c", "while True: pass"] # ends with its parent
COMMAND = {c + " --": [w if w != "-" else "/dev/null" for w in a[:-1]] + ["--", *SPIN] for c, a in {
    "wall": SAMPLING["wall"], "suspend": SAMPLING["suspend"], "record": ["record", *SAMPLING["record"]]}.items()}
# What sampling does itself: a child of its own is ended (Landlock keeps others from it), limits are set.
ALLOWED_TO_SAMPLE = {"kill_foreign", "kill_own", "own_limits"}
# libc makes do with clone(2) then.
ANSWERED = {"clone3_user_namespace": errno.ENOSYS}
# Those for which an error is the answer, as libc opens files unasked.
OPENED = {"read_mem", "read_own_mem", "own_environment", "root_of_process", "shadow", "file_at_home"}

# The attaching child opens files for reading, and takes the target's ids. The last ones are refused with an error.
ALLOWED_TO_ATTACH = OPENED | {"set_gid", "set_groups", "socket_of_host", "openat2", "capabilities", "survive_refusals"}
# CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID, CAP_SYS_PTRACE.
ATTACH_CAPS = 1 << 2 | 1 << 6 | 1 << 7 | 1 << 19
# The process that stops threads opens files for reading, and seizes threads.
ALLOWED_TO_TRACE = OPENED | {"trace", "trace_own"}
TRACE_CAPS = 1 << 2 | 1 << 19
# It has mapped what looks like the bridge.
WITH_BRIDGE = """import mmap, sys
with open(sys.argv[1], "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
while True:
    pass"""


def trial_names():
    text = (pathlib.Path(__file__).parent / "closed_trials.c").read_text()
    return re.findall(r"^\tT\((\w+),", text, re.M)


class Victims:
    """Processes and files that must be left alone."""

    def __enter__(self):
        self.tmp = tempfile.TemporaryDirectory()
        os.chmod(self.tmp.name, 0o777)
        home = os.path.join(self.tmp.name, "home")
        os.mkdir(home, 0o700)
        self.file = os.path.join(home, "private")
        pathlib.Path(self.file).write_text("private\n")
        self.processes = {}
        for uid in (0, shell.NOBODY, SUDO_USER, OTHER_USER):
            who = [] if uid == 0 else ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
            self.processes[uid] = subprocess.Popen([*who, "sleep", "1000"], preexec_fn=jvm.die_with_parent)
        for p in self.processes.values():  # setpriv is still root's
            jvm.wait_until(lambda: pathlib.Path("/proc/%d/comm" % p.pid).read_text() == "sleep\n")
        return self

    def __exit__(self, *_):
        for p in self.processes.values():
            p.kill()
            p.wait()
        self.tmp.cleanup()

    def environment(self, uid, trial):
        return {"LD_PRELOAD": TRIALS, "CLOSED_TRIAL": trial, "CLOSED_FOREIGN": str(self.processes[0].pid),
                "CLOSED_OWN": str(self.processes[uid].pid), "CLOSED_FILE": self.file, "CLOSED_DIRECTORY": self.tmp.name}

    def unharmed(self):
        return (all(p.poll() is None for p in self.processes.values()) and os.listdir(self.tmp.name) == ["home"] and
                pathlib.Path(self.file).read_text() == "private\n" and stat.S_IMODE(os.stat(self.file).st_mode) == 0o644)


def busy_process(uid):
    """Not a shell, in which list finds too little code for a JVM, so that it does not examine it; nor setpriv, which becomes it. It
    has samples at any rate, and most of the CPU time is left to who is tried."""
    who = [] if uid == 0 else ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    p = subprocess.Popen([*who, "/usr/bin/python3", "-c", OFTEN], stdout=subprocess.PIPE,
                         preexec_fn=jvm.die_with_parent)
    p.stdout.readline()
    return p


def of_all(victims, user, command, names):
    """{trial: how it was not refused} of a process that parses a target, and tries each thing in a child of its own."""
    target = busy_process(OTHER_USER)
    try:
        argv = COMMAND.get(command) or SAMPLING[command] + ([str(target.pid)] if SAMPLING[command][-1] == "-p" else [])
        p = run_trial(victims, user, argv, "all")
    finally:
        target.kill()
        target.wait()
    said = {}
    for name, how in re.findall(r"^(\w+): (.*)$", p.stderr, re.M):
        said.setdefault(name, set()).add(how)
    wanted = {n: {"errno %d" % (errno.EACCES if n in OPENED else ANSWERED[n])} if n in OPENED or n in ANSWERED
              else {"signal %d" % signal.SIGSYS} for n in names}
    return {n: said.get(n, p.stderr[-500:]) for n in names if said.get(n) != wanted[n]}


def sampling_trials(names):
    """As root, of another user's process; as a user, of the user's own."""
    names = [n for n in names if n not in ALLOWED_TO_SAMPLE]
    with Victims() as victims:
        for user, (_, uid) in USERS.items():
            os.chown(os.path.dirname(victims.file), uid, uid)
            os.chown(victims.file, uid, uid)
            for command in SAMPLING:
                if user != "sudo" or command in ("snapshot", "wall"): # sudo differs in the ids, which are the same for all commands
                    bad = of_all(victims, user, command, names)
                    check("%s, %s: %d things are refused" % (user, command, len(names)), names and not bad, bad)
            for command in COMMAND if user == "user" else ():
                bad = of_all(victims, user, command, names)
                check("%s, %s: %d things are refused" % (user, command, len(names)), names and not bad, bad)
            check(user + ": nothing was harmed", victims.unharmed())


def attach_trials(names):
    """In root's child that attaches, before it has the target's ids."""
    names, bad = [n for n in names if n not in ALLOWED_TO_ATTACH], {}
    with Victims() as victims:
        for trial in names:
            p = subprocess.run([ATTACH_PROBE, str(victims.processes[OTHER_USER].pid), "threaddump"], text=True,
                               env=dict(os.environ, CLOSED_ATTACH="1", **victims.environment(0, trial)),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=jvm.PATIENCE,
                               preexec_fn=jvm.die_with_parent)
            if "tried a system call that is not allowed" not in p.stdout:
                bad[trial] = p.stdout
        check("the attaching child: %d things are refused" % len(names), names and not bad, bad)
        check("the attaching child: nothing was harmed", victims.unharmed())


def tracer_trials(names):
    """In the process that stops threads."""
    names, bad = [n for n in names if n not in ALLOWED_TO_TRACE], {}
    target = busy_process(OTHER_USER)
    with Victims() as victims:
        os.chown(os.path.dirname(victims.file), OTHER_USER, OTHER_USER)
        for trial in names:
            p = subprocess.run([shell.JS, "record", "-e", "wall", "-d", "20", "-f", "folded", "-o", "/dev/null", "-p",
                                str(target.pid)], text=True, env=dict(os.environ, CLOSED_TRACE="1", **victims.environment(0, trial)),
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=jvm.PATIENCE,
                               preexec_fn=jvm.die_with_parent)
            if "tried a system call that is not allowed" not in p.stderr:
                bad[trial] = p.stderr
        check("the process that stops threads: %d things are refused" % len(names), names and not bad, bad)
        check("... and nothing was harmed", victims.unharmed() and target.poll() is None)
    target.kill()
    target.wait()


def holds_while_recording(what, find, target, command):
    """find() gets the recording's PID and sees that one of its processes holds what it needs, and no more. The target ends."""
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=jvm.die_with_parent)
    try:
        check(what + " holds what it needs, and no more", jvm.wait_until(lambda: find(p.pid)),
              [{k: f.get(k) for k in ("Name", "Pid", "Uid", "CapEff", "NoNewPrivs", "Seccomp")} | open_files(int(f["Pid"]))
               for f in map(fields, descendants(p.pid)) if f])
    finally:
        target.kill() # which ends the recording; a signal would reach what stands for sudo alone
        target.wait()
        p.communicate()


def tracing():
    """What parses has nothing of what the process that stops threads has, and that one little else."""
    for user, (wrap, _) in USERS.items():
        target = busy_process(OTHER_USER)
        holds_while_recording(user + ": the process that stops threads", lambda pid: is_tracer(pid, target.pid, user), target,
                              wrap([shell.JS, "record", "-e", "wall", "-i", "5ms", "-d", "20", "-f", "folded", "-o", "-", "-p", str(target.pid)]))


def start_command(tmp, engine, seconds):
    """(the run, the broker's PID, the command's) of a user's COMMAND[engine] into x.folded, once the command has begun: a shell that
    works for so long, itself, since the suspend engine follows no children."""
    os.chmod(tmp, 0o777)
    shutil.copy(shell.JS, tmp + "/jsampler") # the build tree may be closed to others
    started = pathlib.Path(tmp, "started")
    script = 'echo $PPID $$ >%s.new; mv %s.new %s; (sleep %s; kill $$) & trap "exit 7" TERM; while :; do :; done' % (
        started, started, started, seconds)
    args = [*COMMAND[engine][:-len(SPIN) - 1], "--", "sh", "-c", script]
    args[args.index("-o") + 1] = tmp + "/x.folded"
    p = subprocess.Popen(as_user([tmp + "/jsampler", *args]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent)
    jvm.wait_until(started.exists)
    return (p, *map(int, started.read_text().split()))


def of_command():
    """A user's: its parent is the broker, which may therefore read it and what it starts; it is sampled, and its exit status is passed on."""
    for engine in COMMAND:
        with tempfile.TemporaryDirectory() as tmp:
            p, parent, child = start_command(tmp, engine, 1.5)
            seen = {d: fields(d) for d in descendants(p.pid)}
            command = [int(c) for c in pathlib.Path("/proc/%d/task/%d/children" % (parent, parent)).read_text().split()]
            jvm.wait_until(lambda: is_closed(fields(p.pid), OTHER_USER))
            check("user, %s: the command's parent is another process of jsampler's" % engine, parent != p.pid and
                  fields(parent)["Name"] == "jsampler" and command == [child] and seen[parent]["PPid"] == str(p.pid), seen)
            check("user, %s: what parses is closed" % engine, is_closed(fields(p.pid), OTHER_USER), fields(p.pid))
            if engine != "record --":
                check("user, %s: the tracer holds nothing more" % engine, jvm.wait_until(lambda: is_tracer(p.pid, child, "user")),
                      [f for f in map(fields, descendants(p.pid))])
            err = p.communicate(timeout=jvm.PATIENCE)[1]
            text = pathlib.Path(tmp, "x.folded").read_text() if os.path.exists(tmp + "/x.folded") else ""
            check("user, %s: its exit status, and samples with names" % engine, p.returncode == 7 and "dash" in text,
                  (p.returncode, err))
            check("user, %s: nothing is left" % engine, all(map(is_gone, seen)), seen)


def is_tracer(parent, target, user):
    for f in map(fields, descendants(parent)[1:]):
        if f.get("Name") != "jsampler-stop":
            continue
        ids, held = f["Uid"].split(), sorted(open_files(int(f["Pid"])).values())
        places = sorted(h for h in held if not re.match(r"/proc/(%d|%s)(/|$)" % (target, f["Pid"]), h))
        return (all(int(f[c], 16) == (0 if user == "user" else TRACE_CAPS) for c in ("CapEff", "CapPrm")) and
                int(f["CapInh"], 16) == 0 and (int(ids[0]) == OTHER_USER if user == "user" else int(ids[0]) in UNUSED) and
                ids == [ids[0]] * 4 and f["Gid"].split() == ids and f["NoNewPrivs"] == "1" and f["Seccomp"] == "2" and
                places.count("/dev/null") == 3 and len(places) <= 6 and "/proc/%d/mem" % target in held and
                sum(h.startswith("socket:") for h in held) == 1)
    return False


def attaching():
    """The child that waits to attach holds only what reaches the target. A target whose maps ask for one need be no JVM."""
    with tempfile.TemporaryDirectory() as tmp:
        file = pathlib.Path(tmp, "libjsampler-bridge-x.so")
        file.write_text("x")
        os.chmod(tmp, 0o755)
        target = subprocess.Popen(as_user([sys.executable, "-I", "-S", "-c", WITH_BRIDGE, str(file)]),
                                  preexec_fn=jvm.die_with_parent)
        jvm.wait_until(lambda: str(file) in pathlib.Path("/proc/%d/maps" % target.pid).read_text())
        holds_while_recording("the attaching child", lambda pid: attaching_child(pid, target.pid), target,
                              [shell.JS, "record", "-F", "99", "-d", "20", "-f", "folded", "-o", "-", "-p", str(target.pid)])


def attaching_child(parent, target):
    for f in map(fields, descendants(parent)[1:]):
        held = sorted(open_files(int(f["Pid"])).values()) if f else []
        if (f and all(int(f[c], 16) == ATTACH_CAPS for c in ("CapEff", "CapPrm")) and int(f["CapInh"], 16) == 0 and
                int(f["CapBnd"], 16) == 0 and f["NoNewPrivs"] == "1" and f["Seccomp"] == "2" and held[:3] == ["/dev/null"] * 3 and
                "/proc/%d" % target in held and len(held) <= 6 and sum(h.startswith("socket:") for h in held) == 1):
            return True
    return False


def run_trial(victims, user, command, trial):
    wrap, uid = USERS[user]
    # The file belongs to who parses: permissions are not what refuses.
    return subprocess.run(wrap(["env"] + ["%s=%s" % v for v in victims.environment(uid, trial).items()] +
                               [shell.JS, *command]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent)


def attempt(victims, user, command, trial):
    """None, or how it was not refused."""
    p = run_trial(victims, user, command, trial)
    killed = p.returncode in (-signal.SIGSYS, 256 - signal.SIGSYS)
    said = re.search(r"^%s: errno (\d+)$" % trial, p.stderr, re.M)
    if trial in OPENED:
        return None if said and int(said.group(1)) == errno.EACCES else (p.returncode, p.stderr)
    line = trial == "x32" or re.search(r"^jsampler: system call \d+ \(0x[0-9a-f]+, 0x[0-9a-f]+\) is not allowed", p.stderr, re.M)
    return None if killed and line and not said else (p.returncode, p.stderr)


def trials(names):
    with Victims() as victims:
        for user, (_, uid) in USERS.items():
            os.chown(os.path.dirname(victims.file), uid, uid)
            os.chown(victims.file, uid, uid)
            for command in COMMANDS:
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    results = pool.map(lambda t: (t, attempt(victims, user, COMMANDS[command], t)), names)
                    bad = [r for r in results if r[1]]
                check("%s, %s: %d things are refused" % (user, command, len(names)), names and not bad, bad)
            check(user + ": nothing was harmed", victims.unharmed())


def fields(pid):
    try:
        text = pathlib.Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return {}
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", text, re.M))


def is_closed(f, uid):
    ids = f.get("Uid", "").split()
    own = ids and (int(ids[0]) in UNUSED if uid == shell.NOBODY else ids[0] == str(uid))
    return (own and ids == [ids[0]] * 4 and f["Gid"].split() == ids and f["Groups"].strip() == "" and
            all(int(f[c], 16) == 0 for c in ("CapEff", "CapPrm", "CapInh", "CapAmb")) and
            f["NoNewPrivs"] == "1" and f["Seccomp"] == "2")


def descendants(pid):
    try:
        children = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()
    except OSError:
        children = []
    return [pid] + [d for c in children for d in descendants(int(c))]


def open_files(pid):
    """What its descriptors lead to, by number."""
    try:
        return {int(fd): os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)}
    except OSError:
        return {}


def waiting(what, wrap, uid):
    """A command that waits for the first byte of its input is closed already. Its first process parses; the one that opens
    files, which may be an ordinary user's and as closed, keeps what the caller passed on: it may be named as an input."""
    with open("/etc/shadow", "rb") as stray:
        p = subprocess.Popen(wrap([shell.JS, "report", "-"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, preexec_fn=jvm.die_with_parent, pass_fds=[stray.fileno()])
    until, seen = time.monotonic() + jvm.PATIENCE, []
    while time.monotonic() < until and not any(is_closed(f, uid) for f in seen):
        seen = [f for f in map(fields, descendants(p.pid)) if f.get("Name") == "jsampler"][:1]
        time.sleep(0.01)
    held = [open_files(int(f["Pid"])) for f in seen if is_closed(f, uid)]
    check(what + ": has stdio, its input and a socket open", held and len(held[0]) <= 5 and
          sum(to.startswith("socket:") for to in held[0].values()) == 1 and "/etc/shadow" not in held[0].values(), held)
    out, err = p.communicate(input="a;b 3\n", timeout=jvm.PATIENCE)
    check(what + ": closed before it reads", any(is_closed(f, uid) for f in seen),
          [{k: f.get(k) for k in ("Name", "Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp")} for f in seen])
    check(what + ": does its work", p.returncode == 0 and "b" in out, (out, err))


def outputs():
    """Files of root's in places where the parser could not write."""
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o700)
        for ending in ("folded", "html", "pb.gz"):
            out = os.path.join(tmp, "x." + ending)
            for again in ("made", "replaced"):
                p = shell.run(["convert", SAVED[0], "-o", out])
                check("%s: %s in a closed directory" % (ending, again), p.returncode == 0 and os.path.getsize(out), p.stderr)
        source = os.path.join(tmp, "private.folded")
        shutil.copy(SAVED[0], source)
        os.chmod(source, 0o600)
        p = shell.run(["report", source])
        check("an input that root alone may read", p.returncode == 0 and "Truth" in p.stdout, p.stderr)
        check("nothing else is left", sorted(os.listdir(tmp)) == ["private.folded", "x.folded", "x.html", "x.pb.gz"],
              os.listdir(tmp))


def fifo():
    """An input that nobody writes yet is waited for, and given up with the command."""
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "fifo")
        os.mkfifo(path)
        p = subprocess.Popen([shell.JS, "report", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.2)
        with open(path, "w", encoding="ascii") as f:
            time.sleep(0.1)
            f.write("a;b 3\n")
        out, err = p.communicate(timeout=jvm.PATIENCE)
        check("a FIFO is read", p.returncode == 0 and "b" in out, err)
        p = subprocess.Popen([shell.JS, "report", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        jvm.wait_until(lambda: len(descendants(p.pid)) == 2)
        opener = descendants(p.pid)[1]
        time.sleep(0.1)
        p.kill()
        p.communicate()
        jvm.wait_until(lambda: not fields(opener) or fields(opener)["State"].startswith("Z"))


def is_gone(pid):
    return not fields(pid) or fields(pid)["State"].startswith("Z")


# Of a command that reads saved files, and of a recording, which takes longer.
KILLS, RECORDING_KILLS = (int(os.environ.get("JSAMPLER_KILLS", n)) for n in ("200", "12"))


def killed(name, args, size, seconds):
    """Wherever either process is killed: no process, no half output. seconds: how long it takes."""
    with tempfile.TemporaryDirectory() as tmp:
        left, whole, ended = [], 0, 0
        for i in range(KILLS):
            p = subprocess.Popen([shell.JS, *args, "-o", tmp + "/x.out"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(i / KILLS * seconds)
            both = descendants(p.pid)
            try:
                os.kill(both[-1] if i % 2 else p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            ended += p.wait() == -signal.SIGKILL
            if not jvm.wait_until(lambda: all(map(is_gone, both)), pause=0.002):
                left.append((i, both))
            found = {f: os.path.getsize(os.path.join(tmp, f)) for f in os.listdir(tmp)}
            whole += found == {"x.out": size}
            if found not in ({}, {"x.out": size}):
                left.append((i, found))
            for f in found:
                os.unlink(os.path.join(tmp, f))
        check("%s, killed %d times at random: nothing is left" % (name, KILLS), not left, left)
        print("     %d killed themselves, %d wrote their file" % (ended, whole))


OWN_NAMES = ("jsampler", "jsampler-stop") # jsampler-stop: the process that stops threads


def sockets():
    """Those of processes of this program, by inode."""
    return {to for d in os.listdir("/proc") if d.isdigit() and fields(int(d)).get("Name") in OWN_NAMES
            for to in open_files(int(d)).values() if to.startswith("socket:")}


def killed_alone(what, args, target=None, writes=True, seconds=0.6, wrap=lambda a: a):
    """Each of the processes, at any time: none stays, no half output, no command or target that is stopped."""
    rounds, left = RECORDING_KILLS, []
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o777)
        for i in range(rounds):
            output = ["-o", tmp + "/x.folded"] if writes else []
            p = subprocess.Popen(wrap([shell.JS, *args[:1], *output, *args[1:]]), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)
            time.sleep(seconds * (i // 3 + 1) / (rounds // 3))
            all_of_it = descendants(p.pid)
            own = [d for d in all_of_it if fields(d).get("Name") in OWN_NAMES]
            held = {to for d in own for to in open_files(d).values() if to.startswith("socket:")}
            try:
                os.kill(own[i % len(own)] if own else p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                left.append((i, "goes on"))
                p.kill()
                p.wait()
            if not jvm.wait_until(lambda: all(map(is_gone, all_of_it))):
                left.append((i, [(d, fields(d).get("Name"), fields(d).get("State")) for d in all_of_it if not is_gone(d)]))
            if held & sockets():
                left.append((i, held & sockets()))
            if target and not jvm.wait_until(lambda: fields(target)["State"][0] in "RS" and fields(target)["TracerPid"] == "0"):
                left.append((i, "target is " + fields(target)["State"]))
            for f in os.listdir(tmp):
                read = shell.run(["replay" if args[0] == "snapshot" else "report", os.path.join(tmp, f)]) if os.path.getsize(os.path.join(tmp, f)) else None
                if f != "x.folded" or (read and (read.returncode or "truncated" in read.stderr)):
                    left.append((i, f, read and read.stderr))
                os.unlink(os.path.join(tmp, f))
    check("%s, each process killed alone, %d times: nothing is left" % (what, rounds), not left, left)


def kills_with_target(what, args, **how):
    target = busy_process(OTHER_USER)
    try:
        killed_alone(what, [a.replace("PID", str(target.pid)) for a in args], target.pid, **how)
    finally:
        target.kill()
        target.wait()


def kills_while_sampling():
    # An end by itself falls into the time in which they are killed.
    # Before its execve(2) the command is one of them, too: what it has started goes with it, or would be sampled for good.
    command = ["--", "timeout", "0.4", "setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]
    # They wait most of the time.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        wait_for = [
            pool.submit(killed_alone, "record -- COMMAND", ["record", "-F", "99", *command]),
            pool.submit(killed_alone, "user, record -- COMMAND", ["record", "-F", "99", *command], wrap=as_user),
            pool.submit(killed_alone, "user, record -e wall -- COMMAND", ["record", "-e", "wall", "-i", "5ms", *command], wrap=as_user),
            pool.submit(kills_with_target, "record -p", ["record", "-F", "99", "-d", "0.4", "-p", "PID"]),
            pool.submit(kills_with_target, "record -e wall", ["record", "-e", "wall", "-i", "5ms", "-d", "0.4", "-p", "PID"]),
            pool.submit(kills_with_target, "record --engine suspend", ["record", "--engine", "suspend", "-i", "1ms", "-d", "0.4", "-p", "PID"]),
            pool.submit(kills_with_target, "snapshot", ["snapshot", "-p", "PID"]),
            pool.submit(kills_with_target, "list", ["list"], writes=False, seconds=0.15),
            pool.submit(kills_with_target, "doctor", ["doctor", "-p", "PID"], writes=False, seconds=0.4)]
        for each in wait_for:
            each.result()


def kills():
    args = {"report": [*COMMANDS["report"], "-f", "json"], "convert": ["convert", SAVED[0], "-f", "html"],
            "diff": [*COMMANDS["diff"], "-f", "json"], "replay": ["replay", "-n", "5", COMMANDS["replay"][1]]}
    with tempfile.TemporaryDirectory() as tmp:
        for name, a in args.items():
            start = time.monotonic()
            p = shell.run([*a, "-o", tmp + "/x.out"])
            seconds = time.monotonic() - start
            if check(name + " -o", p.returncode == 0, p.stderr):
                killed(name, a, os.path.getsize(tmp + "/x.out"), seconds)


def main():
    if not shell.can_be_nobody():
        print("skipped: not root, or no setpriv")
        sys.exit(jvm.SKIP)
    for user, (wrap, uid) in USERS.items():
        waiting(user, wrap, uid)
    waiting("a SUDO_UID that lies", lambda a: with_sudo(a, said=OTHER_USER), shell.NOBODY)
    waiting("a SUDO_UID without sudo", lambda a: ["env", "SUDO_UID=0", *a], shell.NOBODY)
    outputs()
    fifo()
    attaching()
    kills()
    kills_while_sampling()
    trials(sys.argv[1:] or trial_names())
    tracing()
    of_command()
    tracer_trials(sys.argv[1:] or trial_names())
    attach_trials(sys.argv[1:] or trial_names())
    sampling_trials(sys.argv[1:] or trial_names())
    shell.finish()


if __name__ == "__main__":
    main()
