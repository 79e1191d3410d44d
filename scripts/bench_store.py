"""The measurements behind scripts/bench --store: what a month of a host's history takes, and how long a page of it takes.

Real programs are recorded, and their samples drawn again for each target and step (tests/integration/store_month.c). A daemon
that samples nothing then answers requests for pages of one target.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import attribution  # noqa: E402
import daemon  # noqa: E402
import jvm  # noqa: E402
from bench_rows import finish, row  # noqa: E402

BYTES_BAR = 2e9
PAGES = (("1h", 0.2), ("1d", 0.5), ("30d", 1.0))  # the range, the bar in seconds
TRIES = 5


def record(o, tmp):
    """A recording of each program; long, so that rare stacks are in it."""
    jdk, files = jvm.pick_jdk(o.jdk), []
    for name in o.programs.split(","):
        place = os.path.join(tmp, name)
        os.mkdir(place)
        java = attribution.WORKLOADS[name](jdk, ["-Xmx1g"], place)
        try:
            java.wait_ready()
            files.append(os.path.join(tmp, name + ".pb.gz"))
            subprocess.run([jvm.jsampler_path(), "record", "-p", str(java.pid), "-F", "999", "-d", str(o.seconds), "-q", "-o", files[-1]],
                           check=True, stdin=subprocess.DEVNULL)
        finally:
            java.stop()
        print("recorded %s" % name, file=sys.stderr, flush=True)
    return files


def sizes(store):
    found = {}
    for f in pathlib.Path(store).iterdir():
        step = f.name.split("-")[-1].split(".")[0]
        found[step] = found.get(step, 0) + f.stat().st_blocks * 512
    return found


def page(socket, age, service):
    """Seconds and bytes."""
    url = "http://localhost/api/v1/profile?from=%s&format=html&label.service=%s" % (age, service)
    r = subprocess.run(["curl", "-sS", "--fail-with-body", "-o", os.devnull, "-w", "%{time_total} %{size_download}",
                        "--unix-socket", socket, url], capture_output=True, text=True)
    if r.returncode:
        sys.exit("%s: %s" % (url, r.stdout + r.stderr))
    seconds, size = r.stdout.split()
    return float(seconds), int(size)


def measure_pages(tmp, targets):
    """By a daemon that samples nothing."""
    d = daemon.Daemon(tmp, rules="[rule none]\npid = *\nsample = no\n")
    try:
        socket = os.path.join(tmp, "run/s.sock")
        jvm.wait_until(lambda: os.path.exists(socket), 20)
        for age, bar in PAGES:
            times = [page(socket, age, "service-%d" % (n % targets)) for n in range(TRIES)]
            middle = statistics.median(t for t, _ in times)
            row("a page of %s of one target" % age, "%.2f s (%s), %d KB" % (
                middle, ", ".join("%.2f" % t for t, _ in times), times[0][1] // 1000), "%.1f s" % bar, middle <= bar)
    finally:
        d.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--store", action="store_true")
    p.add_argument("--jdk", default="17")
    p.add_argument("--programs", default="javac,clojure,h2,truth")
    p.add_argument("--seconds", type=int, default=60, help="of each recording")
    p.add_argument("--profiles", nargs="*", default=[], help="recordings, in place of new ones")
    p.add_argument("--targets", type=int, default=20, help="(20)")
    p.add_argument("--days", type=int, default=30)
    p.add_argument("--samples", type=int, default=60, help="of each target in 10 s: with 20 targets, 49 are two busy CPUs at 49 Hz (60)")
    p.add_argument("--keep", metavar="DIR", help="keeps the recordings there")
    o = p.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as tmp:
        store = os.path.join(tmp, "store")
        os.mkdir(store)
        profiles = o.profiles or record(o, tmp)
        if o.keep:
            for f in profiles:
                shutil.copy(f, o.keep)
        subprocess.run([str(jvm.build_dir() / "tests/integration/store_month"), store, str(o.targets), str(o.days), str(o.samples), *profiles],
                       check=True)
        taken = sizes(store)
        row("%d days of %d targets, %d samples each in 10 s" % (o.days, o.targets, o.samples), "%.2f GB: %s" % (
            sum(taken.values()) / 1e9, ", ".join("%s %.0f MB" % (k, v / 1e6) for k, v in sorted(taken.items()))), "2 GB",
            sum(taken.values()) <= BYTES_BAR)
        measure_pages(tmp, o.targets)
    return finish(began)


if __name__ == "__main__":
    sys.exit(main())
