"""The measurement behind scripts/bench --daemon: memory and CPU time of a daemon that samples many JVMs.

Four JVMs have two busy threads each: javac, the H2 database, Clojure and tests/java/cli/Busy.java. The others hardly do anything,
as most of a host's JVMs; every third of them is a database with a little work. Each minute gets a line, by role of the daemon's
processes; the last minutes are compared with the bars of a steady state. Instead, --idle is about JVMs that do nothing at all, and
--churn about JVMs that start and end."""

import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import daemon  # noqa: E402
import history  # noqa: E402
import jvm  # noqa: E402
from bench_daemon_jvms import RULES, Churn, Programs  # noqa: E402
from bench_has_run import cpu_clock  # noqa: E402
from bench_rows import finish, row  # noqa: E402

ROLES = ("first", "worker", "broker", "keeper", "other")
BAR_MB, BAR_CPU, BAR_IDLE_CPU = 150, 1.0, 0.2
BUSY_CPUS = 2  # to which BAR_CPU applies
BAR_START_MS = 50
FLAT_MB, FLAT_FDS = 2, 2  # what memory and descriptors vary by, at rest
STEADY_MINUTES = 5  # the last ones, of whose CPU time the mean counts

# cpu: in seconds; waited: the same of children that have ended, such as those that look at new processes; parent: a PID
Usage = collections.namedtuple("Usage", "pss rss fds threads cpu waited parent")
Minute = collections.namedtuple("Minute", "pss cpu fds threads ring seconds")  # cpu: {role: % of a core}


# ---- the daemon --------------------------------------------------------------------------------


def fields(path):
    with open(path) as f:
        return {k: v.split() for k, v in (line.split(":", 1) for line in f if ":" in line)}


def role(d, pid, comm):
    if pid == d.proc.pid:
        return "first"
    name = comm.split(" ")[0]
    if name == "worker":
        return "worker" if d.process("worker") == pid else "broker"
    return name if name in ROLES else "other"


def family_of(pid):
    """CPU seconds of its children that have ended, and its parent's PID: proc_pid_stat(5)."""
    stat = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(stat[13]) + int(stat[14])) / os.sysconf("SC_CLK_TCK"), int(stat[1])


def usage_of(pid):
    memory = fields("/proc/%d/smaps_rollup" % pid)
    return Usage(int(memory["Pss"][0]) / 1024, int(memory["Rss"][0]) / 1024, len(os.listdir("/proc/%d/fd" % pid)),
                 len(os.listdir("/proc/%d/task" % pid)), cpu_clock(pid), *family_of(pid))


def look(d):
    """{(role, pid): Usage} of its processes."""
    found = {}
    for pid in (d.proc.pid, *daemon.tree(d.proc.pid)):
        try:
            comm = pathlib.Path("/proc/%d/comm" % pid).read_text().strip()
            found[role(d, pid, comm), pid] = usage_of(pid)
        except OSError:
            pass  # it has ended meanwhile
    return found


def total(found, what):
    return sum(getattr(u, what) for u in found.values())


def used_since(before, now):
    """{role: CPU seconds}. Of a process that has ended in between, only what it has used since then is its parent's: the time before
    was its own already."""
    old, living = {pid: u for (_, pid), u in before.items()}, {pid for _, pid in now}
    counted = collections.Counter()  # {PID of a parent: CPU seconds}
    for u in (u for pid, u in old.items() if pid not in living):
        parent = u.parent
        while parent in old and parent not in living:
            parent = old[parent].parent
        counted[parent] += u.cpu + u.waited
    used = dict.fromkeys(ROLES, 0)
    for (role_, pid), u in now.items():
        cpu, waited = (old[pid].cpu, old[pid].waited) if pid in old else (0, 0)
        used[role_] += u.cpu - cpu + max(0, u.waited - waited - counted[pid])
    return used


def lost(d):
    return sum(int(n) for n in re.findall(r"(\d+) samples were lost", d.said()))


def cores_of(jvms, before, seconds):
    """What the JVMs have used since then: how much there was to sample."""
    now = {j.pid: jvm.cpu_seconds(j.pid) for j in jvms if j.proc.poll() is None}
    used = sum(now[p] - before[p] for p in now if p in before) / seconds
    return used, now


HEAD = "%4s  %7s  %s  %6s  %5s  %5s  %9s  %4s  %4s  %6s  %8s" % (
    "min", "PSS MB", "  ".join("%6s" % r for r in ROLES), "CPU %", "cores", "lost", "JVMs/less", "fds", "thr", "ring", "store MB")


