#!/usr/bin/env python3
"""jsampler daemon: TCP, which needs a token: who is answered, who is not, where the token is, and what is refused at the start."""

import contextlib
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import daemon as d
import jvm
from daemon_names import memory_has

TOKEN = "t0ken-of-the-daemon-%d" % os.getpid()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Folder:
    """A configuration, and what it names."""

    def __init__(self, tmp, listen, token=TOKEN, mode=0o600):
        self.folder = pathlib.Path(tmp)
        os.chmod(tmp, 0o755)
        (self.folder / "store").mkdir()
        (self.folder / "run").mkdir()
        if d.ROOT:
            os.chown(self.folder / "store", d.OWNER, d.OWNER)
        self.token = self.folder / "token"
        self.token.write_text(token + "\n")
        os.chmod(self.token, mode)
        self.conf = self.folder / "jsampler.conf"
        self.conf.write_text("[store]\ndirectory = %s/store\nuser = %d\n[http]\nsocket = %s/run/s.sock\nlisten = %s\ntoken_file = %s\n%s" % (
            tmp, d.OWNER, tmp, listen, self.token, d.own_rules()))
        self.log = self.folder / "log"

    def start(self):
        with open(self.log, "w") as log:
            return subprocess.Popen([jvm.jsampler_path(), "daemon", "--config", self.conf], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, preexec_fn=jvm.die_with_parent)

    def refusal(self):
        """What it says when it does not start; None: it runs."""
        p = self.start()
        try:
            return self.log.read_text() if p.wait(20) else None
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            return None


