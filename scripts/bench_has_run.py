"""The measurements behind scripts/bench --has-run: how accurate ThreadHasRun is from outside, and what it costs."""

import argparse
import concurrent.futures
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import jvm  # noqa: E402
import truth  # noqa: E402
from bench_rows import UNSURE, bootstrap, finish, judge, row  # noqa: E402

PROGRAMS = jvm.build_dir() / "tests/integration"


class Mix:
    """Runs has_run_mix, and kills it at the end."""

    def __init__(self, *args):
        self.proc = subprocess.Popen([str(PROGRAMS / "has_run_mix"), "3600", *map(str, args)],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                     preexec_fn=jvm.die_with_parent)
        self.pid = self.proc.pid
        assert self.proc.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()


def probe(*args):
    return subprocess.run([str(PROGRAMS / "has_run_probe"), *map(str, args)], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def share(part, whole):
    return "-" if not whole else "%.2f %%" % (100 * part / whole)


def measure_judge(ticks):
    """By kind of thread, and in total."""
    with Mix() as mix:
        rows = [line.split() for line in probe("judge", mix.pid, 10000, ticks)]
    total = {}
    print("ThreadHasRun, ticks of 10 ms, against the kernel's account while off the CPU")
    print("%-16s %6s %6s   %-21s %-21s" % ("thread", "looks", "ran", "registers: recall", "with the account:"))
    for w in rows:
        f = {k: int(v) for k, v in zip(w[1::2], w[2::2])}
        for k, v in f.items():
            total[k] = total.get(k, 0) + v
        print("%-16s %6d %6d   %-21s %-21s" % (w[0], f["looks"], f["ran"], share(f["sum_hit"], f["ran"]),
                                              share(f["hit"], f["ran"])))
    recall, precision = total["hit"] / total["ran"], total["hit"] / (total["hit"] + total["false"])
    row("recall, registers alone", share(total["sum_hit"], total["ran"]))
    row("precision, registers alone", share(total["sum_hit"], total["sum_hit"] + total["sum_false"]))
    row("recall", "%.2f %%" % (100 * recall), ">= 99.5 %", recall >= 0.995)
    row("precision", "%.2f %%" % (100 * precision), ">= 99 %", precision >= 0.99)


def measure_seize(ticks):
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp, \
         Mix(2, 0, os.path.join(tmp, "counters")) as mix:
        for mode in ("each", "once", "each", "once"):
            row("stopping 2 running threads, seized %s" % mode, probe("cost", mix.pid, 2000, ticks, mode)[0])


def sampler(pid, period, out):
    return subprocess.Popen([jvm.jsampler_path(), "-p", str(pid), "--engine", "suspend", "-i", period, "-v",
                             "-f", "folded", "-o", out], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            preexec_fn=jvm.die_with_parent)


def stop(s):
    s.terminate()
    return s.communicate()[1]


def done(path):
    return sum(v for v, in struct.iter_unpack("<Q56x", pathlib.Path(path).read_bytes()))


def cpu_clock(pid):
    """CPU seconds of a process, with the clock id that clock_getcpuclockid(3) would return."""
    return time.clock_gettime((~pid << 3) | 2)


def speed(pid, path, seconds):
    """Work done per second, and per second of the program's CPU time."""
    before, begin, cpu = done(path), time.monotonic(), cpu_clock(pid)
    time.sleep(seconds)
    work = done(path) - before
    return work / (time.monotonic() - begin), work / (cpu_clock(pid) - cpu)


def measure_slowdown(period, bar, windows):
    """Alternating windows with and without the sampler, which has started up by then. To hold, the upper bound must be
    below the bar."""
    slow, dear = [], []
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        path, out = os.path.join(tmp, "counters"), os.path.join(tmp, "out")
        with Mix(7, 3, path) as mix:
            for _ in range(windows):
                without, cpu_without = speed(mix.pid, path, 0.4)
                s = sampler(mix.pid, period, out)
                time.sleep(0.2)
                with_it, cpu_with = speed(mix.pid, path, 0.4)
                slow.append(100 - 100 * with_it / without)
                dear.append(100 - 100 * cpu_with / cpu_without)
                stop(s)
    # Valid on a busy machine, too, but excludes the time for which threads are stopped.
    row("less work a CPU second, %s" % period, "%.1f %%" % statistics.median(dear))
    median, low, high = bootstrap(slow)
    row("slowdown, 10 threads, 7 runnable, %s" % period,
        "%.1f %% (%.1f to %.1f, %d windows)" % (median, low, high, windows), "<= %.1f %%" % bar, judge(low, high, bar))


def measure_own_cpu(seconds):
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        path, out = os.path.join(tmp, "counters"), os.path.join(tmp, "out")
        with Mix(4, 500, path) as mix:
            s = sampler(mix.pid, "10ms", out)
            time.sleep(2)
            used, begin = cpu_seconds(s.pid), time.monotonic()
            time.sleep(seconds)
            cores = 100 * (cpu_seconds(s.pid) - used) / (time.monotonic() - begin)
            stop(s)
    row("own CPU, 500 blocked and 4 running, 10 ms", "%.1f %% of a core" % cores, "<= 5 %", cores <= 5)


def cpu_seconds(pid):
    """Of a sampler with its processes, such as the one that stops threads."""
    children = (int(c) for text in jvm.texts_of(pid, "children") for c in text.split())
    return own_seconds(pid) + sum(map(cpu_seconds, children))


def own_seconds(pid):
    f = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")


def measure_pauses(seconds):
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        path, out = os.path.join(tmp, "counters"), os.path.join(tmp, "out")
        with Mix(2, 8, path) as mix:
            s = sampler(mix.pid, "10ms", out)
            time.sleep(seconds)
            said = stop(s)
    for line in said.splitlines():
        if re.search("pause of a thread|from asking|CPU time of the target", line):
            row("2 running threads, 10 ms", line.split(": ", 1)[1])
    m = re.search(r"pause of a thread: p50 (\d+) us, p99 (\d+) us", said)
    row("pause p50", m.group(1) + " us", "<= 100 us", int(m.group(1)) <= 100)
    row("pause p99", m.group(2) + " us", "<= 1000 us", int(m.group(2)) <= 1000)


def measure_units(seconds):
    """CPU time by weights, and by counting ticks, compared with the kernel's: one thread on an idle CPU. If it has to wait
    for a CPU, it runs in ticks of which it uses little."""
    with tempfile.TemporaryDirectory(prefix="jsampler-bench-") as tmp:
        with Mix(1, 8, os.path.join(tmp, "counters")) as mix:
            run, waited = schedule_of(mix.pid)
            s = sampler(mix.pid, "10ms", os.path.join(tmp, "out"))
            time.sleep(seconds)
            said = stop(s)
            run, waited = (b - a for a, b in zip((run, waited), schedule_of(mix.pid)))
    cpu, told = (float(x) for x in re.search(r"target ([0-9.]+) s, samples x period ([0-9.]+) s", said).groups())
    ticks = float(re.search(r"samples (\d+), lost", said).group(1)) * 0.01
    row("CPU time by weights against the kernel's", "%.3f s of %.3f s" % (told, cpu), "5 %", abs(told / cpu - 1) <= 0.05)
    row("ticks that it ran x period against the kernel's", "%.3f s of %.3f s" % (ticks, cpu), "5 %",
        UNSURE if waited > 0.02 * run else abs(ticks / cpu - 1) <= 0.05)


def schedule_of(pid):
    """ns that all threads were on a CPU, and waited for one."""
    both = [t.read_text().split()[:2] for t in pathlib.Path("/proc/%d/task" % pid).glob("*/schedstat")]
    return sum(int(run) for run, _ in both), sum(int(waited) for _, waited in both)


def tool(name, *args, env=None):
    """Runs a test of tests/integration; returns its status and output."""
    run = subprocess.run([sys.executable, str(ROOT / "tests/integration" / name), *map(str, args)], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                         env={**os.environ, "EINTR_PROGRAMS": str(PROGRAMS), "JSAMPLER_STRICT": "1", **(env or {})})
    return run.returncode, run.stdout


def measure_shares(seconds):
    status, said = tool("truth.py", "--option=--engine", "--option=suspend", "--freq", 1000, "--duration", seconds,
                        "--warmup", 8, "--bar", 3)
    m = re.search(r"total variation ([0-9.]+) points", said)
    value = m.group(1) + " points" if m else "did not run: " + said[-200:]
    row("CPU shares of the truth program, 1 ms, %d s" % seconds, value, "<= 3", status == 0)


def measure_agreement(seconds):
    """Both engines on one thread of the truth program at the same time. With more threads than CPUs, this would measure
    where they wait for a CPU (docs/suspend.md)."""
    jdk = jvm.pick_jdk(None)
    with jvm.Jvm(jdk, jvm.compile_java(jdk, "truth"), "Truth", ["interactive=1", "warmup=8", "threads=1", "seed=42"],
                 ["-XX:+UseG1GC"]) as java, concurrent.futures.ThreadPoolExecutor() as pool:
        java.wait_ready(8 + jvm.PATIENCE)
        runs = [pool.submit(jvm.record, java.pid, "-d", seconds, "-F", 499, "--threads", "--no-kernel", "--engine", e)
                for e in ("perf", "suspend")]
        perf, suspend = (truth.Counts(run.result().folded) for run in runs)
    shares = {k: n / perf.samples for k, n in perf.kernels.items()}
    points = sum(abs(100 * (shares.get(k, 0) - suspend.kernels.get(k, 0) / suspend.samples))
                 for k in shares.keys() | suspend.kernels.keys()) / 2
    chance = math.hypot(*(truth.expected_variation(shares, c.samples) for c in (perf, suspend)))
    row("CPU shares, suspend against perf, %d s" % seconds, "%.1f points (by chance %.1f; %d and %d samples)" % (
        points, chance, suspend.samples, perf.samples))


def measure_wall(seconds):
    status, said = tool("suspend.py", "wall", "--exact", "--bar", 2, "--seconds", seconds)
    for line in said.splitlines():
        if line.startswith("runs "):
            print("wall: " + line)
    row("wall: runs, monitor, sleeps against the program", "see above", "2 points", status == 0)


def measure_eintr(ticks):
    """Programs that notice disturbed system calls, for that many ticks in all."""
    done = bad = 0
    while done < ticks and not bad:
        status, said = tool("suspend.py", "calls", "--seconds", min(120, 5 + (ticks - done) // 900))
        done += int(re.search(r"calls: (\d+) ticks", said).group(1)) if "calls: " in said else 0
        bad += status != 0
        print(said.rstrip(), flush=True)
    row("EINTR, early or late ends, wrong results", "%d runs of it in %d ticks" % (bad, done), "none", not bad)


def measure_kill(times):
    status, said = tool("suspend.py", "kill", "--times", times)
    print(said.rstrip())
    row("threads left stopped, signals lost", "none" if status == 0 else "see above", "none", status == 0)


def measure_all(quick):
    measure_judge(300 if quick else 1500)
    measure_seize(500 if quick else 1000)
    measure_pauses(5 if quick else 20)
    measure_units(5 if quick else 10)
    measure_own_cpu(5 if quick else 15)
    measure_slowdown("1ms", 10, 5 if quick else 40)
    measure_slowdown("10ms", 1.5, 5 if quick else 80)
    measure_shares(5 if quick else 20)
    measure_agreement(5 if quick else 20)
    measure_wall(5 if quick else 20)


def main():
    p = argparse.ArgumentParser(prog="scripts/bench --has-run")
    p.add_argument("--has-run", action="store_true")
    p.add_argument("--quick", action="store_true", help="few windows: a rough result")
    p.add_argument("--eintr", type=int, metavar="TICKS", help="instead, make system calls of all kinds for this number of ticks of 1 ms")
    p.add_argument("--kill", type=int, metavar="TIMES", help="instead, kill -9 jsampler this number of times, half of them during a stop")
    o = p.parse_args()
    print("%d CPUs, load %.1f, kernel %s" % (os.cpu_count(), os.getloadavg()[0], os.uname().release))
    began = time.monotonic()
    if o.eintr:
        measure_eintr(o.eintr)
    if o.kill:
        measure_kill(o.kill)
    if not o.eintr and not o.kill:
        measure_all(o.quick)
    return finish(began)


if __name__ == "__main__":
    sys.exit(main())