def minute(d, tmp, n, before, now, seconds, cores):
    """A line of the table."""
    status = json.loads(history.get(tmp + "/run/s.sock", "/api/v1/status")[2])
    pss = {r: sum(u.pss for (role_, _), u in now.items() if role_ == r) for r in ROLES}
    cpu = {r: 100 * used / seconds for r, used in used_since(before, now).items()}
    m = Minute(total(now, "pss"), cpu, total(now, "fds"), total(now, "threads"), status["ring_bytes"] / 2**20, seconds)
    print("%4d  %7.1f  %s  %6.2f  %5.2f  %5d  %4d/%-4d  %4d  %4d  %6.1f  %8.1f" % (
        n, m.pss, "  ".join("%6.1f" % pss[r] for r in ROLES), sum(cpu.values()), cores, lost(d), status["jvms"], status["jvms_lowered"],
        m.fds, m.threads, m.ring, status["store_bytes"] / 2**20), flush=True)
    return m


def watch(d, tmp, minutes, jvms, wait):
    """Prints the table; what each minute has shown, and how it was at the end. wait(until): sleeps, or does something meanwhile."""
    print(HEAD, flush=True)
    found, before, at = [], look(d), time.monotonic()
    worked = cores_of(jvms, {}, 1)[1]
    for n in range(1, minutes + 1):
        wait(at + 60)
        now, then = look(d), time.monotonic()
        cores, worked = cores_of(jvms, worked, then - at)
        found.append(minute(d, tmp, n, before, now, then - at, cores))
        before, at = now, then
    return found, before


def sleep_until(at):
    time.sleep(max(0, at - time.monotonic()))


# ---- the bars ----------------------------------------------------------------------------------


def judge_cpu(minutes, bar):
    last = minutes[-STEADY_MINUTES:]
    mean = {r: sum(m.cpu[r] for m in last) / len(last) for r in ROLES}
    cpu = sum(mean.values())
    row("CPU of a core, mean of the last %d min" % len(last), "%.3f %%" % cpu, "<= %g %%" % bar, cpu <= bar)
    for r, used in mean.items():
        row("  of it: " + r, "%.3f %%" % used)


def judge_memory(minutes):
    row("memory of the daemon (PSS) after %d min" % len(minutes), "%.1f MB" % minutes[-1].pss, "<= %d MB" % BAR_MB, minutes[-1].pss <= BAR_MB)


def rests_of(minutes):
    """Those looks, from 1 on, in the second half that find no churn."""
    return [n for n in range(1, minutes + 1) if Churn.rests_at(n) and 2 * n >= minutes]


def judge_rests(minutes):
    """The times without churn in the second half of all minutes. The ring of the last hour grows on purpose, and is left out."""
    rests = [minutes[n - 1] for n in rests_of(len(minutes))]
    for what, allowed, values in (("PSS without the ring, MB", FLAT_MB, [m.pss - m.ring for m in rests]),
                                  ("descriptors", FLAT_FDS, [m.fds for m in rests]), ("threads", 0, [m.threads for m in rests])):
        grown = values[-1] - values[0]
        row("at rest, second half: " + what, " ".join("%.4g" % v for v in values), "<= +%g" % allowed, grown <= allowed)


def judge_starts(minutes, churn):
    """What the daemon has used beyond a rest, and beyond what sampling the CPU time of those JVMs may cost in a steady state."""
    rest = statistics.mean(sum(minutes[n - 1].cpu.values()) for n in rests_of(len(minutes)))
    used = sum((sum(m.cpu.values()) - rest) / 100 * m.seconds for m in minutes)
    sampling = churn.cpu * BAR_CPU / 100 / BUSY_CPUS
    ms = 1000 * (used - sampling) / churn.started
    row("CPU time for each JVM that starts", "%.0f ms" % ms, "<= %d ms" % BAR_START_MS, ms <= BAR_START_MS)
    row("  and for sampling it, %g %% of its %.1f s" % (BAR_CPU / BUSY_CPUS, churn.cpu / churn.started), "%.0f ms" % (1000 * sampling / churn.started))


def judge_end(d, jvms):
    row("samples lost", str(lost(d)), "0", lost(d) == 0)
    held = sum(j.proc.poll() is None for j in jvms)
    row("JVMs that ran until the end", "%d of %d" % (held, len(jvms)), "all", held == len(jvms))
    ended = re.findall(r".*ended unexpectedly.*", d.said())
    row("processes of the daemon that ended", str(len(ended)), "0", not ended)


