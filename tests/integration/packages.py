#!/usr/bin/env python3
"""What scripts/package made (dist/): the static program does what the dynamic one does; the tarball in a root that has
nothing but a busybox; the image; the .rpm in an empty root; the .deb in one of Debian. Each records a JVM of the host.

usage: packages.py --dist DIRECTORY [--deb-root ROOT]
  --deb-root  a root of Debian, as mmdebstrap makes it, that may be changed
Needs root. The last line is "packages: N passed, N failed". Exit status: 0 nothing failed, 1 something did, 77 no JDK.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jvm

ROOT = pathlib.Path(__file__).resolve().parents[2]
counts = {"passed": 0, "failed": 0}


def check(what, ok, got=""):
    counts["passed" if ok else "failed"] += 1
    print("packages: %s %s" % ("passed" if ok else "FAILED", what), flush=True)
    if not ok:
        print(got, flush=True)


def run(*args, **kw):
    r = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=180, **kw)
    return r.returncode, r.stdout


def same_results(static):
    """Both programs write the same of each recorded sample and saved profile."""
    dynamic = jvm.jsampler_path()
    files = sorted((ROOT / "tests/fixtures").glob("*.jsrec"))
    different = [f.name for f in files if run(static, "replay", f) != run(dynamic, "replay", f)]
    check("%d recorded samples, the same bytes from both" % len(files), files and not different, different)


class BareRoot:
    """A root with the host's /proc and /sys; removed at the end."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        for d in ("proc", "sys", "dev", "tmp"):
            (self.path / d).mkdir(exist_ok=True)

    def __enter__(self):
        for d in ("proc", "sys", "dev"):
            subprocess.run(["mount", "--rbind", "/" + d, self.path / d], check=True)
        return self

    def __exit__(self, *_):
        for d in ("proc", "sys", "dev"):
            subprocess.run(["umount", "--recursive", "--lazy", self.path / d], check=True)

    def run(self, *args):
        return run("chroot", self.path, *args)

    def records(self, what, program, java):
        """Stacks of the program, with and without the bridge."""
        for options in ((), ("--bridge", "on")):
            status, out = self.run(program, "-p", java.pid, "-d", 2, *options, "-o", "/tmp/out.folded")
            folded = self.path / "tmp/out.folded"
            text = folded.read_text() if folded.exists() else ""
            folded.unlink(missing_ok=True)
            check(" ".join((what, "records a JVM", *options)), status == 0 and "Truth.k" in text, "%d\n%s" % (status, out.decode()))

    def lists(self, what, program):
        status, out = self.run(program, "list")
        check("%s lists the JVM" % what, status == 0 and b" Truth" in out, out)


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
        subprocess.run(["umount", place], check=True)


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


def rpm(tmp, package, java):
    root = pathlib.Path(tmp, "rpm")
    root.mkdir()

    def manage(*args):
        return run("rpm", "--root", root, "--dbpath", "/var/lib/rpm", *args)
    with BareRoot(root) as bare:
        status, out = manage("--install", package)
        check("rpm --install", status == 0, out)
        status, out = bare.run("/usr/bin/jsampler", "--version")
        check("the .rpm's program runs", status == 0 and b"static" in out, out)
        bare.records("the .rpm", "/usr/bin/jsampler", java)
        status, out = manage("--erase", "jsampler")
        left = package_files(root / "usr")
        check("erased, nothing is left", status == 0 and not left, "%s %s" % (out, left))


def package_files(root):
    return sorted(str(p.relative_to(root)) for p in pathlib.Path(root).rglob("*jsampler*") if not str(p).startswith("%s/proc" % root))


def older_deb(package, tmp, deb):
    """The same as version 0.0.1, with a file that the new one does not have."""
    tree = pathlib.Path(tmp, "older")
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub("(?m)^Version: .*", "Version: 0.0.1", control.read_text()))
    (tree / "usr/lib/jsampler/old").touch()
    subprocess.run(["dpkg-deb", "-Znone", "--build", tree, deb], check=True, stdout=subprocess.DEVNULL)


def deb(tmp, root, package, java):
    shutil.copy(package, pathlib.Path(root, "it.deb"))
    older_deb(package, tmp, pathlib.Path(root, "older.deb"))
    with BareRoot(root) as debian:
        status, out = debian.run("dpkg", "-i", "/older.deb")
        check("dpkg -i", status == 0, out)
        status, out = debian.run("dpkg", "-i", "/it.deb")
        old = pathlib.Path(root, "usr/lib/jsampler/old").exists()
        check("dpkg -i of a newer one", status == 0 and b"over (0.0.1)" in out and not old, out)
        debian.lists("the .deb", "jsampler")
        debian.records("the .deb", "jsampler", java)
        status, out = debian.run("dpkg", "--purge", "jsampler")
        left = [f for d in ("usr", "etc", "var/lib/dpkg/info") for f in package_files(os.path.join(root, d))]
        check("purged, nothing is left", status == 0 and not left, "%s %s" % (out, left))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dist", type=pathlib.Path, required=True)
    p.add_argument("--deb-root")
    o = p.parse_args()
    jdk = jvm.pick_jdk("17,25,21")
    tar = next(o.dist.glob("jsampler-*-linux-x86_64.tar.gz"))
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as tmp:
        subprocess.run(["tar", "-xzf", tar, "-C", tmp], check=True)
        same_results(next(pathlib.Path(tmp).glob("jsampler-*/bin/jsampler")))
        classes = jvm.compile_java(jdk, "truth")
        with jvm.Jvm(jdk, classes, "Truth", ["seconds=1000", "warmup=2", "threads=1"]) as java:
            java.wait_ready()
            tarball(tmp, tar, java)
            image(tmp, next(o.dist.glob("jsampler-*-image.tar")), java)
            rpm(tmp, next(o.dist.glob("jsampler-*.x86_64.rpm")), java)
            if o.deb_root:
                deb(tmp, o.deb_root, next(o.dist.glob("jsampler_*_amd64.deb")), java)
    print("packages: %d passed, %d failed" % (counts["passed"], counts["failed"]))
    sys.exit(counts["failed"] != 0)


if __name__ == "__main__":
    main()
