#!/usr/bin/env python3
"""What the keeper has stored, asked for: by report and convert, and over HTTP, by the curious, the careless and the hostile."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import jvm
from shell import JS, can_be_nobody, check, finish, nobody

FILL = jvm.build_dir() / "tests/integration/keeper_fill"
TARGETS, STEPS, TOKEN = 3, 12, "s3cret-t0ken-of-24-bytes"
# Each step of target i has 1 + i samples; 1 and 3 are the shop, 2 is the bank.
ALL, SHOP, BANK = STEPS * (1 + 2 + 3), STEPS * (1 + 3), STEPS * 2
API = (jvm.ROOT / "docs/api.yaml").read_text()


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)  # waits while many others do
        self.sock.settimeout(self.timeout)


@contextlib.contextmanager
def keeper(folder):
    """Its socket, PID and port."""
    store, path = folder / "store", str(folder / "socket")
    store.mkdir()
    child = subprocess.Popen([FILL, store, path, str(TARGETS), str(STEPS), TOKEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        _, pid, port = child.stdout.readline().split()
        yield path, int(pid), int(port)
    finally:
        _, said = child.communicate(timeout=60)
        check("the keeper ends well, and had nothing to say", child.returncode == 0 and not said, said)


def get(path, target, method="GET", headers=None, body=None):
    c = Unix(path)
    c.request(method, target, body=body, headers=headers or {})
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, r.getheader("Content-Type"), body


def get_json(path, target):
    status, kind, body = get(path, target)
    check("%s answers" % target, status == 200 and kind == "application/json", body)
    return json.loads(body)


def run(*args, **kwargs):
    return subprocess.run([JS, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, **kwargs)


def folded(done):
    return sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines())


# --- the command line ---

def commands(source, what):
    """report and convert, from the socket or the files."""
    for args, expected in (([], ALL), (["--service", "bank"], BANK), (["--label", "main=*.Shop", "--label", "jdk=25*"], SHOP),
                           (["--until", "0.001s", "--service", "sh?p"], SHOP)):
        done = run("convert", *source, "--since", "30m", *args, "-o", "-")
        check("%s: convert %s" % (what, " ".join(args)), folded(done) == expected, done)
    done = run("report", *source, "--since", "2h", "--tiers")
    check("%s: report --tiers" % what, "c/C.m1" in done.stdout and done.returncode == 0, done)
    done = run("convert", *source, "--since", "30m", "-I", "m1$", "-o", "-")
    check("%s: filters of convert" % what, 0 < folded(done) < ALL, done)
    done = run("diff", *source, "--since", "50s", "--until", "0.001s", "-f", "json", "-n", "0", "--all")
    rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
    check("%s: diff with the time before" % what, len(rows) >= 5, done)
    done = run("diff", *source, "--since", "30m", "--against", "30m", "--fail-if", "any self(c/**) > +0.1pt")
    check("%s: diff of the same times" % what, done.returncode == 0 and done.stdout, done)
    done = run("diff", *source, "--since", "30m", "--against", "2020-01-01")
    check("%s: diff says which side is empty" % what, done.returncode == 1 and "2020-01-01 00:00:00 for 1800 s: there is" in done.stderr, done)
    for args, says in ((["--since", "30m", "--service", "none"], "no sampled program"), (["--since", "2020-01-01", "--until", "2020-01-02"], "of that time")):
        done = run("report", *source, *args)
        check("%s: %s" % (what, " ".join(args)), done.returncode == 1 and says in done.stderr and not done.stdout, done)


def doctor(path, level, says):
    done = run("doctor", "-f", "json", "--socket", path)
    found = [c for c in json.loads(done.stdout)["checks"] if c["check"] == "daemon"]
    check("doctor: %s" % says, len(found) == 1 and found[0]["level"] == level and says in found[0]["text"], found)


def wrong_usage():
    for args, says in ((["--until", "3"], "--since TIME is missing"), (["--since", "3:99"], "3:07"), (["--since", "1m", "--until", "5m"], "not before"),
                       (["--since", "1m", "x.folded"], "not both"), (["--since", "1m", "--label", "x"], "KEY=PATTERN"),
                       (["--since", "1m", "--store", ".", "--socket", "x"], "cannot be combined"), (["--since", "2026-02-31x"], "--since")):
        for command in ("report", "convert", "diff"):
            done = run(command, *args)
            check("%s %s" % (command, " ".join(args)), done.returncode == 2 and says in done.stderr, done)
    done = run("report", "--since", "1m", "--socket", "/nonexistent")
    doctor("/nonexistent", "skip", "no daemon answers at /nonexistent")
    check("no daemon", done.returncode == 1 and "is jsampler daemon running?" in done.stderr, done)


def liars(folder):
    """A daemon that answers with anything."""
    path = str(folder / "liar")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
        s.listen()
        for answer in (b"", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nx", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx",
                       b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\nx", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxx",
                       b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x0a\x0b\x0c\x0d", b"x" * 100000,
                       b"HTTP/1.1 404 No\r\nContent-Length: 30\r\n\r\n{\"error\":\"\\u001b[2J\\u00e9\\u\"}  "):
            with subprocess.Popen([JS, "report", "--since", "1m", "--socket", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as child:
                c, _ = s.accept()
                with c, contextlib.suppress(OSError):
                    c.recv(4096)
                    c.sendall(answer)
                    c.shutdown(socket.SHUT_WR)
                    child.wait(30)
                said = child.stderr.read()
                check("an answer of %r" % answer[:40], child.wait(30) == 1 and said.startswith(b"jsampler: ") and b"\x1b" not in said, said)


# --- the interface ---

def as_documented(path):
    """Each path of docs/api.yaml, and its members."""
    parts = re.split(r"^  (/\S+):$", API, flags=re.M)[1:]
    documented = dict(zip(parts[::2], parts[1::2]))
    check("paths are documented", len(documented) == 13, documented.keys())
    source = (jvm.ROOT / "sampler/daemon/http/http.c").read_text()
    check("all of them, and no others", set(re.findall(r'^\s*\{"(/[^"]+)"|, \{"(/[^"]+)"', source, re.M)) and
          set(re.findall(r'\{"(/[\w/]+)", answer_', source)) == {d.replace("{id}", "") for d in documented}, documented.keys())
    kept = next(c["id"] for c in get_json(path, "/api/v1/captures")["captures"] if c["state"] == "done")
    for target, text in documented.items():
        target = target.replace("{id}", str(kept))
        text = text.split("\n    post:")[0]
        arguments = re.search(r"x-try: (.*)", text)
        status, kind, body = get(path, target + ("?" + arguments.group(1) if arguments else ""))
        check("%s is there" % target, status == 200 and body, (status, body))
        members = re.search(r"x-members: \[(.*)\]", text)
        if not members:
            continue
        found = json.loads(body)
        check("%s has the members of docs/api.yaml" % target, list(found) == members.group(1).split(", "), body)
        row = re.search(r"x-row: \[(.*)\]", text)
        if row:
            check("%s has rows as in docs/api.yaml" % target, list(next(iter(found.values()))[0]) == row.group(1).split(", "), body)


def answers(path):
    targets = get_json(path, "/api/v1/targets?from=1h")["targets"]
    check("targets", [t["samples"] for t in targets] == [STEPS, 2 * STEPS, 3 * STEPS], targets)
    check("what they used, by how it ran", all(t["kinds"] == {"interpreted": t["weight"]} for t in targets), targets)
    for t in targets:
        _, _, body = get(path, "/api/v1/profile?from=1h&format=folded&target=" + t["target"])
        check("the profile of one", sum(int(line.rsplit(b" ", 1)[1]) for line in body.splitlines()) == t["samples"], body)
    check("how often they are sampled", all(t["period"] == 20408163 and t["since"] > 0 for t in targets), targets)
    lines = get(path, "/api/v1/targets?from=1h&format=text")[2].decode().splitlines()
    check("targets as text", [x.split("\t") for x in lines] ==
          [[t["target"], str(t["since"]), str(t["period"]), str(t["weight"]), t["labels"]["service"]] for t in targets], lines)
    events = get_json(path, "/api/v1/events?from=1h")["events"]
    check("events", [e["text"] for e in events] == ['sampled at 24 Hz: <b>"cost"</b>'] and events[0]["pid"] == 1, events)
    check("and of another", get_json(path, "/api/v1/events?from=1h&label.service=bank")["events"] == [])
    for name, start in (("html", b"<!DOCTYPE html>"), ("pprof", b"\x1f\x8b"), ("speedscope", b"{"), ("folded", b"a/A.run"), ("text", b"")):
        status, _, body = get(path, "/api/v1/profile?from=1h&format=" + name)
        check("format %s" % name, status == 200 and body.lower().startswith(start.lower()) and body, body[:200])
    _, kind, body = get(path, "/metrics")
    check("metrics", kind.startswith("text/plain; version=0.0.4") and re.search(rb"^jsampler_store_bytes \d+$", body, re.M), body)


def captures(path):
    """Those of keeper_fill: PID 1 has two samples, 2 none, 3 does not end, 4 is refused."""
    def post(query):
        status, _, body = get(path, "/api/v1/captures?" + query, "POST")
        return status, json.loads(body)

    def row(id_):
        return next(c for c in get_json(path, "/api/v1/captures")["captures"] if c["id"] == id_)

    status, made = post("pid=1&frequency=999&seconds=30")
    check("a capture begins", status == 201 and made["state"] == "running", made)
    check("and ends", jvm.wait_until(lambda: row(made["id"])["state"] == "done", 20))
    check("who asked for it, and for what", {**row(made["id"]), "bytes": 0} == {**made, "state": "done", "by": os.geteuid(), "frequency": 999, "seconds": 30}, row(made["id"]))
    for name, start in (("html", b"<!doctype html>"), ("pprof", b"\x1f\x8b"), ("folded", b"a/a.run")):
        status, _, body = get(path, "/api/v1/captures/%d?format=%s" % (made["id"], name))
        check("a capture as %s" % name, status == 200 and body.lower().startswith(start), body[:100])
    check("it has both pieces", sum(int(x.rsplit(b" ", 1)[1]) for x in body.splitlines()) == 2, body)
    check("the history has none of it", sum(t["samples"] for t in get_json(path, "/api/v1/targets?from=1h")["targets"]) == ALL)
    told = lambda: [e["text"] for e in get_json(path, "/api/v1/events?from=1h")["events"] if e["kind"] == "capture"]
    jvm.wait_until(told, 20)  # what is new in the store can be seen from the next flush on
    events = told()
    check("but says so", len(events) == 1 and "capture %d: sampled 999 times" % made["id"] in events[0] and "by user %d" % os.geteuid() in events[0], events)
    post("pid=2")  # it may have failed before there is an answer
    failed = lambda: [c for c in get_json(path, "/api/v1/captures")["captures"] if c["pid"] == 2 and c["state"] == "failed" and c["why"]]
    check("one without samples fails", jvm.wait_until(failed, 20))
    check("which is told", get(path, "/api/v1/captures/%d" % failed()[0]["id"])[0] == 404)
    running = [post("pid=3&seconds=600")[1]["id"] for _ in range(4)]
    check("one that runs is not there yet", get(path, "/api/v1/captures/%d" % running[0])[0] == 409)
    check("four at once", post("pid=1")[0] == 503)
    check("a refusal is told", post("target=b:4:1")[0] in (404, 503))
    for wrong in ("", "pid=0", "pid=x", "pid=4294967295", "pid=1&frequency=0", "pid=1&frequency=1001", "pid=1&seconds=601", "pid=1&seconds=0", "target=x"):
        check("400 for " + wrong, post(wrong)[0] == 400)
    for wrong in ("0", "x", "1/2", "../lock", "99999999999999999999", "%2e%2e", "7"):
        check("404 for capture " + wrong, get(path, "/api/v1/captures/" + wrong)[0] == 404)
    check("not with POST", get(path, "/api/v1/captures/7", "POST")[0] == 405)
    done = run("capture", "--socket", path, "--list")
    check("capture --list", re.search(r"^%d +done +1 +999 +30 +\d+ " % made["id"], done.stdout, re.M), done)
    done = run("capture", "--socket", path, "--get", made["id"])
    check("capture --get", folded(done) == 2, done)
    for args, says in ((["1"], "4 captures are running"), (["--get", "7"], "there is no capture 7"), (["x*"], "no running program called 'x*'")):
        done = run("capture", "--socket", path, *args)
        check("capture %s" % args, done.returncode == 1 and says in done.stderr and not done.stdout, done)


def series(path):
    """Against profiles of the same times."""
    whole = get_json(path, "/api/v1/series?from=2m")
    check("cells of ten seconds", whole["step"] == 10 and 12 <= len(whole["samples"]) <= 13 and sum(whole["samples"]) > 50, whole)
    for i, n in enumerate(whole["samples"][:3]):
        at = whole["from"] + 10 * i
        body = get(path, "/api/v1/profile?format=folded&from=%d&to=%d" % (at, at + 10))[2]
        check("cell %d is its profile" % i, sum(int(x.rsplit(b" ", 1)[1]) for x in body.splitlines() if x[:1] != b"{") == n, (n, body))
    check("without arguments, one row", [r["samples"] for r in whole["series"]] == [whole["samples"]], whole)
    for n in range(5):
        found = get_json(path, "/api/v1/series?from=1h&step=1h&self=1&method=%%5EC%%5C.m%d%%24%%7C%%5Ec/C%%5C.m%d%%24" % (n, n))
        body = get(path, "/api/v1/profile?format=folded&from=1h")[2]
        expected = sum(int(x.rsplit(b" ", 1)[1]) for x in body.splitlines() if b"c/C.m%d" % n in x)
        check("samples of m%d" % n, sum(sum(r["samples"]) for r in found["series"]) == expected > 0, (found, expected))
    for by, names in (("kind", ["interpreted"]), ("label.service", ["bank", "shop"]), ("label.none", [""])):
        found = get_json(path, "/api/v1/series?from=1h&by=" + by)
        check("by %s" % by, sorted(r["name"] for r in found["series"]) == names, found)
        check("rows by %s add up" % by, [sum(c) for c in zip(*[r["weight"] for r in found["series"]])] == found["weight"], found)
    found = get_json(path, "/api/v1/heatmap?from=1h&step=10m")["series"]
    check("a heatmap", {r["pid"]: sum(r["samples"]) for r in found} == {i + 1: STEPS * (i + 1) for i in range(TARGETS)}, found)
    found = get_json(path, "/api/v1/series?from=3650d")
    check("ten years", sum(found["samples"]) == ALL and len(found["samples"]) <= 401, len(found["samples"]))
    check("before the history", get_json(path, "/api/v1/series?from=1&to=100000")["series"] == [])


def recent(path):
    """The last hour by 20 ms: step n of each target begins 10 n seconds ago, and has its samples n % 5 cells later."""
    to = int(time.time()) + 1
    found = get_json(path, "/api/v1/heatmap?step=20ms&from=%d&to=%d" % (to - 200, to))
    at = [(i, n) for i, n in enumerate(found["samples"]) if n]
    check("cells of 20 ms", found["step_ms"] == 20 and len(found["samples"]) == 10000 and found["from"] == to - 200, found["step_ms"])
    check("all samples, where they were", sum(n for _, n in at) == ALL and len(at) == STEPS and
          [i % 50 for i, _ in reversed(at)] == [n % 5 for n in range(STEPS)], at)
    begin = to - 200 + at[-1][0] * 0.02  # of one cell
    for query, n in (("", 6), ("&label.service=bank", 2), ("&thread=exec-1", 6), ("&thread=exec-1%24", 0), ("&method=B.hash", 6), ("&method=B.hash&self=1", 0)):
        found = get_json(path, "/api/v1/heatmap?step=20ms&from=%.3f&to=%.3f%s" % (begin, begin + 0.02, query))
        check("one cell%s" % query, found["samples"] == [n], found)
    status, _, body = get(path, "/api/v1/profile?exact=1&from=1h&thread=x")
    check("a range from before the memory begins", status == 404 and b"begins at" in body, body)
    status, _, body = get(path, "/api/v1/profile?exact=1&from=%d" % (to - 1))
    check("a range without samples", status == 404, body)


def differences(path):
    """Against the profiles of both sides."""
    def sides(query):
        found = get_json(path, "/api/v1/diff?" + query)
        return found["before"]["samples"], found["after"]["samples"], {r["method"]: r for r in found["rows"]}

    before, after, rows = sides("from=1m")
    check("two ranges", before + after >= ALL - 18 and min(before, after) > 0, (before, after))
    check("the same methods twice", rows["a/A.run"]["total_before"] == before and rows["a/A.run"]["total_after"] == after, rows)
    at = int(time.time()) - 3600
    before, after, rows = sides("from=%d&label.service=shop&against.label.service=bank" % at)
    check("two services", (before, after) == (BANK, SHOP) and rows["b/B.hash"]["total_before"] == BANK, (before, after))
    one, two = (t["target"] for t in get_json(path, "/api/v1/targets?from=1h")["targets"][:2])
    check("two programs", sides("from=1h&target=%s&against.target=%s" % (two, one))[:2] == (STEPS, 2 * STEPS))
    check("labels that are not replaced are those of both", sides("from=1h&label.main=*Shop&label.jdk=25*&against.label.jdk=*")[:2] == (SHOP, SHOP))
    check("as given", sides("from=1h&against=1h")[:2] == (ALL, ALL))
    status, kind, body = get(path, "/api/v1/diff?from=1m&format=html")
    check("a page", status == 200 and kind.startswith("text/html") and body.lower().startswith(b"<!doctype html>"), body[:100])
    status, _, body = get(path, "/api/v1/diff?from=1h&against.label.service=none")
    check("which side has nothing", status == 404 and b"service=none" in body, body)


def by_scrapers(path, folder):
    """Steps that follow one another: none is missing, and none comes twice."""
    file = folder / "scraped.pb.gz"

    def scrape(query):
        before = time.time()
        status, _, body = get(path, "/debug/pprof/profile?" + query)
        file.write_bytes(body)
        return status, folded(run("convert", file, "-o", "-")) if status == 200 else 0, before

    for seconds in (10, 15, 60):
        status, n, at = scrape("seconds=%d" % seconds)
        expected = []
        for now in (at, time.time()):
            to, begin = int(now - 15) // 10 * 10, int(now - 15 - seconds) // 10 * 10
            lines = get(path, "/api/v1/profile?format=folded&from=%d&to=%d" % (begin, to))[2].splitlines()
            expected.append(sum(int(x.rsplit(b" ", 1)[1]) for x in lines))
        check("the last %d seconds" % seconds, status == 200 and n in expected and n > 0, (status, n, expected))
    check("of one service", 0 < scrape("seconds=60&label.service=bank")[1] < scrape("seconds=60")[1])
    check("of none", scrape("label.service=none")[0] == 404)
    for wrong in ("seconds=0", "seconds=86401", "seconds=x", "seconds=-1", "seconds=99999999999999999999"):
        check("400 for " + wrong, scrape(wrong)[0] == 400)


def wrong_questions(path):
    for target, status in (("/", 404), ("/api/v1/../../etc/passwd", 404), ("/api/v1/profile?format=x", 400), ("/api/v1/profile?format=null", 400),
                           ("/api/v1/profile?from=x", 400), ("/api/v1/profile?from=2&to=1", 400), ("/api/v1/profile?from=99999999999999999999", 400),
                           ("/api/v1/profile?from=1&to=2", 404), ("/api/v1/profile?from=3650d", 200), ("/api/v1/profile?label.service=none", 404),
                           ("/api/v1/targets?label.=x", 400), ("/api/v1/targets?label.x=", 400), ("/api/v1/targets?label.x=" + "*" * 300, 400),
                           ("/api/v1/targets?target=x", 400), ("/api/v1/targets?target=b:0:1", 400), ("/api/v1/targets?target=b:99999999999:1", 400),
                           ("/api/v1/series?from=1d&step=10", 400), ("/api/v1/series?step=7", 400), ("/api/v1/series?step=", 400),
                           ("/api/v1/series?step=99999999999999999999", 400), ("/api/v1/series?by=x", 400), ("/api/v1/series?by=label.", 400),
                           ("/api/v1/series?self=yes", 400), ("/api/v1/heatmap?step=20ms&from=2h", 400), ("/api/v1/heatmap?step=21ms", 400), ("/api/v1/profile?exact=2", 400),
                           ("/api/v1/profile?thread=x", 400), ("/api/v1/profile?step=20ms", 400), ("/api/v1/profile?method=x", 400),
                           ("/api/v1/series?exact=1", 400), ("/api/v1/series?step=20ms", 400), ("/api/v1/heatmap?exact=1", 400), ("/api/v1/diff?exact=1", 400),
                           ("/api/v1/profile?exact=1&thread=(", 400), ("/api/v1/profile?from=1.5.5", 400), ("/api/v1/profile?from=.", 400), ("/api/v1/series?method=", 400), ("/api/v1/series?method=" + "a" * 256, 400),
                           ("/api/v1/series?method=(", 400), ("/api/v1/series?method=a{255}{255}{255}", 400), ("/api/v1/series?method=" + "(" * 200, 400),
                           ("/api/v1/series?method=((((((((((((((((a%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B)%2B%24", 200),
                           ("/api/v1/diff?format=pprof", 400), ("/api/v1/profile?format=json", 400), ("/api/v1/diff?against=x", 400),
                           ("/api/v1/diff?against.x=1", 400), ("/api/v1/diff?againstx=1", 400), ("/api/v1/diff?against.target=1", 400),
                           ("/api/v1/diff?against.label.=1", 400), ("/api/v1/diff?" + "&".join(["against.label.a=b"] * 17), 400),
                           ("/api/v1/diff?from=1&to=9223372036", 404), ("/api/v1/diff?against=1&from=1h", 404),
                           ("/api/v1/targets?nothing=1", 400), ("/api/v1/targets?" + "&".join(["label.a=b"] * 17), 400),
                           ("/api/v1/targets?" + "&".join(["from=1h"] * 40), 400)):
        found, kind, body = get(path, target)
        check("%d for %s" % (status, target[:60]), found == status and (status == 200 or len(json.loads(body)["error"]) > 10), (found, body[:300]))
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        status, _, _ = get(path, "/healthz", method)
        check("no %s" % method, status in (405, 413), status)
    check("no body", get(path, "/healthz", headers={"Content-Length": "9999999999"})[0] == 413)
    status, _, _ = get(path, "/healthz", headers={"Content-Length": "0", "content-length": "7"})
    check("no body that only the second of two headers announces", status == 413, status)
    status, _, _ = get(path, "/healthz?" + "x" * 40000)
    check("too long a request", status in (413, 414, 431), status)


def noise(path):
    """Anything at all: the keeper answers, or hangs up, and goes on."""
    rng = random.Random(4711)
    words = ["from", "to", "target", "label.service", "event", "format", "=", "&", "%00", "%ff", "9" * 30, "-1", "30m", "*" * 50, "\\", "7c1f:1:4711",
             "html", "text", "?", "%", "1", "label.", "against", "against.label.", "against.target", "exact=1", "step=20ms", "thread", "1.5", "method", "by", "step", "self", "(a+)", "[^"]
    end = time.monotonic() + 2
    n = 0
    while time.monotonic() < end:
        target = "/api/v1/%s?%s" % (rng.choice(["targets", "events", "profile", "status", "captures", "captures/7", "series", "heatmap", "diff"]), "".join(rng.choices(words, k=rng.randint(1, 12))))
        status, _, body = get(path, target)
        if status not in (200, 400, 404):
            check("an answer to %s" % target, False, (status, body[:300]))
            break
        with socket.socket(socket.AF_UNIX) as s, contextlib.suppress(OSError):
            s.connect(path)
            s.sendall(rng.randbytes(rng.randint(1, 3000)) if n % 2 else b"GET %s HTTP/1.%d\r\n%s" % (
                target.encode(), rng.randint(0, 9), rng.randbytes(200)))
        n += 1
    check("%d requests of noise" % (2 * n), n > 20 and get(path, "/healthz")[0] == 200)


def slow_clients(path):
    """100 that send nothing more, and 100 that do not read: others are answered soon."""
    waiting = []
    for i in range(100):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        with contextlib.suppress(OSError):
            s.connect(path)
            s.send(b"GET /api/v1/profile?from=1h&format=html HTTP/1.1\r\nHost: localhost\r\n" + (b"\r\n" if i % 2 else b""))
        waiting.append(s)
    begin = time.monotonic()
    status, _, _ = get(path, "/api/v1/targets?from=1h")
    took = time.monotonic() - begin
    check("100 slow clients keep nobody waiting", status == 200 and took < 10, took)
    for s in waiting:
        s.close()


def by_tcp(port):
    def ask(**headers):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        c.putrequest("GET", "/api/v1/targets", skip_host="Host" in headers)
        for key, value in headers.items():
            c.putheader(key, value)
        c.endheaders()
        status = c.getresponse().status
        c.close()
        return status

    bearer = {"Authorization": "Bearer " + TOKEN}
    check("the token opens", ask(**bearer) == 200)
    check("none does not", ask() == 401)
    for wrong in ("Bearer", "Bearer ", "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "x", "Basic " + TOKEN, TOKEN):
        check("nor does %s" % wrong, ask(Authorization=wrong) == 401)
    check("another host's name", ask(Host="evil.example:80", **bearer) == 403)
    check("another's page", ask(Origin="http://evil.example", **bearer) == 403)
    check("localhost", ask(Host="localhost:%d" % port, **bearer) == 200)


def after_a_gap(path, store):
    """What the keeper was not there for, and what it sent."""
    def happened(kind):
        with contextlib.closing(sqlite3.connect(next(store.glob("*-10m.db")))) as db, db:
            db.execute("insert into happening(at_ns, target, kind, text) values(?, null, ?, '\"kind\":\"gap\"')", (time.time_ns() - 10**9, kind))

    happened("restart")
    doctor(path, "ok", "has no gap in the last day; it was stopped and started again 1 time in that time")
    for kind in ("gap", "sampling gap", "throttle"):
        happened(kind)
    doctor(path, "warn", "has 2 gaps in the last day; it was stopped")


def rights(path, pid):
    status = pathlib.Path("/proc/%d/status" % pid).read_text()
    check("the keeper has no capabilities", re.search(r"^CapPrm:\t0+$", status, re.M) and re.search(r"^CapBnd:\t", status, re.M), status)
    check("and a filter of system calls", re.search(r"^Seccomp:\t2$", status, re.M), status)
    if os.geteuid() == 0:
        check("and is not root", not re.search(r"^Uid:.*\t0\b", status, re.M), status)
    if can_be_nobody():
        done = subprocess.run(nobody([JS, "report", "--since", "1h", "--socket", path]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check("another user sees nothing", done.returncode == 1 and not done.stdout and "cannot reach" in done.stderr, done)


def main():
    with tempfile.TemporaryDirectory(prefix="js-history-") as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        wrong_usage()
        liars(folder)
        with keeper(folder) as (path, pid, port):
            commands(["--socket", path], "the daemon")
            commands(["--store", folder / "store"], "its files, while it runs")
            answers(path)
            captures(path)
            as_documented(path)
            doctor(path, "ok", "has no gap in the last day")
            series(path)
            recent(path)
            differences(path)
            by_scrapers(path, folder)
            wrong_questions(path)
            rights(path, pid)
            by_tcp(port)
            slow_clients(path)
            after_a_gap(path, folder / "store")
            noise(path)
        commands(["--store", folder / "store"], "its files")
    finish()


if __name__ == "__main__":
    sys.exit(main())
