#!/usr/bin/env python3
"""The last hour by 20 ms: a JVM that stands still for known times has no samples then, and ranges are exact.

usage: daemon_recent.py [--jdk 17]
"""

import json
import os
import signal
import sys
import time

import daemon as one
import history
import jvm

HZ, LATE_S = 199, 14  # LATE_S: what is sampled comes at the end of a step


def ask(tmp, path):
    status, _, body = history.get(tmp + "/run/s.sock", path)
    return status, body.decode()


def heat(tmp, begin, end, more=""):
    status, body = ask(tmp, "/api/v1/heatmap?step=20ms&from=%.3f&to=%.3f%s" % (begin, end, more))
    return json.loads(body) if status == 200 else {"samples": [], "weight": [], "since": 0, "error": body}


def counted(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and line[0] != "{")


def go_and_stop(pid, bad):
    """Times at which it ran, and stood still; what is on their edges is left out."""
    ran, stood = [], []
    for seconds in (0.5, 0.3, 0.7, 0.4):
        begin = time.time()
        time.sleep(seconds)
        before = jvm.cpu_seconds(pid)
        os.kill(pid, signal.SIGSTOP)
        ran.append((begin, time.time()))
        if not jvm.wait_until(lambda: one.status(pid)["State"][0] == "T", 5):
            bad.append("it does not stop")
        begin = time.time()
        time.sleep(seconds)
        stood.append((begin, time.time()))
        if jvm.cpu_seconds(pid) > before + 0.1:
            bad.append("it runs on")
        os.kill(pid, signal.SIGCONT)
    return ran, stood


def compare(tmp, pid, ran, stood, bad):
    label = "&label.pid=%d" % pid
    still = [sum(heat(tmp, b + 0.03, e - 0.03, label)["samples"]) for b, e in stood]
    moved = [sum(heat(tmp, b + 0.03, e - 0.03, label)["samples"]) for b, e in ran]
    if any(still) or not all(moved):
        bad.append("standing still: %s samples, running: %s" % (still, moved))
    begin, end = ran[0][0], stood[-1][1]
    all_ = heat(tmp, begin, end, label)
    n = sum(all_["samples"])
    _, text = ask(tmp, "/api/v1/profile?exact=1&format=folded&from=%.3f&to=%.3f%s" % (begin, end, label))
    if counted(text) != n or "Busy.compute" not in text:
        bad.append("the profile of the range has %d samples, its cells %d: %.300s" % (counted(text), n, text))
    if all_["since"] > begin:
        bad.append("since %s" % all_["since"])
    for thread, least, most in (("^computes$", n * 0.2, n * 0.8), ("no such thread", 0, 0)):
        found = sum(heat(tmp, begin, end, label + "&thread=" + thread.replace(" ", "%20").replace("^", "%5E").replace("$", "%24"))["samples"])
        if not least <= found <= most:
            bad.append("thread %s: %d of %d samples" % (thread, found, n))
    # All that the history has, wherever its steps end.
    whole = sum(heat(tmp, time.time() - 600, time.time(), label)["samples"])
    stored = lambda: counted(ask(tmp, "/api/v1/profile?format=folded&from=10m" + label)[1])
    jvm.wait_until(lambda: stored() == whole, 15, 0.5)  # from the next flush on
    if stored() != whole:
        bad.append("the history has %d samples, the memory %d" % (stored(), whole))
    print("standing still %s, running %s, in all %d" % (still, moved, whole))


def run(jdk, classes, tmp):
    bad = []
    d = one.Daemon(tmp, sampling="cpu_limit = 100%%\nfrequency = %d" % HZ)
    j = one.Busy(jdk, classes, always=True)
    if not jvm.wait_until(lambda: d.process("keeper") and d.worker(j.pid), 30):
        return ["it is not sampled: " + d.said()]
    jvm.burn(j.pid, 0.5)
    ran, stood = go_and_stop(j.pid, bad)
    j.proc.send_signal(signal.SIGSTOP)
    time.sleep(LATE_S)
    compare(tmp, j.pid, ran, stood, bad)
    d.stop()
    j.stop()
    return bad


if __name__ == "__main__":
    sys.exit(one.main(__doc__, run))
