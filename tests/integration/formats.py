#!/usr/bin/env python3
"""Saved profiles in the tools of the trade: one recording in all formats, go tool pprof, protoc, speedscope,
and what Go writes.

formats.py record       one recording, all formats; protoc and go tool pprof on it
formats.py convert      the command line: bad usage, bad files, stdin, gzip, pipes
formats.py go           a profile of Go's own runtime
formats.py speedscope   a converted profile in speedscope's importer, in headless Chromium
"""

import base64
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import jvm
import shell
from shell import check

PROTO = "sampler/pprof/profile.proto"
HOSTILE = jvm.ROOT / "tests/golden/hostile.folded"

GO_SOURCE = """package main

import (
	"os"
	"runtime/pprof"
	"syscall"
)

func usedMillis() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Sec*1000 + u.Utime.Usec/1000
}

func inner(n int) (s int) {
	for i := 0; i < n; i++ {
		s += i ^ s
	}
	return
}

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil || pprof.StartCPUProfile(f) != nil {
		os.Exit(1)
	}
	x, begin := 0, usedMillis()
	for usedMillis()-begin < 400 {
		x += inner(100000)
	}
	pprof.StopCPUProfile()
	f.Close()
	os.Exit(x & 0)
}
"""


def need(tool):
    if not shutil.which(tool):
        sys.exit("%s is missing; scripts/setup installs it" % tool)


def output(argv, **kw):
    run = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=jvm.PATIENCE,
                         **kw)
    check(" ".join(map(str, argv[:4])) + " ends well", run.returncode == 0, run.stderr.decode(errors="replace"))
    return run.stdout.decode(errors="replace")


def convert(*args):
    return output([shell.JS, "convert", *map(str, args)])


def folded(text):
    """{stack: count}, and their sum."""
    stacks = {}
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[stack] = int(count)
    return stacks, sum(stacks.values())


def pprof(tmp, *args):
    return output(["go", "tool", "pprof", *map(str, args)], env=shell.go_env(tmp))


