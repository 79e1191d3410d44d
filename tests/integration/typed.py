#!/usr/bin/env python3
"""What people type to `record`, and what they get: names of targets and of files, filters, the summary."""

import gzip
import os
import re
import subprocess
import tempfile
import zipfile

import jvm
import shell
from environments_common import NOBODY, Target, check, check_run, jdks, main, run

SUFFIX = re.compile(r"_\[[01jik]\]$")


def busy_jar(path):
    """tests/java/cli/Busy, to be run with -jar."""
    classes = jvm.compile_java(jdks()[0], "cli")
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nMain-Class: Busy\n\n")
        for f in sorted(classes.glob("*.class")):
            z.write(f, f.name)


def busy(path):
    return Target([jdks()[0].home / "bin/java", "-Xmx64m", "-XX:CICompilerCount=2", "-jar", path])


def every(r, pattern):
    """There are samples, and each has a frame that matches."""
    return r.status == 0 and r.samples() > 5 and r.share(pattern) == 1


def by_name(t, jar, tmp):
    """The one JVM whose jar has that name."""
    file = os.path.basename(jar)
    for name in (jar, file, file[:-len(".jar")]):
        check_run("by %s" % name.replace(jar, "its path"), lambda r: every(r, ".") and r.has(r"^Busy\."), "-d", "0.5",
                  "-F", "199", name)
    with busy(jar) as other:
        r = run("-d", "1", file)
        check("two of the same name", r.refused("several JVMs have .*use -p") and
              {str(t.pid), str(other.pid)} <= set(re.findall(r"\d+", r.err.partition("PIDs")[2])), r)


def of_another(t, jar, tmp):
    """A JVM that may not be sampled has a name nevertheless: the message says why, not that there is none."""
    if os.geteuid():
        print("needs root")
        return
    r = run("-d", "1", os.path.basename(jar), uid=NOBODY)
    check("by name, another user's", r.status == 1 and r.refused(r"PID %d\b" % t.pid) and not r.says("no running JVM"), r)
    with busy(jar) as other:
        r = run("-d", "1", os.path.basename(jar), uid=NOBODY)
        check("two of another user's", r.refused("several JVMs have .*%d" % other.pid), r)


def outputs(t, _, tmp):
    status, text = shell.on_terminal(["-p", t.pid, "-d", ".3"], {"TERM": "xterm"}, cwd=tmp)
    names = os.listdir(tmp)
    check("on a terminal, without -o: a page named after PID and time", status == 0 and len(names) == 1 and
          re.fullmatch(r"jsampler-%d-\d{8}-\d{6}\.html" % t.pid, names[0]) and "written: " + names[0] in text,
          (status, names, text))
    shell.on_terminal(["-p", t.pid, "-d", ".3", "-f", "speedscope"], {"TERM": "xterm"}, cwd=tmp)
    names = [n for n in os.listdir(tmp) if n not in names]
    check("... with -f speedscope: the whole of the format's ending", len(names) == 1 and names[0].endswith(".speedscope.json"), names)
    r = run("-d", ".3", "-o", "/dev/null", "--", "true")
    check("an ending that says no format: what to type", r.status == 2 and
          r.says("give the format with -f .*'-f folded -o /dev/null'"), r)
    def same():
        with open(tmp + "/a.gz", "rb") as packed, open(tmp + "/a", "rb") as plain:
            return gzip.decompress(packed.read()) == plain.read() != b""
    check_run("-f folded -o a.gz is compressed", lambda r: r.status == 0 and same(), "-p", t.pid, "-d", ".3", "-f", "folded", "-o",
              tmp + "/a.gz", "-o", tmp + "/a")
    r = run("-p", t.pid, "-d", ".3", "-f", "html", "-o", tmp + "/a.html.gz")
    check("-f html -o a.html.gz: there is no such format", r.status == 2 and r.says("cannot be compressed with gzip"), r)
    r = run("-p", t.pid, "-d", ".3", "-o", tmp + "/x-%p-%t-100%%.folded")
    names = [n for n in os.listdir(tmp) if n[0] == "x"]
    check("%p, %t and %%", r.status == 0 and not r.out and len(names) == 1 and
          re.fullmatch(r"x-%d-\d{8}-\d{6}-100%%\.folded" % t.pid, names[0]), (names, r))


def one_file_each(t, jar, tmp):
    with busy(jar) as other:
        def lines(name):
            with open("%s/%s.folded" % (tmp, name), encoding="utf-8") as f:
                return f.read().splitlines()
        def apart(r):
            return r.status == 0 and all(lines(p) and all("pid=%d]" % p in line for line in lines(p)) for p in (t.pid, other.pid))
        check_run("-p A,B -o %p.folded: one file each", apart, "-p", "%d,%d" % (t.pid, other.pid), "-d", "1", "-F", "199", "-o",
                  tmp + "/%p.folded", "-o", tmp + "/all.folded")
        check("and a name without %p: both", sorted(lines("all")) == sorted(lines(t.pid) + lines(other.pid)), lines("all"))


