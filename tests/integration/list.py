#!/usr/bin/env python3
"""jsampler list: JVMs of several JDKs and users, containers, names that mean harm, text and JSON."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import zipfile

import jvm
import shell
from shell import check

CONTAINER = "0123456789ab" + "cd" * 26
# ESC c resets a terminal; a class name cannot hold [ or /.
HOSTILE = "Evil\x1bc\u202e<script>\"'"


def utf8_entries(data):
    """(offset of the entry, its bytes) of each Utf8 constant of a class file (JVMS 4.4)."""
    size = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
    count, at, i = struct.unpack(">H", data[8:10])[0], 10, 1
    while i < count:
        tag = data[at]
        if tag == 1:
            n = struct.unpack(">H", data[at + 1:at + 3])[0]
            yield at, data[at + 3:at + 3 + n]
            at += 3 + n
        else:
            at += size[tag]
            i += tag in (5, 6)
        i += 1


def renamed_class(data, old, new):
    for at, text in utf8_entries(data):
        if text == old.encode():
            new = new.encode()
            return data[:at + 1] + struct.pack(">H", len(new)) + new + data[at + 3 + len(text):]
    raise ValueError(old)


def hostile_jar(jdk, tmp, name):
    """A jar with a main class of that name, which sleeps."""
    source = pathlib.Path(tmp, "M.java")
    source.write_text("public class M { public static void main(String[] a) throws Exception {"
                      " System.out.println(\"ready\"); Thread.sleep(1000000); } }")
    subprocess.run([str(jdk.home / "bin/javac"), "-d", tmp, str(source)], check=True)
    data = renamed_class(pathlib.Path(tmp, "M.class").read_bytes(), "M", name)
    with zipfile.ZipFile(tmp + "/m.jar", "w") as z:
        z.writestr(zipfile.ZipInfo(name + ".class"), data)
    return tmp + "/m.jar"


def listed(args=(), **kw):
    p = shell.run(["list", "-f", "json", *args], **kw)
    check("list -f json is valid", p.returncode == 0 and not p.stderr, p.stderr)
    return {j["pid"]: j for j in json.loads(p.stdout)}


def several(jdks):
    jvms = []
    try:
        for jdk in jdks:
            jvms.append((jdk, "root", shell.Busy(jdk, args=["idle"])))
            jvms.append((jdk, "nobody", shell.Busy(jdk, wrap=shell.nobody, args=["idle"])))
        all_of = listed()
        for jdk, user, j in jvms:
            e = all_of.get(j.pid, {})
            check("JDK %d of %s" % (jdk.major, user), e.get("user") == user and e.get("main") == "Busy" and
                  e.get("readable") is True and e.get("jdk", "").startswith(str(jdk.major)) and
                  0 <= e.get("uptime_seconds", -1) < 3600 and e.get("ns_pid") == j.pid, e)
        mine = listed(wrap=shell.nobody)
        for jdk, user, j in jvms:
            e = mine.get(j.pid, {})
            check("seen by nobody: JDK %d of %s" % (jdk.major, user), e.get("main") == "Busy" and
                  e.get("readable") is (user == "nobody") and
                  bool(e.get("jdk")) is (user == "nobody"), e)
        text(jvms)
        container(jvms[0][2])
    finally:
        for _, _, j in jvms:
            j.stop()


def text(jvms):
    p = shell.run(["list"])
    lines = p.stdout.splitlines()
    check("text: a heading and a line each", p.returncode == 0 and lines[0].split()[:4] ==
          ["PID", "USER", "JDK", "UPTIME"] and all(any(l.split()[0] == str(j.pid) and " Busy" in l for l in lines)
                                                   for _, _, j in jvms), p.stdout)
    status, out = shell.on_terminal(["list"], {"TERM": "xterm"})
    check("80 columns on a terminal", status == 0 and shell.widest(out) <= 80, out)
    p = subprocess.run("%s list | head -n 1" % shell.JS, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("| head is quiet", not p.stderr and p.stdout.count(b"\n") == 1, p)


def remove(group):
    """A cgroup is busy for a moment after its last process has left it."""
    try:
        group.rmdir()
    except OSError:
        return False
    return True


def container(busy):
    """The container's name is that of the cgroup; where cgroups can be made, by one of our own."""
    mounts = [l.split() for l in open("/proc/mounts")]
    root = pathlib.Path(next((m[1] for m in mounts if m[2] == "cgroup2"), "/sys/fs/cgroup"))
    group = root / ("docker-%s.scope" % CONTAINER)
    try:
        group.mkdir()
        if not (group / "cgroup.procs").exists():
            group.rmdir()
            raise OSError("no cgroup2 there")
        (group / "cgroup.procs").write_text(str(busy.pid))
    except OSError as e:
        print("skip: no cgroup can be made here (%s)" % e)
        return
    try:
        e = listed()[busy.pid]
        check("container by its cgroup", e["container"] == CONTAINER[:12], e)
        status, out = shell.on_terminal(["list"], {"TERM": "xterm"})
        check("... and in text", "Busy (%s)" % CONTAINER[:12] in out and shell.widest(out) <= 80, out)
    finally:
        (root / "cgroup.procs").write_text(str(busy.pid))
        jvm.wait_until(lambda: remove(group))


