#!/usr/bin/env python3
"""What scripts/package made (dist/): the static program does what the dynamic one does; the tarball in a root that has
nothing but a busybox, and in one with musl in place of glibc; the image; the .rpm in an empty root; the .deb in one of
Debian, for a group, too. Each records a JVM of the host. The .deb's service under systemd. The Kubernetes Job and the DaemonSet in
containers as their manifests describe them, each of their rights taken away once.

usage: packages.py --dist DIRECTORY [--deb-root ROOT]... [--systemd-root ROOT]...
  --deb-root      a root of Debian, as mmdebstrap makes it, that may be changed: the .deb and the tarball; with sudo in it,
                  what a group may do
  --systemd-root  another root of Debian that may be changed, with systemd: it is booted, and the service runs in it
Needs root. The last line is "packages: N passed, N failed". Exit status: 0 nothing failed, 1 something did, 77 no JDK.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jvm
from packages_daemon import daemon_rights
from packages_deb import CONF, deb, installed_service
from packages_rights import ephemeral, rights
from packages_root import BareRoot, check, counts, package_files, run
from packages_systemd import systemd

ROOT = pathlib.Path(__file__).resolve().parents[2]
OFTEN = 20  # samples: that the other program has none of them is no chance (one of two: 2^-20)


def sizes(static, archive):
    """What an administrator carries to a host, and waits for."""
    for what, file, most in (("the program", static, 12 << 20), ("the image", archive, 20 << 20)):
        check("%s is small" % what, os.path.getsize(file) <= most, os.path.getsize(file))
    took = []
    for _ in range(21):
        before = os.times()
        run(static, "--version")
        after = os.times()
        took.append(after.children_user + after.children_system - before.children_user - before.children_system)
    check("--version takes less than 10 ms of CPU time", sum(took) / len(took) < 0.01, took)


def libraries_named(static, dist):
    """--version has the same libraries and versions as the bill of materials, less compilers' and what belongs to another one."""
    bill = json.loads(next(dist.glob("*.cdx.json")).read_text())
    inside = {c["name"].replace("GNU ", "").split(" (")[0] + " " + c["version"] for c in bill["components"]
              if c["name"] not in ("glibc", "libstdc++ and libgcc", "Zycore", "bzip2", "uthash")}
    text = run(static, "--version")[1].decode()
    said = set(re.search("(?m)^libraries: (.*)$", text).group(1).split(", "))
    check("--version names the libraries that are inside", said == inside, said ^ inside)


def linted(dist):
    """By the distributions' own checkers, which are slow beside other work."""
    for command, clean in ((["lintian", "--allow-root", "--fail-on", "error,warning", *dist.glob("*.deb")], rb""),
                           (["rpmlint", "-r", ROOT / "packaging/rpm/jsampler.rpmlintrc", *dist.glob("*.rpm")], rb" 0 errors, 0 warnings")):
        status, out = run(*command, timeout=600)
        check("%s has nothing to say" % command[0], status == 0 and (clean in out if clean else not out), out)


def same_results(static):
    """Both programs write the same of each recorded sample and saved profile."""
    dynamic = jvm.jsampler_path()
    files = sorted((ROOT / "tests/fixtures").glob("*.jsrec"))
    different = [f.name for f in files if run(static, "replay", f) != run(dynamic, "replay", f)]
    check("%d recorded samples, the same bytes from both" % len(files), files and not different, different)


def native_names(program, java, out):
    """Samples of each frame that is no Java code, marks of incomplete stacks included."""
    status, said = run(program, "-q", "-p", java.pid, "-d", 3, "-F", 999, "-o", out)
    samples = collections.Counter()
    if status == 0:
        with open(out, encoding="utf-8") as f:
            for frames, n in jvm.parse_folded(f):
                samples.update({name: n for name in {f for f in frames if not re.search(r"_\[[01ji]\]$", f)}})
    return samples, said