def command(t, *_):
    """What is started, and what is forgotten."""
    r = run("4000000", t.pid)
    check("a duration before the PID", r.status == 2 and r.says("no process 4000000; for a duration, -d 4000000 -p %d" % t.pid), r)
    r = run(t.pid, "5000")
    check("a number behind the PID", r.status == 2 and r.says("for a duration, -d 5000"), r)
    r = run("sh", "-jar", "x.jar")
    check("-- is missing", r.status == 2 and r.says("jsampler -- sh") and not r.out, r)
    r = run("sh", "-d", "1")
    check("a program, not a main class", r.status == 1 and r.refused("jsampler -- sh"), r)
    with tempfile.TemporaryDirectory(prefix="js-typed-") as tmp:
        r = run("-d", ".3", "-o", tmp + "/x.folded", "--", "sleep", "5")
        check("a command that outlives -d is waited for, which is said", r.status == 0 and
              r.says(r"waiting for 'sleep' \(PID \d+\) to end"), r)
        r = run("-d", "20", "-o", tmp + "/x.folded", "-F", "1", "--", "true")
        check("a command that ends at once has its own name", r.status == 0 and r.says(r"no samples: (true|the target) used") , r)
        r = run("-d", "20", "-o", tmp + "/x.folded", "--", "sleep", "0.3")
        check("one that ends before is not", r.status == 0 and not r.says("waiting for"), r)


def misspelt(t, jar, _):
    """A command that there is not is taken for a main class, and the nearest ones are named."""
    name = os.path.basename(jar)[:-len(".jar")]
    r = run(name[:-1] + "+")
    check("the nearest jar", r.status == 1 and r.refused(r"; nearest: %s \(PID %d\).*'jsampler list'" % (re.escape(name), t.pid)), r)
    for typed, meant in (("lst", "list"), ("lsit", "list"), ("reprot", "report"), ("recrod", "record"), ("conver", "convert")):
        r = run(typed)
        check(typed, r.status == 1 and r.refused("main class or jar '%s'; did you mean 'jsampler %s'" % (typed, meant)), r)
    for typed in ("Lost", "replays", "l" * 100):
        r = run(typed)
        check("%.10s is like no command" % typed, r.status == 1 and r.refused("main class or jar .*'jsampler list' shows them") and
              not r.says("did you mean"), r)


def events(t, *_):
    """Those that never come."""
    quiet = r"no samples: the target had fewer %s than -c asks for, or none at all"
    r = run("-p", t.pid, "-d", ".5", "-e", "emulation-faults", "-c", "1")
    check("an event that never comes", r.status == 0 and not r.folded and r.says(quiet % "emulation-faults"), r)
    # Tracepoints are listed in a file system that is not mounted everywhere.
    own = ["unshare", "--mount", "sh", "-c", 'mount -t tracefs none /sys/kernel/tracing && exec "$@"', "sh"]
    name = "oom/mark_victim"
    if os.geteuid() or subprocess.run([*own, "test", "-r", "/sys/kernel/tracing/events/%s/id" % name],
                                      stderr=subprocess.DEVNULL, check=False).returncode:
        print("no tracefs here")
        return
    name = name.replace("/", ":")
    r = run("-p", t.pid, "-d", ".5", "-e", name, "-c", "1", wrap=own)
    check("a tracepoint that never comes", r.status == 0 and not r.folded and r.says(quiet % name), r)


def secrets(t, jar, tmp):
    """Command lines hold passwords; files get passed around."""
    with Target([jdks()[0].home / "bin/java", "-Xmx64m", "-Dpassword=hunter2", "-jar", jar, "hunter2"]) as j:
        for name in ("a.pb", "a.html", "a.speedscope.json", "a.txt"):
            for whole in (False, True):
                path = "%s/%s" % (tmp, name)
                r = run("-p", j.pid, "-d", ".5", "-F", "199", "-o", path, *["--command-line"] * whole)
                with open(path, encoding="utf-8", errors="replace") as f:
                    text = f.read()
                check("%s %s the password" % (name, "holds" if whole else "does not hold"), r.status == 0 and
                      ("hunter2" in text) == whole and os.path.basename(jar) in text, r)