def top(text):
    """{method: count} of `pprof -top -sample_index=samples`, without methods that only call."""
    rows = collections.Counter()
    for m in re.finditer(r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% +(.*?)(?: \((?:partial-)?inline\))?$", text, re.M):
        rows[m.group(2)] += int(m.group(1))
    return +rows


def check_top(tmp, path):
    """pprof and report see the same methods with the same counts."""
    theirs = top(pprof(tmp, "-top", "-sample_index=samples", "-nodecount=0", "-nodefraction=0", path))
    rows = json.loads(output([shell.JS, "report", "-f", "json", str(path)]))["rows"]
    ours = {r["method"]: r["self"] for r in rows if r["self"]}
    check("go tool pprof -top and report --flat agree (%d methods)" % len(ours), ours == theirs,
          sorted(set(ours.items()) ^ set(theirs.items()))[:10])


def messages(text, kind):
    """Texts of the outermost messages of a kind, out of protoc --decode."""
    return re.findall(r"^%s \{\n(.*?)^\}" % kind, text, re.M | re.S)


def numbers(text, field):
    return [int(v) for v in re.findall(r"^ *%s: (-?\d+)$" % field, text, re.M)]


def check_kinds(text, recorded):
    """How frames ran, as the suffixes of the recorded text say it."""
    for suffix, kind in (("0", "INTERPRETED"), ("1", "C1"), ("j", "C2"), ("i", "INLINED")):
        check("%s frames are kept apart" % kind, ("_[%s]" % suffix in recorded) == ("kind: %s\n" % kind in text))
    shared = any(len(re.findall(r"^  line \{", m, re.M)) > 1 for m in messages(text, "location"))
    check("inlined frames share locations", shared or "_[i]" not in recorded)


def check_message(path, tmp, recorded):
    """What stands in the file, as protoc sees it. recorded: the same as folded text."""
    raw = subprocess.run(["gzip", "-dc", str(path)], stdout=subprocess.PIPE, check=True).stdout
    with open(tmp + "/raw", "wb") as f:
        f.write(raw)
    with open(tmp + "/raw", "rb") as f:
        run = subprocess.run(["protoc", "-I", str(jvm.ROOT), "--decode=pprof.Profile", PROTO], stdin=f,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=jvm.PATIENCE)
    text = run.stdout.decode()
    check("protoc decodes it", run.returncode == 0 and text, run.stderr.decode())
    strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
    for kind in ("mapping", "location", "function"):
        ids = [numbers(m, "id")[0] for m in messages(text, kind)]
        check("ids of %ss are consecutive (%d)" % (kind, len(ids)), ids == list(range(1, len(ids) + 1)), ids[:20])
    mappings = {}
    for m in messages(text, "mapping"):
        build_id = numbers(m, "build_id")
        mappings[strings[numbers(m, "filename")[0]]] = strings[build_id[0]] if build_id else ""
    pseudo = {"[interpreter]"} | ({"[jit]"} if re.search(r"_\[[1ji]\]", recorded) else set())
    check("pseudo mappings are there", pseudo <= set(mappings), mappings)
    libjvm = [b for f, b in mappings.items() if f.endswith("libjvm.so")]
    check("libjvm.so has its build id", libjvm and re.fullmatch("[0-9a-f]{32,}", libjvm[0]), mappings)
    check("no address of the kernel", not re.search(r"address: \d{19,}", text)
          and "0xffff" not in text, re.findall(r"address: \d{19,}", text)[:3])
    keys = {strings[k] for k in numbers(text, "key")}
    check("labels", {"pid", "tid", "thread"} <= keys, keys)
    check_kinds(text, recorded)
    types = [(strings[numbers(m, "type")[0]], strings[numbers(m, "unit")[0]]) for m in messages(text, "sample_type")]
    check("sample types", types == [("samples", "count"), ("cpu", "nanoseconds")], types)
    values = [numbers(m, "value") for m in messages(text, "sample")]
    return sum(v[0] for v in values), sum(v[1] for v in values)


def record(tmp):
    need("go")
    need("protoc")
    jdk = jvm.pick_jdk(None)
    names = ["out.folded", "out.pb.gz", "out.speedscope.json", "out.html", "out.txt"]
    paths = {n.split(".", 1)[1]: os.path.join(tmp, n) for n in names}
    with jvm.Jvm(jdk, jvm.compile_java(jdk, "cli"), "Busy") as j:
        j.wait_ready()
        for seconds in ("4", "16", "60"):
            output([shell.JS, "-p", str(j.pid), "-d", seconds, "-F", "499", "-t", "--lines",
                    *[a for p in paths.values() for a in ("-o", p)]])
            if folded(pathlib.Path(paths["folded"]).read_text())[1] > 20:
                break
    text = pathlib.Path(paths["folded"]).read_text()
    stacks, samples = folded(text)
    check("there are samples (%d)" % samples, samples > 20)
    counts, weight = check_message(paths["pb.gz"], tmp, text)
    check("pprof has as many samples", counts == samples, (counts, samples))
    # Not to the nanosecond: the reader's CPU time on a thread's CPU is taken off (perf_step.h), what events left over when
    # others took their place is added (perf_rest.h), and the count of what no sample stands for is rounded.
    period = 10 ** 9 // 499
    due = samples * period
    rest = {s: n for s, n in stacks.items() if "[not sampled: " in s}
    check("weights are samples times the period", 0.95 * due <= weight <= 1.02 * due + len(rest) * period / 2, (weight, due, rest))
    scope = json.loads(pathlib.Path(paths["speedscope.json"]).read_text())["profiles"][0]
    check("speedscope has the same weight", sum(scope["weights"]) == weight == scope["endValue"], scope["endValue"])
    html = pathlib.Path(paths["html"]).read_text()
    page_samples = re.search(r'"samples":(\d+)', html)
    check("the page has as many samples", page_samples and int(page_samples.group(1)) == samples, page_samples)
    check("the text has as many samples", re.search(r"^samples +%d," % samples,
                                                   pathlib.Path(paths["txt"]).read_text(), re.M), samples)
    check("pprof to folded gives the recorded text", convert(paths["pb.gz"], "-f", "folded") == text)
    convert(paths["folded"], "-o", tmp + "/again.pb.gz")
    check("folded to pprof to folded gives the same text", convert(tmp + "/again.pb.gz", "-f", "folded") == text)
    convert(paths["pb.gz"], "-o", tmp + "/again.html")
    data = re.compile(r'<script[^>]*application/json[^>]*>.*?</script>', re.S)
    check("pprof to html gives the recorded page", data.findall(pathlib.Path(tmp, "again.html").read_text())
          == data.findall(html) != [])
    check_top(tmp, paths["pb.gz"])
    check("-tree", "Busy" in pprof(tmp, "-tree", paths["pb.gz"]))
    check("-raw", "libjvm.so" in pprof(tmp, "-raw", paths["pb.gz"]))
    convert(paths["pb.gz"], paths["pb.gz"], "-o", tmp + "/twice.pb.gz")
    check("merged with itself it is twice as much", check_message(tmp + "/twice.pb.gz", tmp, text)
          == (2 * counts, 2 * weight))
    kinds = sum(folded(convert(paths["pb.gz"], "-f", "folded", "--kind", k))[1] for k in
                ("kernel", "native", "interpreted", "c1", "c2", "inlined", "jni", "stub", "unknown"))
    check("kinds of leaves add up", kinds + sum(rest.values()) == samples, (kinds, rest, samples))


def run(*args, **kw):
    return subprocess.run([shell.JS, "convert", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=jvm.PATIENCE, **{"stdin": subprocess.DEVNULL, **kw})


def refused(what, status, message, *args):
    r = run(*args)
    text = r.stderr.decode()
    check(what, r.returncode == status and message in text and text.count("\n") == 1, (r.returncode, text))


def convert_command(tmp):
    good, bad, out = (os.path.join(tmp, n) for n in ("good.folded", "bad.txt", "out.folded"))
    pathlib.Path(good).write_text("[main tid=7];a/B.c_[0];d_[k] 2\n[gc tid=8];e 3\n")
    pathlib.Path(bad).write_text("a;b 1\nno count\n" + "x 1.5\n" * 20 + "c 4\n" * 20)
    refused("no file", 2, "convert which file?", "-o", out)
    refused("no such format", 2, "unknown file name ending", good, "-o", tmp + "/x.zzz")
    refused("no such kind", 2, "--kind baked: one of", good, "--kind", "baked", "-o", out)
    refused("bad expression", 2, "--include", good, "-I", "(", "-o", out)
    refused("stdin twice", 2, "stdin", "-", "-", "-o", out)
    refused("no such input", 1, "No such file", tmp + "/none", "-o", out)
    refused("no profile", 1, "is not a profile", jvm.ROOT / "LICENSE", "-o", out)
    refused("not pprof", 1, "bad pprof at byte", shell.JS, "-o", out)
    check("a failed run leaves nothing", not os.path.exists(out))
    r = run(bad, "-o", out)
    lines = r.stderr.decode().splitlines()
    check("bad lines are reported by their numbers", r.returncode == 0 and len(lines) == 9 and "line 2: " in lines[0]
          and "line 3: " in lines[1] and "13 more" in lines[8], lines)
    check("the others are kept", pathlib.Path(out).read_text() == "a;b 1\nc 80\n")
    check("-q says nothing of them", run(bad, "-q", "-o", out).stderr == b"")
    packed = subprocess.run(["gzip", "-c", good], stdout=subprocess.PIPE, check=True).stdout
    check("stdin, in gzip", run("-", input=packed, stdin=None).stdout == run(good).stdout != b"")
    check("--include-threads", run(good, "--include-threads", "^gc$").stdout == b"[gc tid=8];e 3\n")
    check("--kind", run(good, "--kind", "Kernel,c1").stdout == b"[main tid=7];a/B.c_[0];d_[k] 2\n")
    check("--no-annotate", b"a/B.c;d 2" in run(good, "--no-annotate").stdout)
    check("a file onto itself", run(good, good, "-o", good).returncode == 0
          and folded(pathlib.Path(good).read_text())[1] == 10)
    closed = subprocess.run("%s convert %s | true" % (shell.JS, good), shell=True, stderr=subprocess.PIPE, timeout=jvm.PATIENCE)
    check("a closed pipe is no failure", closed.stderr == b"", closed.stderr)


def go(tmp):
    need("go")
    source = os.path.join(tmp, "spin.go")
    pathlib.Path(source).write_text(GO_SOURCE)
    output(["go", "build", "-o", tmp + "/spin", source], env=shell.go_env(tmp))
    output([tmp + "/spin", tmp + "/spin.prof"])
    text = convert(tmp + "/spin.prof", "-f", "folded")
    stacks, samples = folded(text)
    raw = pprof(tmp, "-raw", tmp + "/spin.prof")
    theirs = sum(int(n) for n in re.findall(r"^ +(\d+) +\d+: [\d ]+$", raw, re.M))
    check("as many samples as Go wrote (%d)" % theirs, samples == theirs > 5, text + raw)
    check("Go's stacks", any(s.startswith("runtime.main;main.main;main.inner") for s in stacks), text)
    convert(tmp + "/spin.prof", "-o", tmp + "/ours.pb.gz")
    check_top(tmp, tmp + "/ours.pb.gz")
    check("and back", convert(tmp + "/ours.pb.gz", "-f", "folded") == text)


def stacks_of(events, frames):
    """{stack, root first: weight} of an evented profile."""
    open_frames, last, weights = [], 0, collections.Counter()
    for e in events:
        if e["at"] > last and open_frames:
            weights[";".join(open_frames)] += e["at"] - last
        last = e["at"]
        if e["type"] == "O":
            open_frames.append(frames[e["frame"]]["name"])
        else:
            open_frames.pop()
    return dict(weights)


def speedscope(tmp):
    import chromium
    index = jvm.ROOT / "build/npm/speedscope/dist/release/index.html"
    if not index.exists():
        sys.exit("%s is missing; scripts/setup fetches it" % index)
    mixed = jvm.ROOT / "tests/golden/mixed.folded"
    convert(mixed, HOSTILE, "-o", tmp + "/x.speedscope.json")
    want, samples = folded(convert(mixed, HOSTILE, "-f", "folded"))
    data = base64.b64encode(pathlib.Path(tmp, "x.speedscope.json").read_bytes()).decode()
    pathlib.Path(tmp, "load.js").write_text("speedscope.loadFileFromBase64('x.speedscope.json', '%s')" % data)
    with chromium.Chromium() as browser:
        page = browser.page("file://%s#localProfilePath=%s/load.js" % (index, tmp))
        deadline = time.monotonic() + jvm.PATIENCE
        while "jsampler" not in page.js("document.title") and time.monotonic() < deadline:
            time.sleep(0.1)
        check("speedscope shows it", "jsampler" in page.js("document.title"), page.log)
        # What its importer made of the file is what it would save.
        page.js("window.saved = []; const make = URL.createObjectURL;"
                "URL.createObjectURL = b => { window.saved.push(b); return make.call(URL, b); }; 1")
        page.js("window.dispatchEvent(new KeyboardEvent('keydown', {key: 's', ctrlKey: true, bubbles: true})); 1")
        text = page.js("window.saved.length ? window.saved[0].text() : ''")
        check("no error", not any("exception" in line for line in page.log), page.log)
    got = json.loads(text or "{}")
    if not check("it imported one profile", len(got.get("profiles", [])) == 1, text[:500]):
        return
    weights = stacks_of(got["profiles"][0]["events"], got["shared"]["frames"])
    check("stacks and weights are those of the folded text (%d samples)" % samples, weights == want,
          sorted(set(weights.items()) ^ set(want.items()))[:10])


def main():
    tests = {"record": record, "convert": convert_command, "go": go, "speedscope": speedscope}
    if len(sys.argv) != 2 or sys.argv[1] not in tests:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="jsampler-formats-") as tmp:
        tests[sys.argv[1]](tmp)
    shell.finish()


main()