def names_of_both(static, java, tmp):
    """(names that both have, those that one has often and the other never, what was said)."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = [pool.submit(native_names, program, java, os.path.join(tmp, name))
                for program, name in ((static, "static.folded"), (jvm.jsampler_path(), "dynamic.folded"))]
    (ours, said), (others, other_said) = (b.result() for b in both)
    missing = {n: (ours[n], others[n]) for n in ours | others if max(ours[n], others[n]) >= OFTEN and 0 in (ours[n], others[n])}
    return set(ours & others), missing, (said, other_said)


def same_names(static, java, tmp):
    """What both often see in one JVM at the same time, they call the same. The dynamic program finds names through the
    host's libraries, the static one through those that it was linked with. On a busy machine the two may begin and end far
    apart, and work that comes in bursts is then seen by one of them: what differs has to do so twice."""
    named, missing, said = names_of_both(static, java, tmp)
    if missing:
        _, again, said = names_of_both(static, java, tmp)
        missing = {n: (missing[n], again[n]) for n in missing.keys() & again.keys()}
    check("JDK %d: the %d native frames have the same names in both" % (java.jdk.major, len(named)),
          {"start_thread", "call_stub"} <= named and not missing, (missing, said))


def live(static, classes_of, tmp):
    for major in ("17", "25"):
        jdk = jvm.pick_jdk(major)
        with jvm.Jvm(jdk, classes_of(jdk), "Truth", ["seconds=1000", "warmup=2", "threads=1"]) as java:
            java.wait_ready()
            java.jdk = jdk
            same_names(static, java, tmp)


def noexec(bare, place, program):
    """Where programs may not be started, the shell says so; the libraries are said to be the reason by who loads them."""
    subprocess.run(["mount", "-o", "remount,noexec,bind", place], check=True)
    status, out = bare.run("/bin/busybox", "sh", "-c", "'%s' --version" % program)
    check("noexec: it is not started, and that is said", status == 126 and b"Permission denied" in out, "%d %s" % (status, out))


def tarball(tmp, tar, java):
    root = pathlib.Path(tmp, "busybox")
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    shutil.copy(tar, root / "it.tar.gz")
    with BareRoot(root) as bare:
        status, out = bare.run("/bin/busybox", "tar", "-xzf", "/it.tar.gz", "-C", "/tmp")
        unpacked = next((root / "tmp").glob("jsampler-*"), None)
        check("busybox unpacks the tarball", status == 0 and unpacked, out)
        if not unpacked:
            return
        unpacked.rename(root / "moved here")
        program = "/moved here/bin/jsampler"
        status, out = bare.run(program, "--version")
        check("the tarball's program runs", status == 0 and b"static" in out, out)
        place = root / "moved here"
        (place / "lib").rename(place / "elsewhere")  # before the JVM has the bridge
        status, out = bare.run(program, "-p", java.pid, "-d", 1, "--bridge", "on", "-o", "/tmp/x.folded")
        check("it says where it looked for its libraries", b"/moved here/bin/../lib/jsampler/libjsampler-bridge.so" in out, out)
        (place / "elsewhere").rename(place / "lib")
        bare.records("moved, with a shell alone, it", program, java)
        subprocess.run(["mount", "--bind", place, place], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        bare.records("read-only, it", program, java)
        noexec(bare, place, program)
        subprocess.run(["umount", place], check=True)


def tarball_elsewhere(root, tar, java):
    """In a root of a distribution."""
    subprocess.run(["tar", "-xzf", tar, "-C", root], check=True)
    program = "/%s/bin/jsampler" % next(pathlib.Path(root).glob("jsampler-*")).name
    with BareRoot(root) as bare:
        status, out = bare.run(program, "--version")
        check("the tarball's program runs", status == 0 and b"static" in out, out)
        bare.records("the tarball", program, java)


MUSL = "/lib/ld-musl-x86_64.so.1"
COUNT = "i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done"


def musl_program(place, name):
    subprocess.run(["musl-gcc", "-O1", "-pthread", "-o", place / name, ROOT / ("tests/native/%s.c" % name)], check=True)


def musl(tmp, tar):
    """A root without glibc: Debian's musl and a busybox, since there is no JVM for musl here. The libraries for JVMs are loaded by a
    program of musl's."""
    root = pathlib.Path(tmp, "musl")
    for d in ("bin", "lib", "it"):
        (root / d).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    shutil.copy(os.path.realpath(MUSL), root / MUSL[1:])
    for name in ("small_targets", "load_libraries"):
        musl_program(root / "bin", name)
    subprocess.run(["tar", "-xzf", tar, "--strip-components=1", "-C", root / "it"], check=True)
    libraries = ["/it/lib/jsampler/" + f.name for f in sorted((root / "it/lib/jsampler").glob("*.so"))]
    with BareRoot(root) as bare:
        status, out = bare.run("/it/bin/jsampler", "--version")
        check("musl: it runs", status == 0 and b"static" in out, out)
        status, out = bare.run("/it/bin/jsampler", "doctor")
        check("musl: doctor", status == 0 and b"perf" in out, out)
        for what, name, command in (("a program of musl's, its functions named", "spin_here", ["/bin/small_targets", "spin", "1.5"]),
                                    ("a busybox", "[busybox]", ["/bin/busybox", "sh", "-c", COUNT])):
            status, out = bare.run("/it/bin/jsampler", "-o", "/tmp/%s.folded" % command[0][5:], "--", *command)
            text = (root / ("tmp/%s.folded" % command[0][5:])).read_text()
            check("musl: it records %s" % what, status == 0 and name in text, "%s\n%s" % (out, text))
        status, out = bare.run("/bin/load_libraries", *libraries)
        check("musl: it loads the %d libraries for JVMs" % len(libraries), status == 0 and len(libraries) == 3, out)


