#!/usr/bin/env python3
"""Profiles javac compiling some hundred files of the JDK's own sources, all threads.

usage: javac.py [--jdk 17] [--gc G1,Parallel,Serial,Z] [--files 400] [--bar-complete 99.5] [--keep DIR]
Exit status: 0 within the bar, 1 not, 77 when the JDK asked for or its src.zip is not here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile

import jvm
from truth import COLLECTORS

# Packages of java.base that compile by themselves with --patch-module.
FOLDERS = ("java.base/java/util/", "java.base/java/lang/invoke/", "java.base/java/time/", "java.base/java/text/")


def find_sources(jdk):
    """src.zip of this JDK, else of any that is here: Debian has it in a package of its own."""
    for j in [jdk, *jvm.find_jdks().values()]:
        if (j.home / "lib/src.zip").exists():
            return j.home / "lib/src.zip"
    print("skipped: no JDK here has its src.zip")
    sys.exit(jvm.SKIP)


def unpack(jdk, folder, n):
    """Some sources of the JDK; their paths."""
    src = find_sources(jdk)
    with zipfile.ZipFile(src) as z:
        names = [i for i in z.namelist() if i.startswith(FOLDERS) and i.endswith(".java")
                 and not i.endswith(("package-info.java", "module-info.java"))]
        names = sorted(names)[:n]
        z.extractall(folder, names)
    return [os.path.join(folder, i) for i in names]


LOOP = """
import java.io.StringWriter;
import java.util.*;
import javax.tools.*;

/** Compiles the files named in args[1] again and again; class files go nowhere. */
public final class JavacLoop {
	public static void main(String[] args) throws Exception {
		JavaCompiler c = ToolProvider.getSystemJavaCompiler();
		List<String> files = java.nio.file.Files.readAllLines(java.nio.file.Paths.get(args[1]));
		System.out.println("ready");
		System.out.flush();
		while (true) {
			StandardJavaFileManager fm = c.getStandardFileManager(null, null, null);
			c.getTask(new StringWriter(), fm, null, Arrays.asList("-nowarn", "-proc:none", "-d", args[0],
				"-XDshould-stop.ifError=FLOW", // sources of another JDK have errors
				"--patch-module", "java.base=" + args[2]), null, fm.getJavaFileObjectsFromStrings(files)).call();
			fm.close();
		}
	}
}
"""


def compile_loop(jdk, tmp):
    path = os.path.join(tmp, "JavacLoop.java")
    with open(path, "w", encoding="utf-8") as f:
        f.write(LOOP)
    subprocess.run([str(jdk.home / "bin/javac"), "-d", tmp, path], check=True)


def one_run(jdk, gc, o, tmp, files):
    listing = os.path.join(tmp, "files")
    with open(listing, "w", encoding="utf-8") as f:
        f.write("\n".join(files) + "\n")
    out = os.path.join(tmp, "classes")
    os.makedirs(out, exist_ok=True)
    args = [out, listing, os.path.join(tmp, "java.base")]
    with jvm.Jvm(jdk, tmp, "JavacLoop", args, COLLECTORS[gc] + ["-Xmx1g"]) as java:
        java.wait_ready()
        # Again, longer, where others took the CPUs.
        for i in range(jvm.TRIES):
            r = jvm.record(java.pid, "-d", o.duration << i, "-F", o.freq, "--threads")
            bad = summarise(gc, r.folded, o)
            if not bad:
                break
    return r.folded, bad


def summarise(gc, folded, o):
    counts, unknown, incomplete = {}, 0, []
    for frames, n in folded:
        name, _, frames = jvm.thread_of(frames)
        kind = "java" if name == "main" else "others"
        have = counts.setdefault(kind, [0, 0])
        have[0] += n
        if jvm.is_complete(frames):
            have[1] += n
        else:
            incomplete.append((n, name, ";".join(frames)))
        unknown += n if "[unknown]" in frames else 0
    total, complete = (sum(c[i] for c in counts.values()) for i in (0, 1))
    percent = 100 * complete / max(1, total)
    print("javac, JDK %d, %s: %d samples, complete %.3f %% (%s), with [unknown] %d" % (
        o.major, gc, total, percent,
        ", ".join("%s %.3f %%" % (k, 100 * c[1] / c[0]) for k, c in sorted(counts.items())), unknown))
    bad = total < 1000 or jvm.too_many(total - complete, 1 - o.bar_complete / 100, total)
    if bad:
        for n, name, stack in sorted(incomplete, reverse=True)[:5]:
            print("  %d %s: %s" % (n, name, stack[:600]))
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    p.add_argument("--gc", default="G1,Parallel,Serial,Z")
    p.add_argument("--files", type=int, default=400)
    p.add_argument("--freq", type=int, default=499)
    p.add_argument("--duration", type=int, default=10)
    p.add_argument("--bar-complete", type=float, default=99.5)
    p.add_argument("--keep", help="write the folded stacks into that directory")
    o = p.parse_args()
    jdk = jvm.pick_jdk(o.jdk)
    o.major = jdk.major
    failed = False
    with tempfile.TemporaryDirectory(prefix="jsampler-javac-") as tmp:
        files = unpack(jdk, tmp, o.files)
        compile_loop(jdk, tmp)
        for gc in o.gc.split(","):
            folded, bad = one_run(jdk, gc, o, tmp, files)
            if o.keep:
                os.makedirs(o.keep, exist_ok=True)
                with open(os.path.join(o.keep, "javac-%s.folded" % gc), "w", encoding="utf-8") as f:
                    f.writelines("%s %d\n" % (";".join(s), n) for s, n in folded)
            failed |= bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
