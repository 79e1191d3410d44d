#!/usr/bin/env python3
"""What the static jsampler contains, from the linker's map: a software bill of materials (CycloneDX), a table for
people, and the licences. A library that TERMS does not know is an error."""

import argparse
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import uuid

# By Debian's source package: project, licence (SPDX), where it is from. Of what a package has under several
# licences, only what is linked counts.
TERMS = {
    "elfutils": ("elfutils", "LGPL-3.0-or-later OR GPL-2.0-or-later", "https://sourceware.org/elfutils/"),
    "glibc": ("glibc", "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/"),
    "gcc-12": ("libstdc++ and libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org/"),
    "gcc-14": ("libstdc++ and libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org/"),
    "libmicrohttpd": ("GNU libmicrohttpd", "LGPL-2.1-or-later", "https://www.gnu.org/software/libmicrohttpd/"),
    "libseccomp": ("libseccomp", "LGPL-2.1-only", "https://github.com/seccomp/libseccomp"),
    "zydis": ("Zydis", "MIT", "https://zydis.re/"),
    "zycore-c": ("Zycore", "MIT", "https://github.com/zyantific/zycore-c"),
    "libzstd": ("zstd", "BSD-3-Clause OR GPL-2.0-only", "https://facebook.github.io/zstd/"),
    "xz-utils": ("xz (liblzma)", "LicenseRef-public-domain", "https://tukaani.org/xz/"),
    "zlib": ("zlib", "Zlib", "https://zlib.net/"),
    "bzip2": ("bzip2", "bzip2-1.0.6", "https://sourceware.org/bzip2/"),
    "protobuf-c": ("protobuf-c", "BSD-2-Clause", "https://github.com/protobuf-c/protobuf-c"),
    "sqlite3": ("SQLite", "LicenseRef-public-domain", "https://sqlite.org/"),
    "uthash": ("uthash", "BSD-1-Clause", "https://troydhanson.github.io/uthash/"),
}
# Of these, only headers are compiled in, which no map shows.
HEADERS = ("uthash-dev", "libzycore-dev")
# Built from Debian's source, so no package has the archive: the package that has its headers.
BUILT = {"libmicrohttpd.a": "libmicrohttpd-dev"}
# Their licences ask for the source beside a statically linked program.
COPYLEFT = ("elfutils", "glibc", "libmicrohttpd", "libseccomp")
COMMON = ("GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3")

TABLE = """# Libraries in jsampler %s

jsampler is under the Apache License 2.0 (LICENSE). The program is linked statically and contains, from Debian:

| library | version | licence | Debian's source package |
| --- | --- | --- | --- |
%s

The folder licenses has the licence and the copyright notices of each. elfutils, glibc, libmicrohttpd and libseccomp are used under the GNU
Lesser General Public License (version 3 for elfutils, 2.1 for the others): you may change them, link jsampler with what you made of them, and take it apart to
find your mistakes. How:

1. jsampler-%s-sources.tar, published beside this package, has the sources of jsampler and of these libraries. The latter can be
   had from Debian as well (`apt-get source elfutils=VERSION`, or https://snapshot.debian.org).
2. Build and install your version of the library, with its static archive, and run `scripts/package` in jsampler's sources.
   docs/building.md there has the packages that this takes.

The three libraries in lib/jsampler, which JVMs load, contain nothing of others.
"""


def query(package):
    out = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package}\t${source:Version}", package], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return tuple(out.split("\t"))


def taken(map_file):
    """The archives and objects of others that the linker took something from. What lies in the build's folder has no
    absolute name; there it is jsampler's own, Zydis (components()), or BUILT. What the compiler makes while it
    optimizes across files (ccXXXXXX.debug.temp.o) is jsampler's own, too."""
    text = map_file.read_text(errors="replace")
    # Archive members that were taken are in the first part; objects are on LOAD lines.
    first = text.split("\nDiscarded input sections", 1)[0]
    files = set(re.findall(r"^([^\s(]+\.a)\(", first, re.M)) | set(re.findall(r"^LOAD (/\S+\.o)$", text, re.M))
    return sorted(f for f in files if not re.search(r"(^|/)(lib(js_\w+|zydis)\.a|cc\w{6}\.[\w.]+\.o)$", f))