def filters(t, *_):
    def recorded(what, good, *args):
        check_run(what, lambda r: r.status == 0 and good(r), "-p", t.pid, "-d", "0.5", "-F", "499", *args)
    compute, read = r"^Busy\.compute", r"^Busy\.read"
    recorded("-I", lambda r: every(r, compute), "-I", r"Busy\.compute")
    recorded("-X", lambda r: r.has(read) and not r.has(compute), "-X", r"Busy\.compute")
    recorded("-I and -X", lambda r: every(r, read), "-I", r"Busy\.(compute|read)", "-X", "compute")
    recorded("--include-threads", lambda r: every(r, r"^\[reads tid=\d+\]$"), "--include-threads", "^reads$", "-t")
    recorded("-I that matches nothing", lambda r: not r.folded and
             r.says(r"--include 'Busy.compote' matches no frame; nearest: Busy.compute"), "-I", "Busy.compote")
    recorded("-X that drops everything", lambda r: not r.folded and r.says("--exclude drops every stack") and
             not r.says("the method is sure"), "-X", ".")
    recorded("--include-threads that matches nothing", lambda r: not r.folded and
             r.says("matches no thread that was sampled; nearest: reads"), "--include-threads", "^read$")
    recorded("--lines", lambda r: r.has(compute + r":\d+_\[[01ji]\]$"), "--lines")
    recorded("--no-annotate", lambda r: r.has(compute + "$") and not r.has(SUFFIX), "--no-annotate")
    recorded("hidden classes", lambda r: r.has(r"^Busy\$\$Lambda\.run_") and not r.has("Lambda.*0x"))
    recorded("--raw-names", lambda r: r.has(r"^Busy\$\$Lambda[^.]*0x[0-9a-f]+\.run_"), "--raw-names")
    recorded("--max-memory", lambda r: every(r, r"^\[storage limit\]$") and
             r.says(r"--max-memory reached: \d+ samples under \[storage limit\]"), "--max-memory", "1k")
    recorded("--depth", lambda r: every(r, ".") and all(len(f) <= 2 for f, _ in r.folded) and
             r.says(r"--depth reached: \d+ samples under \[truncated\]"), "--depth", "1")


def trees(t, _, tmp):
    """They begin below what starts a JVM's threads, unless that is asked for."""
    path = tmp + "/a.pb.gz"
    def report(*args):
        return shell.run(["report", *args, path]).stdout
    def most_is_java(r):
        """Not so while the JVM compiles."""
        tree = report("--tree")
        return r.status == 0 and re.search(r"total %.*\n[ \d.]+ java/lang/Thread\.run\n", tree) and "Busy.compute" in tree
    check_run("report --tree begins at Java", most_is_java, "-p", t.pid, "-d", ".5", "-F", "499", "-o", path)
    tree, callers, start, whole = (report(*args) for args in (
        ("--tree",), ("--callers", "Busy.compute"), ("--callers", "call_stub"), ("--callers", "Busy.compute", "-f", "json")))
    check("... not at what starts threads", "call_stub" not in tree and "first Java method" in tree, tree)
    check("report --callers ends at Java", re.search(r"↓ java/lang/Thread\.run\n\nStacks begin", callers) and
          "call_stub" not in callers, callers)
    check("report --callers of what starts threads", re.search(r"call_stub\n(.*\n)+.* ↓ start_thread\n", start), start)
    check("report --callers as json has everything", "call_stub" in whole and "start_thread" in whole, whole)


def summary(t, *_):
    """What is said at the end."""
    wanted = (r"^\d+ samples in [\d.]+ s, lost \d+; complete stacks [\d.]+ %", r"^time by kind: .*kernel [\d.]+ %",
              r"^compiled code: the method is sure in \d+ % of the samples, likely in \d+ %",
              r"^jsampler: compiled code: sure by the JVM's record of the instruction [\d.]+ %, sure by the code around it [\d.]+ %, "
              r"likely as the only callee that fits [\d.]+ %, likely by the nearest record [\d.]+ %$",
              r"^   self   total  hottest methods", r"^ *[\d.]+ % +[\d.]+ %  Busy\.compute +\((interpreted|C1|C2|inlined) \d+",
              r"^jsampler: walks that ended at \S.*: \d+$")
    def good(r):
        rows = re.findall(r"(?m)^ *[\d.]+ % +[\d.]+ %  ", r.err)
        return r.status == 0 and all(r.says("(?m)" + w) for w in wanted) and len(rows) <= 10
    check_run("the summary", good, "-p", t.pid, "-d", "1", "-F", "499", "-v")


def with_target(part):
    def test():
        with tempfile.TemporaryDirectory(prefix="js-typed-") as tmp, \
                tempfile.TemporaryDirectory(prefix="js-typed-") as empty:
            jar = "%s/%s.jar" % (tmp, os.path.basename(tmp))  # nobody else's name
            busy_jar(jar)
            with busy(jar) as t:
                part(t, jar, empty)
    return test


if __name__ == "__main__":
    main({f.__name__: with_target(f) for f in (by_name, of_another, outputs, one_file_each, command, misspelt, events, secrets, filters,
                                               trees, summary)})