def hostile(jdk, length):
    name = HOSTILE + "a" * (length - len(HOSTILE.encode()))
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as tmp:
        j = subprocess.Popen([str(jdk.home / "bin/java"), "-Xmx64m", "-cp", hostile_jar(jdk, tmp, name), name],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             env=env, preexec_fn=jvm.die_with_parent)
        try:
            ready = j.stdout.readline()
            what = "JDK %d, %d bytes of hostile main class" % (jdk.major, length)
            check(what + ": it runs", ready == b"ready\n", ready)
            p = shell.run(["list"])
            line = [l for l in p.stdout.splitlines() if l.split()[0] == str(j.pid)]
            check(what + ": text", len(line) == 1 and "Evil?c?<script>" in line[0] and
                  shell.is_harmless(p.stdout), line)
            status, out = shell.on_terminal(["list"], {"TERM": "xterm"})
            check(what + ": terminal", status == 0 and shell.widest(out) <= 80 and shell.is_harmless(out, "\r"), out)
            p = shell.run(["list", "-f", "json"])
            e = {x["pid"]: x for x in json.loads(p.stdout)}.get(j.pid, {})
            check(what + ": json", e.get("main", "").startswith("Evil?c?<script>\"'") and
                  shell.is_harmless(p.stdout) and len(e["main"]) < 1024, e)
            p = shell.run(["doctor", "-p", j.pid])
            check(what + ": doctor", p.returncode == 0 and "the same as in" in " ".join(p.stdout.split()) and shell.is_harmless(p.stdout) and
                  shell.widest(p.stdout) <= 80, p.stdout)
            p = shell.run(["-p", j.pid, "-d", "0.2", "-v"])
            check(what + ": record", p.returncode == 0 and shell.is_harmless(p.stderr + p.stdout), p.stderr)
        finally:
            j.kill()
            j.wait()


def usage():
    for args, pattern in ((["-f", "xml"], "text or json"), (["4711"], "4711"), (["--bogus"], "--bogus"),
                          (["-f"], "needs an argument")):
        p = shell.run(["list", *args])
        check("list %s" % " ".join(args), p.returncode == 2 and pattern in p.stderr and
              p.stderr.count("\n") == 1 and not p.stdout, p.stderr)


def main():
    jdks = sorted(jvm.find_jdks().values())
    usage()
    for jdk in jdks[:1] + jdks[-1:]:
        hostile(jdk, 80)
        hostile(jdk, 60000)
    if shell.can_be_nobody():
        several(jdks)
    else:
        print("skip: other users (not root)")
    shell.finish()


if __name__ == "__main__":
    main()