def linked(map_file):
    """The Debian packages of these."""
    packages = set()
    for f in taken(map_file):
        name = pathlib.Path(f).name
        if name in BUILT:
            packages.add(BUILT[name])
            continue
        out = subprocess.run(["dpkg-query", "-S", str(pathlib.Path(f).resolve())], text=True, stdout=subprocess.PIPE).stdout
        if not out:
            sys.exit("contents.py: no Debian package has %s" % f)
        packages.add(out.split(":")[0])
    return packages


def upstream(version):
    return re.sub(r"^\d+:|[-+.](dfsg|ds).*$|-[^-]*$|\+really.*", "", version)


def components(map_file):
    """[(source package, its version, a binary package of it)]"""
    found = {query(p): p for p in sorted(linked(map_file) | set(HEADERS))}
    found[query("libzydis-dev")] = "libzydis-dev"  # built from its source, so not Debian's archive
    unknown = [name for name, _ in found if name not in TERMS]
    if unknown:
        sys.exit("contents.py: packaging/contents.py has no licence for %s" % ", ".join(sorted(unknown)))
    unseen = set(COPYLEFT) - {name for name, _ in found}
    if unseen:
        sys.exit("contents.py: the linker's map does not have %s" % ", ".join(sorted(unseen)))
    return sorted((name, version, package) for (name, version), package in found.items())


def licence(expression):
    if expression.startswith("LicenseRef-"):
        return {"license": {"name": "public domain"}}
    return {"expression": expression} if " " in expression else {"license": {"id": expression}}


def bill(version, program, parts):
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "urn:uuid:%s" % uuid.uuid5(uuid.NAMESPACE_URL, "jsampler/" + digest),
        "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": "jsampler", "name": "jsampler", "version": version,
            "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": [{
            "type": "library", "bom-ref": name, "name": TERMS[name][0], "version": upstream(number),
            "licenses": [licence(TERMS[name][1])], "purl": "pkg:deb/debian/%s@%s?arch=source" % (name, number.replace("+", "%2B")),
            "externalReferences": [{"type": "website", "url": TERMS[name][2]}]} for name, number, _ in parts],
        "dependencies": [{"ref": "jsampler", "dependsOn": [name for name, _, _ in parts]}],
    }


def write_licences(folder, parts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, _, package in parts:
        place = pathlib.Path("/usr/share/doc", package)
        if (place / "copyright").exists():
            shutil.copyfile(place / "copyright", folder / (name + ".txt"))
        elif (place / "copyright.gz").exists():
            (folder / (name + ".txt")).write_bytes(gzip.decompress((place / "copyright.gz").read_bytes()))
        else:
            sys.exit("contents.py: %s has no copyright file" % place)
    for name in COMMON:
        shutil.copyfile("/usr/share/common-licenses/" + name, folder / (name + ".txt"))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--map", type=pathlib.Path, required=True)
    p.add_argument("--sources", action="store_true", help="print the source packages that are to be published, NAME=VERSION")
    p.add_argument("--version")
    p.add_argument("--program", type=pathlib.Path)
    p.add_argument("--output", type=pathlib.Path)
    o = p.parse_args()
    parts = components(o.map)
    if o.sources:
        print("\n".join("%s=%s" % (n, v) for n, v, _ in parts if n in COPYLEFT or n == "zydis"))
        return
    rows = "\n".join("| %s | %s | %s | %s %s |" % (TERMS[n][0], upstream(v), TERMS[n][1].replace("LicenseRef-", "").replace("-domain", " domain"),
                                                  n, v) for n, v, _ in parts)
    o.output.mkdir(parents=True, exist_ok=True)
    (o.output / "LIBRARIES.md").write_text(TABLE % (o.version, rows, o.version))
    (o.output / "jsampler.cdx.json").write_text(json.dumps(bill(o.version, o.program, parts), indent=2) + "\n")
    write_licences(o.output / "licenses", parts)


if __name__ == "__main__":
    main()
