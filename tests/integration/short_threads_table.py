#!/usr/bin/env python3
"""The table of CPU time of brief threads in docs/measurements.md: every kind, life and number at once, as root and as a user.

    short_threads_table.py --results FILE                all cells that FILE lacks; about 80 minutes
    short_threads_table.py --results FILE --minutes 9    as many as fit
    short_threads_table.py --results FILE --show         the table, as Markdown

Each cell has several JVMs, and each JVM is recorded as root and as uid 65534 in turn. What a run is judged by is in
short_threads.py. FILE has a line of JSON for each cell; a cell that is there twice counts as the second.

Exit status: 0, or 1 where a bar was missed.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time

import jvm
import short_threads as st

KINDS, LIVES, NUMBERS = ("platform", "virtual", "both"), (1, 3, 15), (2, 20, 500)
FREQ, RUNS, PER_JVM = 999, 20, 10
# By the number at once. A recording of hundreds of threads begins in another way for two seconds.
SECONDS = {2: 2.0, 20: 2.0, 500: 3.0}
# As many lives as are at once are cut by the recording's begin, and by its end: what is left of them is a life of any length.
# Of 500 threads, those are 9 of 10 lives in 3 s, and 1 of 6 in 24 s.
USER_SECONDS = {2: 2.0, 20: 2.0, 500: 24.0}
USER_RUNS = {2: 20, 20: 20, 500: 4}


class Options:
    """Those of short_threads.py that a run looks at."""

    def __init__(self, user, duration):
        self.user, self.duration, self.option, self.depth, self.idle = user, duration, [], 0, 0


def busy_jiffies():
    with open("/proc/stat", encoding="ascii") as f:
        t = [int(w) for w in f.readline().split()[1:9]]
    return sum(t) - t[3] - t[4]


def measure(java, o, life):
    before, begin = busy_jiffies(), time.monotonic()
    run = st.Run(o, java, FREQ)
    busy = (busy_jiffies() - before) / os.sysconf("SC_CLK_TCK")
    others = max(0.0, busy - run.used * (time.monotonic() - begin) / o.duration)
    over = st.misses(o, run, FREQ, life * 1000)
    print("  %s: %s%s" % ("user" if o.user else "root", run.line(), "".join("\n    over: " + m for m in over)), flush=True)
    user_mode = run.used - run.missing[1]
    return {"off": 100 * (run.ratio - 1), "samples": run.samples, "share": run.share - run.true_share, "over": over,
            "sampled": 100 * run.sampled / user_mode, "bar": 100 * max(st.BAR_ROOT, 3 * run.scatter), "others": others / o.duration,
            "lost": run.lost}


def cell(jdk, kind, life, at_once):
    """What each run found: {"root": [...], "user": [...]}."""
    found = {"root": [], "user": []}
    root, user = Options(False, SECONDS[at_once]), Options(True, USER_SECONDS[at_once])
    while len(found["root"]) < RUNS:
        java = st.start(user, jdk, life * 1000, at_once, kind)
        try:
            java.wait_ready()
            time.sleep(2)  # a younger process is sampled in another way
            for _ in range(PER_JVM):
                found["root"].append(measure(java, root, life))
                if len(found["user"]) * RUNS < len(found["root"]) * USER_RUNS[at_once]:
                    found["user"].append(measure(java, user, life))
        finally:
            java.stop()
    return found


def bias(runs):
    return st.bound([r["off"] for r in runs])


def verdict(c):
    """What of a cell is over its bar: a bias, or more single runs than chance gives (1 in 300 each)."""
    over = []
    mean, half = bias(c["root"])
    if abs(mean) + half > st.BAR_BIAS:
        over.append("root's bias" + ("" if abs(mean) - half > st.BAR_BIAS else " (inconclusive)"))
    for who in ("root", "user"):
        n = sum(bool(r["over"]) for r in c[who])
        if n:
            over.append("%d of %d runs of %s" % (n, len(c[who]), who))
    return ", ".join(over)


def row(c):
    r, u = c["root"], c["user"]
    values = {who: [x["off"] for x in c[who]] for who in c if who in ("root", "user")}
    others = statistics.mean(x["others"] for x in r + u)
    return "| %s | %d ms | %d | %d | %+.2f ± %.2f | %+.1f | %+.2f ± %.2f | %.0f to %.0f %% | %+.1f | %.1f | %s |" % (
        c["kind"], c["life"], c["at_once"], sum(x["samples"] for x in r), *bias(r), max(values["root"], key=abs), *bias(u),
        min(x["sampled"] for x in u), max(x["sampled"] for x in u), max((x["share"] for x in u), key=abs), others, verdict(c))


def show(cells):
    print("| threads | life | at once | root: samples | bias, % | worst run, % | user: bias, % | sampled of user mode | "
          "worst share, points | others, CPUs | over its bar |")
    print("| " + "--- | " * 11)
    for key in sorted(cells, key=lambda k: (KINDS.index(k[0]), *k[1:])):
        print(row(cells[key]))


def read(path):
    cells = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                c = json.loads(line)
                cells[c["kind"], c["life"], c["at_once"]] = c
    return cells


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--results", required=True, metavar="FILE")
    p.add_argument("--jdk", default="25")
    p.add_argument("--minutes", type=float, default=math.inf, help="begin no cell that would end later")
    p.add_argument("--only", default="", help="cells to measure, again too: KIND-LIFE-NUMBER,...")
    p.add_argument("--show", action="store_true")
    o = p.parse_args()
    cells, begin, longest = read(o.results), time.monotonic(), 0
    only = [(k, int(life), int(n)) for k, life, n in (w.split("-") for w in o.only.split(",") if w)]
    if o.show:
        show(cells)
        sys.exit(any(verdict(c) for c in cells.values()))
    jdk = jvm.pick_jdk(o.jdk)
    # Numbers at once last: those of 500 take longest.
    due = only or [(k, life, n) for n in NUMBERS for k in KINDS for life in LIVES if (k, life, n) not in cells]
    for kind, life, at_once in due:
        started = time.monotonic()
        estimate = longest or (RUNS * (SECONDS[at_once] + 0.6) + USER_RUNS[at_once] * (USER_SECONDS[at_once] + 0.6) + 12)
        if started - begin + estimate > 60 * o.minutes:
            break
        print("%s of %d ms, %d at once, JDK %d" % (kind, life, at_once, jdk.major), flush=True)
        c = dict(cell(jdk, kind, life, at_once), kind=kind, life=life, at_once=at_once, jdk=jdk.major)
        longest = max(longest, time.monotonic() - started)
        with open(o.results, "a", encoding="utf-8") as f:
            f.write(json.dumps(c) + "\n")
        cells[kind, life, at_once] = c
        print(row(c), flush=True)
    show(cells)
    sys.exit(any(verdict(c) for c in cells.values()))


if __name__ == "__main__":
    main()
