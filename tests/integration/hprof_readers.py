#!/usr/bin/env python3
"""Programs that others wrote read what the HPROF agent writes, and count the same: of the binary format NetBeans' reader
(VisualVM's) and LeakCanary's, from Maven Central, and JDK 8's jhat; of the text gprof2dot, from PyPI. What is not to be
had here is said, and the test is skipped.

usage: hprof_readers.py netbeans|shark|jhat|gprof2dot
"""

import collections
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import apps_fetch
import bridge
import hprof_binary
import hprof_heap
import jvm

SUMS = jvm.ROOT / "tests/java/hprof_readers/SHA256SUMS"
ARTIFACTS = {
    "netbeans": ["org.gridkit.jvmtool:hprof-heap:0.16"],
    "shark": ["com.squareup.leakcanary:shark-hprof:2.14", "com.squareup.okio:okio:2.2.2"],
}
GPROF2DOT = "2025.4.14"
PRIMITIVES = {"boolean": "Z", "char": "C", "float": "F", "double": "D", "byte": "B", "short": "S", "int": "I", "long": "J"}


def skip(why):
    print("skipped:", why)
    sys.exit(jvm.SKIP)


def jars(reader):
    try:
        folder = apps_fetch.bring("hprof-" + reader, ARTIFACTS[reader], apps_fetch.sums(SUMS)[reader])
    except apps_fetch.NotHad as e:
        skip("%s's reader is not available: %s" % (reader, e))
    return ":".join(str(f) for f in sorted(folder.glob("*.jar")))


def jdk8():
    homes = [j.home for m, j in jvm.find_jdks().items() if m == 8] + [apps_fetch.cache_dir().parent / "jdks/8"]
    home = next((h for h in homes if (h / "lib/tools.jar").exists()), None)
    return jvm.Jdk(8, home) if home else skip("no JDK 8, which has jhat (scripts/jdks installs one)")


def reader_of(name):
    """argv but for the file: JDK, class path, class."""
    jdk = jdk8() if name == "jhat" else jvm.pick_jdk(None)
    path = str(jdk.home / "lib/tools.jar") if name == "jhat" else jars(name)
    classes = jvm.compile_java(jdk, "hprof_readers/" + name, ["-cp", path])
    return [str(jdk.home / "bin/java"), "-cp", "%s:%s" % (classes, path), name.capitalize() + "Counts"]


def class_name(name):
    """As the JVM names it: java.lang.String, [Ljava.lang.String;, [I."""
    name = name.replace("/", ".")
    m = re.fullmatch(r"(\w+)ArrayDump", name)  # Shark's
    name = m.group(1).lower() + "[]" if m else name
    plain = name.rstrip("[]") if name.endswith("[]") else name
    depth = (len(name) - len(plain)) // 2
    return "[" * depth + (PRIMITIVES.get(plain) or "L%s;" % plain) if depth else name


def counts_of(reader, path):
    done = subprocess.run([*reader, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=bridge.DONE)
    counts = collections.Counter()
    for n, name in re.findall(r"^(\d+) (\S+)$", done.stdout, re.M):
        counts[class_name(name)] += int(n)
    return counts, done.stderr[-600:] if done.returncode else ""


def differences(counts, path):
    """Objects of java.lang.Class are no instances for readers: they have records of their own."""
    ours = hprof_binary.File(path).histogram()
    names = (set(ours) | set(counts)) - {"java.lang.Class"}
    bad = ["%s of %s, not %d" % (counts[n], n, ours[n]) for n in sorted(names) if counts[n] != ours[n]]
    return bad[:5] + (["and %d more" % (len(bad) - 5)] if len(bad) > 5 else [])


def binary(jdk, tmp, reader):
    """Two dumps, at SIGQUIT and at the end, by both dumpers."""
    bad = []
    for dumper in ("jvmpi", "vm"):
        out, complained = hprof_heap.files_of(jdk, tmp, dumper)
        bad += complained
        for path in (out, out + ".1"):
            counts, failed = counts_of(reader, path)
            bad += ["%s: %s" % (os.path.basename(path), b) for b in ([failed] if failed else differences(counts, path))]
    return bad


def gprof2dot():
    folder = apps_fetch.cache_dir().parent / "pypi"
    wheel, want = next((folder / n, d) for n, d in apps_fetch.sums(SUMS)["gprof2dot"].items())
    if not wheel.exists():
        folder.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", str(folder),
                "gprof2dot==" + GPROF2DOT]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bridge.DONE)
        if done.returncode or not wheel.exists():
            skip("gprof2dot is not available from PyPI: %s" % done.stdout[-300:].strip())
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != want:
        sys.exit("%s is not the file that %s lists" % (wheel, SUMS))
    return wheel


