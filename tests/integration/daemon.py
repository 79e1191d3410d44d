#!/usr/bin/env python3
"""jsampler daemon: finds JVMs, samples them, and keeps what it counts; survives the end of its processes.

usage: daemon.py [--jdk 17]
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import history
import jvm

STEP_S = 10


def tree(pid):
    """The processes that it started, and theirs."""
    found = []
    for p in pathlib.Path("/proc/%d/task" % pid).glob("*/children"):
        for c in p.read_text().split():
            found += [int(c), *tree(int(c))]
    return found


def status(pid):
    lines = pathlib.Path("/proc/%d/status" % pid).read_text().splitlines()
    return {k: v.split() for k, v in (l.split(":", 1) for l in lines)}


def is_there(pid):
    try:
        return status(pid)["State"][0] != "Z"
    except OSError:
        return False


ROOT = os.geteuid() == 0
OWNER, USER = 61234, 61235  # of the history; of the JVMs: other tests' JVMs are left out by their user


def own_rules():
    return "[rule ours]\nuser = %d\n[rule others]\npid = *\nsample = no\n" % USER if ROOT else ""


def pids_of(worker):
    """The processes of which it holds a descriptor (pidfd_open(2))."""
    found = set()
    for f in pathlib.Path("/proc/%d/fdinfo" % worker).glob("*"):
        try:
            found |= {int(l.split()[1]) for l in f.read_text().splitlines() if l.startswith("Pid:")}
        except OSError:
            pass
    return found


class Daemon:
    def __init__(self, tmp, rules=None, sampling="cpu_limit = 100%", env=None):
        self.store = os.path.join(tmp, "store")
        self.log = os.path.join(tmp, "log")
        for d in (self.store, os.path.join(tmp, "run")):
            os.makedirs(d, exist_ok=True)
        for path in (self.store, *pathlib.Path(self.store).iterdir()) if ROOT else ():
            os.chown(path, OWNER, OWNER)
        os.chmod(tmp, 0o755)
        conf = os.path.join(tmp, "jsampler.conf")
        pathlib.Path(conf).write_text("[sampling]\n%s\n[store]\ndirectory = %s\nuser = %d\n[http]\nsocket = %s/run/s.sock\n%s" % (
            sampling, self.store, OWNER, tmp, own_rules() if rules is None else rules))
        with open(self.log, "w") as log:
            self.proc = subprocess.Popen([jvm.jsampler_path(), "daemon", "-v", "--config", conf], stdin=subprocess.DEVNULL,
                                         stdout=log, stderr=log, env={**os.environ, **(env or {})}, preexec_fn=jvm.die_with_parent)

    def said(self):
        return pathlib.Path(self.log).read_text()

    def kept(self, pid, view="--threads", main="*", args=()):
        """What is in the store about a process, or one of its programs."""
        r = subprocess.run([jvm.jsampler_path(), "report", "--since", "5m", "--store", self.store, "--label", "pid=%d" % pid,
                            *(["--label", "main=" + main] if main != "*" else []), view, *args, "-f", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return json.loads(r.stdout) if r.returncode == 0 and r.stdout else {"samples": 0, "weight": 0, "rows": []}

    def process(self, name):
        """One of its own processes, the last that was started; None: it does not run."""
        for c in reversed(pathlib.Path("/proc/%d/task/%d/children" % (self.proc.pid, self.proc.pid)).read_text().split()):
            try:
                if pathlib.Path("/proc/%s/comm" % c).read_text().strip() == name and is_there(int(c)):
                    return int(c)
            except OSError:
                pass  # it has ended meanwhile
        return None

    def worker(self, pid):
        """The process that samples it: one of its own, or the one for all."""
        all_ = self.process("worker")
        return self.process("worker %d" % pid) or (all_ if all_ and pid in pids_of(all_) else None)

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        return self.proc.wait(20)


class Busy:
    """tests/java/cli/Busy.java; shell: what starts it, in place of java itself; always: never rests, where its CPU time is compared
    or waited for. Most tests wait for what the daemon does, and other tests run beside them."""

    def __init__(self, jdk, classes, shell="exec \"$@\"", always=False):
        who = {"user": USER, "group": USER, "extra_groups": []} if ROOT else {}
        java = [str(jdk.home / "bin/java"), "-Xmx64m", "-cp", str(classes), "Busy", *([] if always else ["sometimes"])]
        self.proc = subprocess.Popen(["sh", "-c", shell, "sh", *java], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                     preexec_fn=jvm.die_with_parent, **who)
        self.pid = self.proc.pid

    def stop(self):
        self.proc.kill()
        self.proc.wait()


def check_closed(daemon, pid, bad):
    """It has its name before it has opened what it needs, and closes itself then."""
    worker = daemon.worker(pid)
    jvm.wait_until(lambda: status(worker)["Seccomp"][0] != "0", 20)
    st = status(worker)
    for key, want in (("CapEff", "0" * 16), ("NoNewPrivs", "1"), ("Seccomp", "2")):
        if st[key][0] != want:
            bad.append("worker: %s is %s" % (key, st[key][0]))
    if ROOT and "0" in st["Uid"]:
        bad.append("worker: uid %s" % st["Uid"])
    keeper = status(daemon.process("keeper"))
    if ROOT and keeper["Uid"][0] != str(OWNER):
        bad.append("keeper: uid %s" % keeper["Uid"])
    return worker


def check_kept(daemon, jvms, bad):
    long, short, late = jvms
    kept = daemon.kept(long.pid, "--flat")
    methods = " ".join(r["method"] for r in kept["rows"])
    if kept["samples"] < 10 or "Busy.compute" not in methods:
        bad.append("the long one: %d samples, without Busy.compute: %.300s" % (kept["samples"], methods))
    if not daemon.kept(short.pid)["samples"]:
        bad.append("the short one is not there")
    kept = daemon.kept(late.pid, "--flat")
    if not kept["samples"] or kept["samples"] > 20 and "Busy.compute" not in " ".join(r["method"] for r in kept["rows"]):
        bad.append("the one that became a JVM later: %d samples" % kept["samples"])


def capture(daemon, tmp, pid, bad):
    """Beside the history, at another frequency, and it is not part of it."""
    js = [jvm.jsampler_path(), "capture", "--socket", tmp + "/run/s.sock"]
    before = jvm.cpu_seconds(pid)
    r = subprocess.run([*js, str(pid), "-F", "499", "-d", "1"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    used = jvm.cpu_seconds(pid) - before
    n = sum(int(l.rsplit(" ", 1)[1]) for l in r.stdout.splitlines())
    if r.returncode or "Busy.compute" not in r.stdout or not 20 < n < 499 * used * 1.2 + 20:
        bad.append("a capture: status %d, %d samples of %.2f s of CPU time: %s" % (r.returncode, n, used, r.stderr))
    if daemon.process("capture %d" % pid):
        bad.append("a capture goes on")
    r = subprocess.run([*js, str(daemon.proc.pid), "-d", "1"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if r.returncode != 1 or "no JVM that the daemon samples" not in r.stderr:
        bad.append("a capture of another process: status %d: %s" % (r.returncode, r.stderr))


def numbers(tmp, jvms, bad):
    """The first process tells the keeper, which tells whoever asks."""
    def ask(path):
        return history.get(tmp + "/run/s.sock", path)[2].decode()

    if not jvm.wait_until(lambda: json.loads(ask("/api/v1/status"))["jvms"] == jvms, 10, 0.5):
        bad.append("/api/v1/status: " + ask("/api/v1/status"))
    status = json.loads(ask("/api/v1/status"))
    if status["cores_limit"] != 1 or status["over_limit"] or "\njsampler_jvms %d\n" % jvms not in ask("/metrics"):
        bad.append("status %s, metrics %s" % (status, ask("/metrics")))


def weigh(daemon, one, cpu_s, lost_s, bad):
    """Sampled from its first second on, until the daemon's end, but for what a worker that was killed had not yet sent."""
    s = daemon.kept(one.pid)["weight"] / 1e9
    if not 0.75 * (cpu_s - lost_s) - 1 < s < 1.15 * cpu_s + 0.5:
        bad.append("%.2f s of CPU time are kept of %.2f s, of which %.2f s may be lost" % (s, cpu_s, lost_s))


