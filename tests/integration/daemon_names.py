#!/usr/bin/env python3
"""jsampler daemon: what JVMs are called, by their system properties and environment, and that nothing else of these is read.

usage: daemon_names.py [--jdk 8,17,25]
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import daemon as d
import jvm
import shell

RULES = "[rule ours]\nmain = Busy\n[rule others]\npid = *\nsample = no\n"
NODE = "node-7"
SECRET = "s3cret-pa55word-of-a-target"


def is_entered(jdk):
    """What scripts/jdks brought starts in a root directory of its own, which only root may enter, and which has another /var."""
    return (jdk.home / "enter").exists()


class Named:
    """tests/java/cli/Busy.java with these options and variables, and the labels that it has to get."""

    def __init__(self, jdk, classes, options, variables, labels, args=None):
        who = {"user": d.USER, "group": d.USER, "extra_groups": []} if d.ROOT and not is_entered(jdk) else {}
        env = {"PATH": os.environ["PATH"], "PASSWORD": SECRET, **variables}
        self.labels = labels
        self.what = "JDK %d, %s %s" % (jdk.major, options, variables)
        self.proc = subprocess.Popen([str(jdk.home / "bin/java"), "-Xmx64m", *options, *(args or ["-cp", str(classes), "Busy"])],
                                     stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env,
                                     preexec_fn=jvm.die_with_parent, **who)
        self.pid = self.proc.pid

    def go_on(self):
        """Called again and again."""


def in_file(tmp, classes, service):
    """Arguments that are in an argument file only."""
    path = pathlib.Path(tmp, service)
    path.write_text("-cp %s\n-Dotel.service.name=%s\nBusy\n" % (classes, service))
    os.chmod(path, 0o644)
    return ["@%s" % path]


def start_all(jdk, classes, tmp):
    j = str(jdk.major)
    attributes = "service.name=attributes-%s,service.version=1.%s,k8s.pod.name=pod%%2D%s" % (j, j, j)
    yield Named(jdk, classes, ["-Dotel.service.name=first", "-Dotel.service.name=property-" + j], {"OTEL_SERVICE_NAME": "no"},
                {"service": "property-" + j, "main": "Busy"})
    yield Named(jdk, classes, ["-Dotel.resource.attributes=" + attributes], {"OTEL_SERVICE_NAME": "variable-" + j},
                {"service": "variable-" + j, "version": "1." + j, "pod": "pod-" + j})
    yield Named(jdk, classes, [], {"JAVA_TOOL_OPTIONS": "-Dotel.resource.attributes=" + attributes}, {"service": "attributes-" + j})
    yield Named(jdk, classes, [], {"OTEL_RESOURCE_ATTRIBUTES": "service.name=all-" + j, "POD_NAME": "env-" + j, "POD_NAMESPACE": "prod"},
                {"service": "all-" + j, "pod": "env-" + j, "namespace": "prod"})
    yield Named(jdk, classes, ["-Dotel.service.name=", "-Dservice.name=no"], {"OTEL_SERVICE_NAMES": "no"}, {"service": "Busy"})
    if jdk.major >= 9:
        yield Named(jdk, classes, [], {}, {"service": "file-" + j, "main": "Busy"}, in_file(tmp, classes, "file-" + j))


class Slow(Named):
    """One that stands still while it starts, for longer than a step and the looks at what is no JVM; "@file" is all that /proc says of it."""

    STANDS_S = 15

    def __init__(self, *args):
        super().__init__(*args)
        jvm.wait_until(lambda: "libjvm.so" in pathlib.Path("/proc/%d/maps" % self.pid).read_text(), pause=0.001)
        os.kill(self.pid, signal.SIGSTOP)
        self.goes_on = time.monotonic() + self.STANDS_S

    def go_on(self):
        if time.monotonic() > self.goes_on:
            os.kill(self.pid, signal.SIGCONT)


def slow(jdk, classes, tmp):
    return Slow(jdk, classes, [], {}, {"service": "slow", "main": "Busy"}, in_file(tmp, classes, "slow"))


def hostile(jdk, classes):
    return Named(jdk, classes, ["-Dotel.service.name=a\x1b[31m\u202eb\n<3>c</script>"],
                 {"OTEL_RESOURCE_ATTRIBUTES": "service.version=1\x1b%0a%1b%E2%81%A6", "POD_NAMESPACE": "n\x1b\u2028"},
                 {"service": "a?[31m?b?<3>c</script>", "version": "1????", "namespace": "n??"})


def targets(path):
    c = http.client.HTTPConnection("localhost", timeout=20)
    c.sock = socket.socket(socket.AF_UNIX)
    try:
        c.sock.connect(path)
        c.request("GET", "/api/v1/targets?from=10m")
        return {t["pid"]: t["labels"] for t in json.loads(c.getresponse().read())["targets"]}
    except OSError:
        return {}
    finally:
        c.close()


def memory_has(pid, text):
    """Is the text in the process's writable memory?"""
    with open("/proc/%d/mem" % pid, "rb") as mem:
        for line in pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines():
            span, rights = line.split()[:2]
            begin, end = (int(x, 16) for x in span.split("-"))
            if "w" not in rights:
                continue
            try:
                mem.seek(begin)
                if text in mem.read(end - begin):
                    return True
            except OSError:
                pass
    return False


