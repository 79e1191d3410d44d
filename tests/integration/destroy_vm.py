#!/usr/bin/env python3
"""The first thread of a JVM becomes DestroyJavaVM when its work is done, and its samples stand with the name that it worked under.

tests/java/destroy works in it, lets more than two seconds pass (threads are named again every two seconds), and works in it
once more, as DestroyJavaVM.

usage: destroy_vm.py [--jdk 17]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import jvm


def launch(jdk, classes):
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        out = os.path.join(tmp, "out.folded")
        subprocess.run([jvm.jsampler_path(), "-q", "--no-annotate", "-t", "-F", "999", "-o", out, "--", str(jdk.home / "bin/java"),
                        "-cp", str(classes), "Destroy"],
                       stdin=subprocess.DEVNULL, timeout=jvm.PATIENCE, preexec_fn=jvm.die_with_parent, check=True)
        with open(out, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            return list(jvm.parse_folded(f))


def names(folded, method):
    """Of the threads that were seen in it."""
    found = {}
    for frames, n in folded:
        thread = next((m.group(1) for f in frames if (m := re.fullmatch(r"\[(.*) tid=\d+\]", f))), None)
        if any(f.endswith(method) for f in frames):
            found[thread] = found.get(thread, 0) + n
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk", default="17")
    jdk = jvm.pick_jdk(p.parse_args().jdk)
    folded = launch(jdk, jvm.compile_java(jdk, "destroy"))
    first, last = names(folded, "Destroy.firstWork"), names(folded, "DeleteOnExitHook.runHooks")
    print("JDK %d: first work in %s, other in %s, last in %s" % (jdk.major, first, names(folded, "Destroy.otherWork"), last))
    sys.exit(0 if set(first) == {"main"} and set(last) == {"main"} else 1)


if __name__ == "__main__":
    main()