def ask(port, path="/api/v1/status", **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        c.putrequest("GET", path, skip_host="Host" in headers)
        for key, value in headers.items():
            c.putheader(key, value)
        c.endheaders()
        r = c.getresponse()
        r.read()
        return r.status
    except OSError:
        return 0
    finally:
        c.close()


def bearer(token=TOKEN):
    return {"Authorization": "Bearer " + token}


def who_is_answered(port, bad):
    for want, what, headers in (
            (200, "the token", bearer()), (401, "no token", {}), (401, "another token", bearer(TOKEN[:-1] + "!")),
            (401, "a longer token", bearer(TOKEN + "x")), (401, "a shorter token", bearer(TOKEN[:-1])), (401, "an empty token", bearer("")),
            (403, "another host's name", {"Host": "evil.example", **bearer()}), (403, "another's page", {"Origin": "http://evil.example", **bearer()}),
            (403, "a name that begins like this host's", {"Host": "localhost.evil.example", **bearer()})):
        got = ask(port, **headers)
        if got != want:
            bad.append("%s: %d, not %d" % (what, got, want))


def slow_clients(port, bad):
    """100 that send nothing more keep nobody waiting."""
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            s = stack.enter_context(socket.socket())
            s.connect(("127.0.0.1", port))
            s.send(b"GET /api/v1/profile?from=1h&format=html HTTP/1.1\r\nHost: localhost\r\n")
        begin = time.monotonic()
        got = ask(port, **bearer())
        if got != 200 or time.monotonic() - begin > 10:
            bad.append("with 100 slow clients: %d after %.1f s" % (got, time.monotonic() - begin))


def holders(daemon):
    """The names of the processes that have the token, and how many were looked at."""
    found, looked = set(), 0
    for p in [daemon.pid, *d.tree(daemon.pid)]:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if memory_has(p, TOKEN.encode()):
                found.add(pathlib.Path("/proc/%d/comm" % p).read_text().strip())
            looked += 1
    return found, looked


def where_the_token_is(daemon, bad):
    """In the process that answers, and in no other: those that sample read what targets have written."""
    for _ in range(jvm.TRIES):  # a child that looks at one process is soon gone
        found, looked = holders(daemon)
        if looked >= 4:
            break
    else:
        bad.append("only %d processes were there" % looked)
    if found != {"keeper"}:
        bad.append("the token is in the memory of %s" % found)


def captures(port, pid, bad):
    """Asked for and fetched with the token only; one at a time of a program."""
    def post(**headers):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        c.request("POST", "/api/v1/captures?pid=%d&frequency=199&seconds=3" % pid, headers=headers)
        r = c.getresponse()
        answer = json.loads(r.read())
        c.close()
        return r.status, answer

    def listed(id_):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        c.request("GET", "/api/v1/captures", headers=bearer())
        found = [x for x in json.loads(c.getresponse().read())["captures"] if x["id"] == id_]
        c.close()
        return found[0] if found else {"state": "", "by": ""}

    for want, headers in ((401, {}), (403, {"Origin": "http://evil.example", **bearer()}), (403, {"Host": "evil.example", **bearer()})):
        if post(**headers)[0] != want:
            bad.append("a capture is not refused: %s" % headers)
    made = {}

    def begins():
        made["status"], made["answer"] = post(**bearer())
        return made["status"] == 201

    if not jvm.wait_until(begins, 20, 0.5):  # once the JVM is sampled
        bad.append("no capture: %s" % made)
        return
    if post(**bearer())[0] != 409:
        bad.append("two captures of a program at once")
    id_ = made["answer"]["id"]
    if not jvm.wait_until(lambda: listed(id_)["state"] != "running", 30, 0.2) or listed(id_)["state"] != "done" or listed(id_)["by"] != "token":
        bad.append("a capture: %s" % listed(id_))
    if (ask(port, "/api/v1/captures/%d" % id_, **bearer()), ask(port, "/api/v1/captures/%d" % id_)) != (200, 401):
        bad.append("a capture is not there, or for everybody")


def run(tmp, bad):
    port = free_port()
    folder = Folder(tmp, "127.0.0.1:%d" % port)
    jdk = jvm.pick_jdk(None)
    one = d.Busy(jdk, jvm.public(jvm.compile_java(jdk, "cli")))
    daemon = folder.start()
    if not jvm.wait_until(lambda: ask(port, **bearer()) == 200, 20):
        bad.append("it does not answer: " + folder.log.read_text())
        return
    jvm.wait_until(lambda: len(d.tree(daemon.pid)) > 2, 20)
    if d.ROOT:
        where_the_token_is(daemon, bad)
    who_is_answered(port, bad)
    slow_clients(port, bad)
    captures(port, one.pid, bad)
    # Another keeper reads the token again.
    keeper = [p for p in d.tree(daemon.pid) if pathlib.Path("/proc/%d/comm" % p).read_text() == "keeper\n"][0]
    os.kill(keeper, 9)
    if not jvm.wait_until(lambda: ask(port, **bearer()) == 200, 30, 0.2):
        bad.append("the next keeper does not answer: " + folder.log.read_text())
    if ask(port) != 401:
        bad.append("the next keeper needs no token")
    with tempfile.TemporaryDirectory(prefix="js-tcp-") as second:
        said = Folder(second, "127.0.0.1:%d" % port).refusal()
        if not said or "Address already in use" not in said:
            bad.append("a port in use: %s" % said)
    daemon.terminate()
    if daemon.wait(20):
        bad.append("exit status %d: %s" % (daemon.returncode, folder.log.read_text()))
    if "not stored" in folder.log.read_text():
        bad.append("something was not stored: " + folder.log.read_text())
    one.stop()


def refusals(bad):
    for listen, token, mode, says in (
            ("127.0.0.1:%d" % free_port(), TOKEN, 0o644, "others can neither read"), ("127.0.0.1:%d" % free_port(), "short", 0o600, "16 to 512"),
            ("0.0.0.0:%d" % free_port(), TOKEN, 0o600, "no TLS yet"), ("[::]:%d" % free_port(), TOKEN, 0o600, "no TLS yet")):
        with tempfile.TemporaryDirectory(prefix="js-tcp-") as tmp:
            said = Folder(tmp, listen, token, mode).refusal()
            if not said or says not in said:
                bad.append("%s, a token of %d characters, mode %o: %s" % (listen, len(token), mode, said))


def main():
    bad = []
    with tempfile.TemporaryDirectory(prefix="js-tcp-") as tmp:
        run(tmp, bad)
    refusals(bad)
    print("\n".join(bad) or "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