def unpack_image(archive, place):
    """Returns the root and the command."""
    layout, root = place / "layout", place / "root"
    for d in (layout, root):
        d.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive, "-C", layout], check=True)

    def blob(of):
        return layout / "blobs" / of["digest"].replace(":", "/")
    manifest = json.loads(blob(json.loads((layout / "index.json").read_text())["manifests"][0]).read_text())
    for layer in manifest["layers"]:
        subprocess.run(["tar", "-xf", blob(layer), "-C", root], check=True)
    return root, json.loads(blob(manifest["config"]).read_text())["config"]["Entrypoint"]


def image(tmp, archive, java):
    """In the host's PID namespace, and in one of its own, where each command says once what is missing."""
    root, command = unpack_image(archive, pathlib.Path(tmp, "image"))
    with BareRoot(root) as bare:
        bare.lists("the image", *command)
        bare.records("the image", *command, java)
        for args in (["list"], ["-p", java.pid, "-d", 1], ["no.such.Main"]):
            _, out = run("unshare", "--pid", "--fork", "--mount-proc=%s/proc" % root, "chroot", root, *command, *args)
            check("the image says that it is without the host's PIDs: %s" % args[0], out.count(b"--pid=host") == 1, out)


def kubernetes_job(tmp, archive):
    root, _ = unpack_image(archive, pathlib.Path(tmp, "job"))
    rights(root)
    ephemeral(root)


def kubernetes_daemon(tmp, archive, jdk):
    root, command = unpack_image(archive, pathlib.Path(tmp, "daemonset"))
    daemon_rights(root, root / command[0][1:], jdk)


def rpm(tmp, package, java):
    root = pathlib.Path(tmp, "rpm")
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/sh")  # for its scripts; no package of this database has it

    def manage(*args):
        return run("rpm", "--root", root, "--dbpath", "/var/lib/rpm", *args)
    with BareRoot(root) as bare:
        status, out = manage("--install", "--nodeps", package)
        said = [line for line in out.splitlines() if not line.startswith(b"rpm: ")]  # Debian's advice to use alien
        check("rpm --install, without systemd and with nothing to say", status == 0 and not said, out)
        installed_service(root)
        (root / CONF).write_text("[sampling]\nfrequency = 19\n")
        status, out = bare.run("/usr/bin/jsampler", "--version")
        check("the .rpm's program runs", status == 0 and b"static" in out, out)
        bare.records("the .rpm", "/usr/bin/jsampler", java)
        status, out = manage("--erase", "jsampler")
        left = package_files(root / "usr") + package_files(root / "etc")
        check("erased, the changed configuration alone is left", status == 0 and left == ["jsampler", "jsampler/jsampler.conf.rpmsave"],
              "%s %s" % (out, left))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dist", type=pathlib.Path, required=True)
    p.add_argument("--deb-root", action="append", default=[])
    p.add_argument("--systemd-root", action="append", default=[])
    o = p.parse_args()
    jdk = jvm.pick_jdk("17,25,21")
    tar = next(o.dist.glob("jsampler-*-linux-x86_64.tar.gz"))
    archive = next(o.dist.glob("jsampler-*-image.tar"))
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        subprocess.run(["tar", "-xzf", tar, "-C", tmp], check=True)
        program = next(pathlib.Path(tmp).glob("jsampler-*/bin/jsampler"))
        sizes(program, archive)
        libraries_named(program, o.dist)
        same_results(program)
        live(program, lambda jdk: jvm.compile_java(jdk, "truth"), tmp)
        classes = jvm.compile_java(jdk, "truth")
        with jvm.Jvm(jdk, classes, "Packaged", ["seconds=1000", "warmup=2", "threads=1"]) as java:
            java.wait_ready()
            java.jdk = jdk
            with concurrent.futures.ThreadPoolExecutor() as pool:  # its daemons have to be waited for
                apart = [pool.submit(kubernetes_daemon, tmp, archive, jdk), pool.submit(linted, o.dist)]
                tarball(tmp, tar, java)
                musl(tmp, tar)
                image(tmp, archive, java)
                kubernetes_job(tmp, archive)
                rpm(tmp, next(o.dist.glob("jsampler-*.x86_64.rpm")), java)
                for a in apart:
                    a.result()
            for root in o.deb_root:
                deb(tmp, root, next(o.dist.glob("jsampler_*_amd64.deb")), java)
                tarball_elsewhere(root, tar, java)
        jdk = jvm.pick_jdk("25,21,17")  # the newest has what it needs in its own folder
        for root in o.systemd_root:
            systemd(tmp, root, next(o.dist.glob("jsampler_*_amd64.deb")), jdk, jvm.compile_java(jdk, "truth"))
    print("packages: %d passed, %d failed" % (counts["passed"], counts["failed"]))
    sys.exit(counts["failed"] != 0)


if __name__ == "__main__":
    main()