def run(jdk, classes, tmp):
    bad, lost = [], 0
    daemon = Daemon(tmp, own_rules() + "[rule nothing]\nunit = nothing.service\n")
    if not jvm.wait_until(lambda: daemon.process("keeper")):
        return ["no keeper: " + daemon.said()]
    long, short = Busy(jdk, classes, always=True), Busy(jdk, classes, always=True)
    late = Busy(jdk, classes, "sleep 2; exec \"$@\"")
    jvms = long, short, late
    if not jvm.wait_until(lambda: daemon.worker(short.pid), 30):
        bad.append("the short one is not sampled")
    jvm.burn(short.pid, 2)  # on a machine with nothing else to do, that takes a second
    short.stop()
    if not jvm.wait_until(lambda: daemon.worker(long.pid) and daemon.worker(late.pid), 20):
        bad.append("not all are sampled")
    else:
        worker = check_closed(daemon, late.pid, bad)
        capture(daemon, tmp, long.pid, bad)
        numbers(tmp, 2, bad)
        if not jvm.wait_until(lambda: "rule 'nothing' has matched no JVM so far" in daemon.said(), 30):
            bad.append("the log does not say that a rule matches nothing")
        if "rule 'ours'" in daemon.said() or "rule 'others'" in daemon.said():
            bad.append("a rule that decides is said to match nothing: " + daemon.said())
        # What was sampled since the last step is lost; the next worker takes over.
        jvm.wait_until(lambda: daemon.kept(late.pid)["samples"], 30, 0.5)
        before = daemon.kept(long.pid)["weight"] / 1e9
        os.kill(worker, signal.SIGKILL)
        if not jvm.wait_until(lambda: daemon.worker(late.pid) not in (None, worker), 20):
            bad.append("a worker that was killed is not started again")
        jvm.wait_until(lambda: daemon.worker(long.pid) not in (None, worker), 20)
        lost = max(0, jvm.cpu_seconds(long.pid) - before)
    if "ended unexpectedly (signal 9)" not in daemon.said():
        bad.append("the log does not say that a worker was killed")
    used = jvm.cpu_seconds(long.pid)
    processes = tree(daemon.proc.pid)
    if daemon.stop():
        bad.append("exit status %d: %s" % (daemon.proc.returncode, daemon.said()))
    jvm.wait_until(lambda: not any(is_there(p) for p in processes), 5)  # brokers end after their workers
    left = [p for p in processes if is_there(p)]
    if left:
        bad.append("left: %s" % [status(p)["Name"] + status(p)["State"] + status(p)["PPid"] for p in left])
    if long.proc.poll() is not None or late.proc.poll() is not None:
        bad.append("a JVM has ended")
    check_kept(daemon, jvms, bad)
    weigh(daemon, long, used, lost, bad)
    for j in (long, late):
        j.stop()
    return bad