# ---- the runs ----------------------------------------------------------------------------------


def stop(d):
    try:
        d.stop()
    except subprocess.TimeoutExpired:  # on a machine that others keep busy
        d.proc.kill()
        d.proc.wait()


def run(o, tmp, jvms, sampling, wait):
    """A daemon for all the minutes. What each has shown; how many JVMs there are at the end has to be judged before they end."""
    d = daemon.Daemon(tmp, rules=RULES, sampling=sampling)
    try:
        if not jvm.wait_until(lambda: d.process("keeper") and d.process("worker"), 30):
            sys.exit("the daemon does not begin: " + d.said())
        minutes, last = watch(d, tmp, o.minutes, jvms, wait)
        if o.hold:
            print("PIDs: %s; its files are in %s. Go on with Enter." % (", ".join("%s %d" % k for k in last), tmp), flush=True)
            sys.stdin.readline()
        judge_end(d, jvms)
    finally:
        stop(d)
    judge_memory(minutes)
    return minutes


def measure_mix(o, programs, tmp, jvms):
    programs.mix(o.jvms, jvms)
    sampling = "frequency = %d\n" % o.frequency + ("" if o.governed else "cpu_limit = 100%")
    judge_cpu(run(o, tmp, jvms, sampling, sleep_until), BAR_CPU)


def measure_idle(o, programs, tmp, jvms):
    programs.idle(o.idle, jvms)
    judge_cpu(run(o, tmp, jvms, "", sleep_until), BAR_IDLE_CPU)


def measure_churn(o, programs, tmp, jvms):
    jvms.extend(programs.calm(3))
    churn = Churn(programs, o.churn, 60 * o.minutes)
    minutes = run(o, tmp, jvms, "" if o.governed else "cpu_limit = 100%", churn.run)
    judge_rests(minutes)
    judge_starts(minutes, churn)
    row("JVMs that were started", str(churn.started), str(o.churn), churn.started == o.churn)


def options():
    p = argparse.ArgumentParser(prog="scripts/bench --daemon")
    p.add_argument("--daemon", action="store_true")
    p.add_argument("--jvms", type=int, default=20, help="of which four are busy (20)")
    p.add_argument("--idle", type=int, metavar="N", help="N idle JVMs instead, and the usual settings")
    p.add_argument("--churn", type=int, metavar="N", help="N JVMs that start and end meanwhile instead")
    p.add_argument("--minutes", type=int, help="from the daemon's start on (30; with --idle 10)")
    p.add_argument("--frequency", type=int, default=49)
    p.add_argument("--governed", action="store_true", help="with the usual cpu_limit; otherwise none, so that it hides no cost")
    p.add_argument("--jdk", help="major version or directory; otherwise the oldest that is installed")
    p.add_argument("--hold", action="store_true", help="waits for Enter before the daemon is stopped, to look at its processes")
    o = p.parse_args()
    o.minutes = o.minutes or (10 if o.idle else 30)
    if os.geteuid() != 0:
        sys.exit("needs root")
    if o.jvms < 5 or o.minutes < 1:
        sys.exit("at least 5 JVMs and a minute")
    if o.churn is not None and (o.churn < 1 or len(rests_of(o.minutes)) < 2):
        p.error("--churn compares rests, every %d minutes, in the second half: --minutes %d, or %d and more, and at least a JVM" % (
            Churn.REST_EVERY, 2 * Churn.REST_EVERY, 3 * Churn.REST_EVERY))
    return o


def main():
    o = options()
    jdk, began, jvms = jvm.pick_jdk(o.jdk), time.monotonic(), []
    what = "%d idle JVMs" % o.idle if o.idle else "%d JVMs one after the other" % o.churn if o.churn else "%d JVMs" % o.jvms
    print("%d CPUs, load %.1f, kernel %s, %s of JDK %d, %d Hz%s" % (
        os.cpu_count(), os.getloadavg()[0], os.uname().release, what, jdk.major, o.frequency, ", governed" if o.governed else ""), flush=True)
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        try:
            os.chmod(tmp, 0o755)
            (measure_idle if o.idle else measure_churn if o.churn else measure_mix)(o, Programs(jdk, tmp), tmp, jvms)
        finally:
            for j in jvms:
                j.stop()
    return finish(began)


if __name__ == "__main__":
    sys.exit(main())