def check_secret(daemon, one, store, bad):
    files = [p for p in pathlib.Path(store).iterdir() if SECRET.encode() in p.read_bytes()]
    if files:
        bad.append("the environment is in the store: %s" % files)
    if not d.ROOT:
        return
    if not memory_has(one.pid, SECRET.encode()):
        bad.append("the environment is not even in the target's memory")
    worker = daemon.worker(one.pid)
    if not worker:
        bad.append("nothing samples it: " + daemon.said())
    elif memory_has(worker, SECRET.encode()):
        bad.append("the environment is in the memory of what parses")


def still(path, waiting, found):
    """Is nobody waited for any more? Whoever is in the history stands still from then on, and leaves the CPUs to the others."""
    known = targets(path)
    for j in waiting:
        j.go_on()
    for j in [j for j in waiting if j.pid in known]:
        os.kill(j.pid, signal.SIGSTOP)
        found[j.pid] = known[j.pid]
        waiting.remove(j)
    return not waiting


def wrong_in_list(path, jvms):
    """jsampler list shows what the daemon calls them. On a busy machine, it leaves out what takes too long to read."""
    def run_list(*args):
        return subprocess.run([jvm.jsampler_path(), "list", "--socket", path, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)

    bad = []
    listed = {j["pid"]: j for j in json.loads(run_list("-f", "json").stdout)}
    here = [j for j in jvms if j.pid in listed]
    if not here:
        bad.append("list has none of them")
    for j in here:
        said = listed[j.pid]["daemon"] or {}
        if said.get("service") != j.labels["service"] or said.get("hz") != 49 or not 0 <= time.time() - said.get("since", 0) < 600:
            bad.append("list: %s: %s" % (j.what, listed.get(j.pid)))
    text = run_list()
    if not re.search(r"\(sampled at 49 Hz for \d+m \d+s as (%s)\)$" % "|".join(re.escape(j.labels["service"]) for j in jvms), text.stdout, re.M):
        bad.append("list: %s%s" % (text.stdout, text.stderr))
    return bad


def check_list(path, jvms, bad):
    if not jvm.wait_until(lambda: not wrong_in_list(path, jvms), 120, 1):
        bad += wrong_in_list(path, jvms)
    none = subprocess.run([jvm.jsampler_path(), "list", "-f", "json", "--socket", path + ".none"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if none.returncode or any(j["daemon"] for j in json.loads(none.stdout)) or "is jsampler daemon running?" not in none.stderr:
        bad.append("list without a daemon: %s%s" % (none.stdout[:300], none.stderr))


def run(jdks, classes, tmp):
    bad, jvms, found = [], [], {}
    path = os.path.join(tmp, "run", "s.sock")
    daemon = d.Daemon(tmp, RULES, env={"NODE_NAME": NODE})
    if not jvm.wait_until(lambda: daemon.process("keeper")):
        return ["no keeper: " + daemon.said()]
    begin = [lambda jdk=jdk: start_all(jdk, classes if is_entered(jdk) else jvm.public(classes), tmp) for jdk in jdks]
    newest = max(jdks)
    if newest.major >= 9 and not is_entered(newest):
        begin.append(lambda: [slow(newest, jvm.public(classes), tmp)])
    for some in (*begin, lambda: [hostile(jvm.pick_jdk(None), jvm.public(classes))]):
        waiting = list(some())
        jvms += waiting
        if not jvm.wait_until(lambda: still(path, waiting, found), pause=0.5):
            bad.append("not all are there: %s" % daemon.said())
            break
    for j in jvms:
        labels = found.get(j.pid, {})
        if {k: labels.get(k) for k in j.labels} != j.labels or labels.get("host") != NODE:
            bad.append("%s: %s, not %s" % (j.what, labels, j.labels))
    check_list(path, jvms, bad)
    check_secret(daemon, jvms[0], daemon.store, bad)
    for j in jvms:
        j.proc.kill()
        j.proc.wait()
    if daemon.stop():
        bad.append("exit status %d: %s" % (daemon.proc.returncode, daemon.said()))
    if not shell.is_harmless(daemon.said()):
        bad.append("the log: %r" % daemon.said())
    return bad


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--jdk", default="8,17,25", help="those of them that are here")
    here = jvm.find_jdks()
    jdks = [here[int(w)] for w in args.parse_args().jdk.split(",") if int(w) in here] or [jvm.pick_jdk(None)]
    classes = jvm.compile_java(min(jdks), "cli")
    with tempfile.TemporaryDirectory(prefix="js-names-") as tmp:
        bad = run(jdks, classes, tmp)
    print("\n".join(bad) or "ok: JDK " + ", ".join(str(j.major) for j in jdks))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
