#!/usr/bin/env python3
"""What a terminal gets: 80 columns, no colours, no escape sequences where it knows none, and closed pipes end quietly."""

import os
import re
import subprocess
import tempfile

import jvm
import shell
from shell import check


LINE = re.compile(r"\r *[\d.]+ s  [1-9]\d* samples  lost \d+  threads [1-9]\d*  own CPU [\d.]+ %")


def record(target, tmp):
    out = os.path.join(tmp, "o.folded")
    args = ["-p", target.pid, "-d", "1", "-F", "999", "-v", "-o", out]
    for term, live in (("xterm", True), ("dumb", False), ("", False)):
        what = "record on TERM=%s" % (term or "''")
        for seconds in ("1", "4", "16"):  # the line of a target without CPU time has no samples yet
            status, text = shell.on_terminal([*args[:3], seconds, *args[4:]], {"TERM": term, "NO_COLOR": "1"})
            if status or ("samples in" in text and (not live or LINE.search(text))):
                break
        check(what + ": the summary is there", status == 0 and "samples in" in text and "written: " in text, text)
        check(what + ": %s line that updates" % ("a" if live else "no"), ("\x1b[K" in text) == live, text)
        line = LINE.search(text)
        check(what + ": what it tells", bool(line) == live, text)
        rest = text.replace("\x1b[K", "") if live else text
        check(what + ": nothing else but text", "\x1b" not in rest, repr(text))
        shown = [part for line in rest.split("\n") for part in line.rstrip("\r").split("\r")]
        check(what + ": 80 columns", max(map(shell.columns_of, shown)) <= 80, [l for l in shown if len(l) > 80])
    status, text = shell.on_terminal(["-o", out, "--", "true"], {"TERM": "xterm"})
    check("no line of the first moment, with a share of next to no time", status == 0 and "samples in" in text and
          "\r   0.0 s" not in text, repr(text))
    status, text = shell.on_terminal([*args, "-q"], {"TERM": "xterm"})
    check("record -q: nothing at all", status == 0 and text == "", repr(text))
    p = shell.run(args)
    check("record into a pipe: no control characters", p.returncode == 0 and not p.stdout and
          shell.is_harmless(p.stderr), repr(p.stderr))


def saved(tmp):
    """Views of profiles with long names, deep stacks and large numbers."""
    before, after = os.path.join(tmp, "before.folded"), os.path.join(tmp, "after.folded")
    package = "com/acme/" + "/".join("part%d" % i for i in range(12))
    methods = ["%s/Class%d.method%d" % (package, i, i % 10) for i in range(40)]
    for path, share in ((before, 1), (after, 3)):
        with open(path, "w") as f:
            for i, m in enumerate(methods):
                outer = ";".join(methods[k % 40] + "_[0]" for k in range(i, i + 30 + i))
                for k, kind in enumerate("01ji"):
                    f.write("main;%s;%s;%s:%d_[%s] %d\n" % (outer, m + "_[j]" if kind == "i" else m, m, i + 1, kind,
                                                          1000 * (i + 1) * (share if i % 3 else k + 1)))
    for args in (["report"], ["report", "--tree"], ["report", "--callers", "Class39.method9"],
                 ["report", "--callees", "Class39.*"], ["report", "--lines", "Class39.method9"], ["report", "--tiers"],
                 ["diff"], ["diff", "--all"], ["diff", "--by-total"], ["diff", "--tiers"]):
        files = [before, after] if args[0] == "diff" else [before]
        status, text = shell.on_terminal([*args, *files])
        long = [l for l in text.split("\n") if shell.columns_of(l.rstrip("\r")) > 80]
        check(" ".join(args) + ": 80 columns", status == 0 and not long, (status, long[:5], text[:500]))
        whole = shell.run([*args, *files]).stdout
        check(" ".join(args) + ": names are whole in a pipe", package + "/Class" in whole and ".." not in whole and
              re.search(r"Class\d+\.method\d", text), text[:2000])


def binary(tmp):
    """What is no text is not written to a terminal, but to a pipe."""
    path = str(jvm.ROOT / "tests/golden/mixed.folded")
    status, text = shell.on_terminal(["convert", path, "-f", "pprof", "-o", "-"])
    check("pprof is refused by a terminal", status == 2 and "-o FILE.pb.gz" in text and shell.is_harmless(text, "\r"), text)
    p = subprocess.run([shell.JS, "convert", path, "-f", "pprof"], stdout=subprocess.PIPE, timeout=jvm.PATIENCE)
    check("pprof goes to a pipe", p.returncode == 0 and p.stdout[:2] == b"\x1f\x8b", p.stdout[:20])


def heads(target):
    for args in ("help", "help record", "help --man", "list", "list -f json", "doctor", "doctor -f json",
                 "-p %d -d 0.5 -F 999" % target.pid, "-p %d -d 0.5 -F 999 -q -f folded -o -" % target.pid):
        for reader in ("head -c 1", "true"):
            p = subprocess.run(["bash", "-c", "%s %s | %s; exit ${PIPESTATUS[0]}" % (shell.JS, args, reader)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE)
            check("%s | %s: quiet" % (args, reader), p.returncode == 0 and not re.search("pipe|cannot|error", p.stderr, re.I),
                  (p.returncode, p.stderr))


def full(target):
    for args in (["help"], ["list"], ["doctor"], ["list", "-f", "json"], ["doctor", "-f", "json"],
                 ["-p", str(target.pid), "-d", "0.3", "-F", "999"]):
        with open("/dev/full", "w") as full_disk:
            p = subprocess.run([shell.JS, *args], stdout=full_disk, stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE)
        check("%s on a full disk: said, exit status 1" % " ".join(args), p.returncode == 1 and "cannot write" in p.stderr,
              (p.returncode, p.stderr))


def main():
    jdk = jvm.pick_jdk(None)
    with shell.Busy(jdk) as target, tempfile.TemporaryDirectory(prefix="js-") as tmp:
        record(target, tmp)
        saved(tmp)
        binary(tmp)
        heads(target)
        full(target)
    shell.finish()


if __name__ == "__main__":
    main()
