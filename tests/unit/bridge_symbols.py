#!/usr/bin/env python3
"""What the libraries for JVMs export and need: old JVMs' libc, musl, nothing else.

usage: bridge_symbols.py LIBRARY...
"""

import os
import re
import subprocess
import sys
import tempfile

NEWEST = (2, 17)
EXPORTS = {"libjsampler-bridge.so": {"Agent_OnLoad", "Agent_OnAttach", "Agent_OnUnload"},
           "libjsampler-stream.so": {"JVM_OnLoad"}, "libjsampler-hprof.so": {"JVM_OnLoad"}}
# Loads each library in a process of musl, every symbol bound, and finds its entry points.
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *lib = dlopen(argv[1], RTLD_NOW);
	if (!lib)
		return puts(dlerror()), 1;
	for (int i = 2; i < argc; i++)
		if (!dlsym(lib, argv[i]))
			return puts(dlerror()), 1;
	return 0;
}
"""


def read(lib, *options):
    return subprocess.run(["readelf", "-W", *options, lib], check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(lib):
    """(name, version, defined) of the dynamic symbols."""
    for line in read(lib, "--dyn-syms").splitlines():
        f = line.split()
        if len(f) >= 8 and f[0].rstrip(":").isdigit():
            name, _, version = f[7].partition("@")
            yield name, version.lstrip("@"), f[6] != "UND"


def glibc(lib, bad):
    name = os.path.basename(lib)
    needed = re.findall(r"NEEDED.*\[(.*)\]", read(lib, "-d"))
    if needed != ["libc.so.6"]:
        bad.append("%s needs %s" % (name, needed))
    exported = {s for s, _, defined in symbols(lib) if defined}
    if exported != EXPORTS[name]:
        bad.append("%s exports %s" % (name, sorted(exported)))
    for symbol, version, defined in symbols(lib):
        m = re.match(r"GLIBC_(\d+)\.(\d+)", version)
        if not defined and (not m or (int(m[1]), int(m[2])) > NEWEST):
            bad.append("%s needs %s of %s" % (name, symbol, version or "no version"))


def musl(lib, loader, bad):
    run = subprocess.run([loader, os.path.abspath(lib), *EXPORTS[os.path.basename(lib)]], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if run.returncode:
        bad.append("musl: %s" % run.stdout.strip())


def main():
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        loader = os.path.join(tmp, "loader")
        built = subprocess.run(["musl-gcc", "-x", "c", "-", "-o", loader], input=LOADER, text=True)
        if built.returncode:
            bad.append("no musl-gcc: scripts/setup installs musl-tools")
        for lib in sys.argv[1:]:
            glibc(lib, bad)
            if not built.returncode:
                musl(lib, loader, bad)
    print("\n".join(bad) or "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