def killed(jdk, classes, tmp):
    """SIGKILL of the first process ends the others, and no JVM."""
    daemon = Daemon(tmp)
    one = Busy(jdk, classes)
    bad = [] if jvm.wait_until(lambda: daemon.process("keeper") and daemon.worker(one.pid), 20) else ["it is not sampled"]
    processes = tree(daemon.proc.pid)
    daemon.proc.kill()
    daemon.proc.wait()
    if not jvm.wait_until(lambda: not any(is_there(p) for p in processes), 10):
        bad.append("processes are left: %s" % [p for p in processes if is_there(p)])
    if one.proc.poll() is not None or status(one.pid)["State"][0] in "tT":
        bad.append("the JVM has ended, or stands still")
    one.stop()
    return bad


def captures_cut(jdk, classes, tmp):
    """A capture while what it needs is killed: its own process, the keeper, the first process."""
    daemon, bad = Daemon(tmp), []
    j = Busy(jdk, classes)
    js = [jvm.jsampler_path(), "capture", "--socket", tmp + "/run/s.sock"]

    def begin():
        p = subprocess.Popen([*js, str(j.pid), "-d", "6"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not jvm.wait_until(lambda: daemon.process("capture %d" % j.pid), 20):
            bad.append("no capture begins")
        return p

    def end(p, what, statuses):
        try:
            _, said = p.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            p.kill()
            said = p.communicate()[1] + " (killed)"
        if p.returncode not in statuses or (p.returncode and not said.startswith("jsampler: ")):
            bad.append("%s: the client's status is %d: %s" % (what, p.returncode, said))

    if not jvm.wait_until(lambda: daemon.process("keeper") and daemon.worker(j.pid), 30):
        return ["it is not sampled: " + daemon.said()]
    p = begin()
    os.kill(daemon.process("capture %d" % j.pid), signal.SIGKILL)
    end(p, "its process was killed", (0, 1))  # 0: a piece had come
    p, keeper = begin(), daemon.process("keeper")
    os.kill(keeper, signal.SIGKILL)
    if not jvm.wait_until(lambda: daemon.process("keeper") not in (None, keeper), 20):
        bad.append("no keeper follows")
    if not jvm.wait_until(lambda: not daemon.process("capture %d" % j.pid), 30):
        bad.append("a capture without a keeper goes on")
    end(p, "the keeper was killed", (1,))
    p = begin()
    processes = tree(daemon.proc.pid)
    daemon.proc.kill()
    daemon.proc.wait()
    end(p, "the first process was killed", (0, 1))
    if not jvm.wait_until(lambda: not any(is_there(q) for q in processes), 10):
        bad.append("processes are left")
    if j.proc.poll() is not None or status(j.pid)["State"][0] in "tT":
        bad.append("the JVM has ended, or stands still")
    j.stop()
    return bad


def isolated(jdk, classes, tmp):
    """isolate = yes: a process for each JVM."""
    daemon = Daemon(tmp, sampling="isolate = yes")
    jvms = [Busy(jdk, classes) for _ in range(2)]
    bad = []
    if not jvm.wait_until(lambda: all(daemon.process("worker %d" % j.pid) for j in jvms), 30):
        bad.append("no process for each: " + daemon.said())
    if daemon.process("worker"):
        bad.append("there is one for all")
    if not jvm.wait_until(lambda: all(daemon.kept(j.pid)["samples"] for j in jvms), 30, 0.5):
        bad.append("not all are kept")
    daemon.stop()
    for j in jvms:
        j.stop()
    return bad


def main(doc, *cases):
    """Each case with a folder of its own; it returns what is wrong."""
    args = argparse.ArgumentParser(description=doc.splitlines()[0])
    args.add_argument("--jdk", default=None)
    jdk = jvm.pick_jdk(args.parse_args().jdk)
    classes = jvm.public(jvm.compile_java(jdk, "cli"))
    bad = []
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="js-daemon-") as tmp:
            bad += ["%s: %s" % (case.__name__, b) for b in case(jdk, classes, tmp)]
    print("\n".join(bad) or "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(__doc__, run, killed, captures_cut, isolated))
