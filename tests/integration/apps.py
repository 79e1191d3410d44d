#!/usr/bin/env python3
"""Profiles applications as they are (apps_list.py), each under each JDK, 15 s at 999 Hz, and checks what every profile must hold:

  complete stacks    99.9 % once it has started; from its first instruction on, 99.5 %
  samples x period   within max(2 %, 3 sqrt((1 - p) / n)) of the CPU time used (p: share of a period used, n: samples due),
                     which is that of on_cpu.py where it is permitted and the application was there before
  names              no [unknown]; no class that is not in the JVM's own list of those it has loaded

usage: apps.py [--apps h2,tomcat|all] [--jdks 17,25|all] [--quick] [--results FILE] [--docs FILE] [--pin] [--list] [--keep DIR]

  --quick    two of them, one JDK each
  --results  a line of JSON for each; what this build of jsampler has passed is not run again
  --docs     writes the table of the results into that file
  --pin      brings the artifacts of all applications and writes tests/apps/SHA256SUMS; runs nothing
  --keep     stacks, messages and lists of classes of those that fail, into that folder

Applications come from Maven Central, into ~/.cache/jsampler/apps. Exit status: 0 all passed, 1 one failed, 2 wrong usage,
3 some are not available, and no other failed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import apps_fetch
import apps_table
import jvm
import on_cpu
from apps_check import Checked, loaded
from apps_list import ALL, QUICK, Place, Running
from matrix import all_jdks, version_of

JDKS = (17, 25)
FREQUENCY = 999
STARTUP_CPU_S = 3  # of CPU time, after which an application that is ready has started up


def own_version():
    run = subprocess.run([jvm.jsampler_path(), "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.splitlines()[0]


def own_digest():
    return hashlib.sha256(pathlib.Path(jvm.jsampler_path()).read_bytes()).hexdigest()[:16]


def sample(app, place, o):
    """(recording, seconds, what on_cpu.py says of its CPU clock or None) of an application that is started here."""
    options = ["-F", FREQUENCY, "--raw-names", "-d", o.duration]
    if app.from_start:
        return launch(app, place, options), o.duration, None
    with Running(app, place) as running:
        running.wait_ready()
        if not jvm.burn(running.pid, STARTUP_CPU_S):
            raise RuntimeError("%s uses no CPU time" % app.name)
        running.check()
        watched = watch(running.pid)
        recording = jvm.record(running.pid, *options)
        clock = watched and watched.stop()
        running.check()
    return recording, o.duration, clock


def watch(pid):
    """on_cpu.OnCpu, or None where it is not permitted."""
    try:
        return on_cpu.OnCpu(pid, FREQUENCY)
    except OSError:
        return None


def launch(app, place, options):
    """jsampler -- COMMAND."""
    out, messages = place.tmp / "out.folded", place.tmp / "messages"
    argv = [jvm.jsampler_path(), "-v", "-o", out, *options, "--", *app.command(place)]
    with open(messages, "wb") as err, open(place.log, "wb") as log:
        status = subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=log, stderr=err, cwd=place.tmp,
                                preexec_fn=jvm.die_with_parent, timeout=600).returncode
    said = messages.read_text(errors="replace")
    if status:
        raise RuntimeError("jsampler: exit status %d\n%s" % (status, said[-2000:]))
    with open(out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
        return jvm.Recording(status, list(jvm.parse_folded(f)), said)


def one_run(app, jdk, o):
    """A result: a dict; "bad": what is over a bar."""
    result = {"app": app.name, "title": app.title, "version": app.version(), "jdk": jdk.major, "jdk_version": version_of(jdk),
              "jsampler": own_version(), "digest": own_digest(), "frequency": FREQUENCY, "duration": o.duration}
    name = app.files or app.name
    files = apps_fetch.bring(name, app.artifacts, apps_fetch.sums().get(name, {})) if app.artifacts else None
    with tempfile.TemporaryDirectory(prefix="jsampler-apps-") as tmp:
        listing = pathlib.Path(tmp, "classes.log")
        place = Place(jdk, files, tmp, ["-Xlog:class+load:file=%s:none:filecount=0" % listing])
        try:
            recording, seconds, clock = sample(app, place, o)
        except (RuntimeError, OSError, subprocess.SubprocessError, SystemExit) as e:
            return {**result, "bad": [str(e)]}
        with open(listing, encoding="utf-8", errors="surrogateescape") as f:
            classes = loaded(f)
        c = Checked(recording, classes, FREQUENCY, seconds, len(os.sched_getaffinity(0)), app.from_start, clock)
        if o.keep and (c.bad or o.verbose):
            keep(pathlib.Path(o.keep) / ("%s-%d" % (app.name, jdk.major)), recording, listing)
    return {**result, "samples": c.samples, "complete": c.complete, "used": c.used, "off": c.off, "off_bar": c.off_bar,
            "lost": c.lost, "unknown": sum(n for n, _ in c.unknown), "classes": c.classes, "foreign": len(c.foreign),
            "sure": sum(c.sure) if c.sure else None, "bad": c.bad}


def keep(folder, recording, listing):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(listing, folder / "classes.log")
    (folder / "messages").write_text(recording.messages)
    with open(folder / "out.folded", "w", encoding="utf-8", errors="surrogateescape") as f:
        f.writelines("%s %d\n" % (";".join(frames), n) for frames, n in recording.folded)


def line_of(r):
    text = "%-16s JDK %d  " % (r["app"], r["jdk"])
    if "samples" in r:
        text += "%6d samples  complete %7.3f %%  samples x period %s of %.2f s (bar %.2f)  %d classes" % (
            r["samples"], r["complete"], "-" if r["off"] is None else "%+.2f %%" % (100 * r["off"]), r["used"], 100 * r["off_bar"], r["classes"])
    return text + "".join("\n    FAILED: " + b for b in r["bad"])


def read_results(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        rows = map(json.loads, f)
        return {(r["app"], r["jdk"]): r for r in rows}


def cells_of(o):
    """[(application, JDK)], and JDKs that are not here."""
    jdks = all_jdks()
    wanted = JDKS if o.jdks == "all" else tuple(int(j) for j in o.jdks.split(","))
    here = [j for j in wanted if j in jdks]
    if not here:
        sys.exit("no JDK %s here (scripts/jdks brings one)" % ", ".join(map(str, wanted)))
    named = {a.name: a for a in ALL}
    if o.quick:
        chosen = [(named[name], which([j for j in here if j >= named[name].since] or [0])) for name, which in QUICK]
        return [(a, jdks[j]) for a, j in chosen if j], []
    names = list(named) if o.apps == "all" else o.apps.split(",")
    for name in names:
        if name not in named:
            sys.exit("no application %s (--list)" % name)
    return ([(named[n], jdks[j]) for n in names for j in here if j >= named[n].since],
            [j for j in wanted if j not in jdks])


def run_cells(cells, o):
    """(results, those that are not available)."""
    results, absent = read_results(o.results), []
    digest = own_digest()
    for app, jdk in cells:
        known = results.get((app.name, jdk.major))
        if known and known["digest"] == digest and not known["bad"]:
            continue
        for left in reversed(range(o.tries)):
            try:
                r = one_run(app, jdk, o)
            except apps_fetch.NotHad as e:
                print("%s: not available: %s" % (app.name, e), flush=True)
                absent.append(app.name)
                break
            except apps_fetch.Altered as e:
                r = {"app": app.name, "jdk": jdk.major, "digest": digest, "bad": [str(e)]}
            print(line_of(r), flush=True)
            results[app.name, jdk.major] = r
            if o.results:
                with open(o.results, "a", encoding="utf-8") as f:
                    f.write(json.dumps(r) + "\n")
            if not r["bad"]:
                break
            if left:
                print("once more: %s, JDK %d" % (app.name, jdk.major), flush=True)
    return results, absent


def write_docs(path, results, cells):
    """All of one build, or nothing."""
    rows = [results.get((a.name, j.major)) for a, j in cells]
    if all(r and "title" in r and r["digest"] == own_digest() for r in rows):
        apps_table.write(path, rows, [a.name for a in ALL])
    else:
        print("%s is left as it is: some applications were not sampled" % path)


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--apps", default="all")
    p.add_argument("--jdks", default="all")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--results")
    p.add_argument("--docs")
    p.add_argument("--pin", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--keep")
    p.add_argument("--duration", type=int, default=15)
    p.add_argument("--tries", type=int, default=1)
    p.add_argument("-v", "--verbose", action="store_true", help="--keep those that pass, too")
    return p.parse_args()


def main():
    o = parse_arguments()
    if o.list:
        print("\n".join("%-16s %s" % (a.name, a.title) for a in ALL))
        return 0
    if o.pin:
        apps_fetch.pin({a.files or a.name: a.artifacts for a in ALL if a.artifacts})
        return 0
    cells, missing = cells_of(o)
    began = time.monotonic()
    results, absent = run_cells(cells, o)
    done = [results[a.name, j.major] for a, j in cells if (a.name, j.major) in results]
    failed = [r for r in done if r["bad"]]
    if o.docs:
        write_docs(pathlib.Path(o.docs), results, cells)
    for j in missing:
        print("apps: not tested: JDK %d, which is not here" % j)
    if absent:
        print("apps: not tested, not available: %s" % ", ".join(sorted(set(absent))))
    if failed:
        print("apps: FAILED: %s" % ", ".join("%s on JDK %d" % (r["app"], r["jdk"]) for r in failed))
    print("apps: %d passed, %d failed (%d s)" % (len(done) - len(failed), len(failed), time.monotonic() - began))
    return 1 if failed else 3 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