def collapsed(profile):
    """{stack, outermost frame first: count}: TRACE records and the table of cpu=samples, as stackcollapse programs read them."""
    traces, counts, frames = {}, collections.Counter(), None
    for line in profile.splitlines():
        if line.startswith("TRACE ") and line.endswith(":"):
            frames = traces.setdefault(line[6:-1], [])
        elif line.startswith("\t") and frames is not None:
            frames.insert(0, line[1:line.index("(")])
        else:
            frames = None
            row = line.split()
            if len(row) == 6 and row[1].endswith("%") and row[4] in traces:
                counts[";".join(traces[row[4]])] += int(row[3])
    return counts


def folded(out):
    """The same of jsampler convert, whose names have slashes between packages."""
    path = out + ".folded"
    subprocess.run([jvm.jsampler_path(), "convert", out, "-o", path], check=True, stderr=subprocess.DEVNULL)
    counts = collections.Counter()
    for line in pathlib.Path(path).read_text().splitlines():
        stack, n = line.rsplit(" ", 1)
        counts[stack.replace("/", ".")] += int(n)
    return counts


def shares_of(profile):
    """{method: percent of all counts}, of a table's rows. For gprof2dot a count is a sample, of cpu=times too."""
    counts = collections.Counter()
    for n, name in re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) 3\d{5} (\S+)$", profile, re.M):
        counts[name] += int(n)
    return {name: 100 * n / sum(counts.values()) for name, n in counts.items()}


def graph_of(out, wheel):
    """{method: percent of its own} as gprof2dot has it, or what it says."""
    argv = [sys.executable, "-m", "gprof2dot", "-f", "hprof", "-n", "0", "-e", "0", out]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(wheel), "PYTHONIOENCODING": "utf-8"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=bridge.DONE)
    nodes = re.findall(r'label="([^"\\]+)\\n[\d.]+%\\n\(([\d.]+)%\)', done.stdout)
    return {name: float(share) for name, share in nodes}, done.stderr[-300:] if done.returncode else ""


def text(jdk, tmp, wheel):
    """Each method has the same share in gprof2dot's graph as in the table, to the places that it prints; and each stack the same
    count by jsampler as by a reading of the text alone."""
    out, bad = os.path.join(tmp, "java.hprof.txt"), []
    for options in ("cpu=samples,interval=1,depth=20", "cpu=times,depth=20,cutoff=0"):
        status, said = hprof_heap.run(jdk, "%s,file=%s" % (options, out), "Calls", "1")
        bad += hprof_heap.complaints(status, said)
        profile = pathlib.Path(out).read_text()
        wanted, (shares, failed) = shares_of(profile), graph_of(out, wheel)
        wrong = ["%s %.2f, not %.2f" % (n, shares.get(n, 0), s) for n, s in wanted.items() if abs(shares.get(n, 0) - s) > 0.02]
        if failed or wrong or not wanted:
            bad.append("%s: %s" % (options, failed or wrong or "no rows"))
        if "samples" in options and collapsed(profile) != folded(out):
            bad.append("jsampler: %s" % (collapsed(profile) - folded(out)))
    return bad


def pin():
    """Writes SHA256SUMS anew, but for gprof2dot's line."""
    kept = "".join(line for line in SUMS.read_text().splitlines(True) if "  gprof2dot/" in line) if SUMS.exists() else ""
    apps_fetch.pin(ARTIFACTS, SUMS)
    SUMS.write_text(SUMS.read_text() + kept)


def main():
    what = sys.argv[1]
    if what == "pin":
        pin()
        return 0
    reader, case = (gprof2dot(), text) if what == "gprof2dot" else (reader_of(what), binary)
    jdks, failed = jvm.find_jdks(), 0
    for major in sorted(jdks):
        with tempfile.TemporaryDirectory(prefix="jsampler-readers-") as tmp:
            bad = case(jdks[major], tmp, reader)
        print("JDK %d, %s: %s" % (major, what, "; ".join(bad) or "ok"), flush=True)
        failed += len(bad)
    print("%d failures" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
