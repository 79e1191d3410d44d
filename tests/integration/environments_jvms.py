#!/usr/bin/env python3
"""JVMs that are not as they should be: without tables, stripped, replaced, no HotSpot, full of garbage."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import jvm
from environments_common import (NOBODY, Target, burn, check, check_run, demo, java_named, jdks, main, native, odd)


@contextlib.contextmanager
def copy_of(jdk):
    """A JDK of links, but with a libjvm.so of its own: (home, libjvm)."""
    with tempfile.TemporaryDirectory(prefix="jsampler-jdk-") as tmp:
        os.chmod(tmp, 0o755)
        home = pathlib.Path(tmp) / "jdk"
        if subprocess.run(["cp", "-al", str(jdk.home), str(home)], stderr=subprocess.DEVNULL).returncode:
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run(["cp", "-a", str(jdk.home), str(home)], check=True)
        lib = home / "lib/server/libjvm.so"
        lib.unlink()
        shutil.copy(jdk.home / "lib/server/libjvm.so", lib)
        yield home, lib


def rename_in(lib, old, new):
    """Another name of the same length for every such C string."""
    data = lib.read_bytes()
    a, b = b"\0" + old.encode() + b"\0", b"\0" + new.encode() + b"\0"
    assert len(a) == len(b) and a in data, old
    lib.write_bytes(data.replace(a, b))


def native_only(r):
    """No Java name anywhere, but native ones."""
    return r.status == 0 and not r.has(r"^(Demo|java/)") and r.samples() > 5


def named_with_vm(r):
    return java_named(r) and r.has("thread_native_entry")


def without_tables(jdk, home, lib):
    """One required field has another name; then the table itself."""
    rename_in(lib, "_entry_bci", "_entry_bcx")
    with demo(jdk, home=home) as t:
        check_run("%d, a required field is missing: named" % jdk.major, lambda r: native_only(r) and
                  r.says(r"nmethod::_entry_bci") and r.has(r"CompileBroker|JavaThread|start_thread"),
                  "-p", t.pid, "-d", "1.5")
    rename_in(lib, "gHotSpotVMStructs", "gHotSpotVMStructz")
    with demo(jdk, home=home) as t:
        check_run("%d, no tables" % jdk.major, lambda r: native_only(r) and r.says("has no HotSpot tables") and
                  len(re.findall("jsampler: ", r.err)) == 1, "-p", t.pid, "-d", "1")


def stripped(jdk, home, lib):
    subprocess.run(["strip", str(lib)], check=True)
    with demo(jdk, home=home) as t:
        burn(t.pid, 1.5)
        r = check_run("%d, stripped: Java frames named, walks complete" % jdk.major, java_named,
                      "-p", t.pid, "-d", "2", "-F", "299")
        vm = [f for frames, _ in r.folded for f in frames if "CompileBroker" in f or "thread_native_entry" in f]
        check("... VM frames are [libjvm.so]", r.has(r"^\[libjvm\.so\]$") and not vm, vm[:3] or r)


def broken():
    for jdk in jdks():
        with copy_of(jdk) as (home, lib):
            original = lib.read_bytes()
            without_tables(jdk, home, lib)
            lib.unlink()
            lib.write_bytes(original)
            stripped(jdk, home, lib)


def replaced():
    """An upgrade under the running JVM: the file that is mapped has no name any more."""
    all_jdks = jdks()
    for i, jdk in enumerate(all_jdks):
        other = all_jdks[1 - i] if len(all_jdks) > 1 else jdk
        with copy_of(jdk) as (home, lib), demo(jdk, home=home, uid=NOBODY) as t:
            burn(t.pid, 1)
            lib.unlink()
            if i == 0:
                check_run("%d, libjvm.so deleted, root" % jdk.major, named_with_vm, "-p", t.pid, "-d", "1")
                check_run("%d, libjvm.so deleted, its user" % jdk.major, lambda r: native_only(r) and
                          r.says("libjvm.so.*root, or restart"), "-p", t.pid, "-d", "1", uid=NOBODY)
            shutil.copy(other.home / "lib/server/libjvm.so", lib)
            check_run("%d, libjvm.so replaced, root" % jdk.major, named_with_vm, "-p", t.pid, "-d", "1.5")
            r = check_run("%d, libjvm.so replaced, its user" % jdk.major, lambda r: native_only(r) and
                          r.says("libjvm.so.*root, or restart"), "-p", t.pid, "-d", "1", uid=NOBODY)
            check("... no name of the other file", not r.has("thread_native_entry"), r)


def upgraded_library():
    """Never the symbols of the wrong file."""
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        lib = shutil.copy(native("late.so", "late_library.c", ("-O1", "-shared", "-fPIC")), tmp + "/late.so")
        other = native("other.so", "late_library.c", ("-O1", "-shared", "-fPIC", "-DOTHER_NAMES"))
        with odd("late-dlopen", lib, uid=NOBODY) as t:
            t.tell()
            jvm.wait_until(lambda: str(lib) in pathlib.Path("/proc/%d/maps" % t.pid).read_text())
            burn(t.pid, 0.1)
            os.unlink(lib)
            shutil.copy(other, lib)
            for who, uid in (("root", None), ("its user", NOBODY)):
                inner = "^late_inner$" if uid is None else r"^\[late\.so\]$"
                r = check_run("a library replaced, %s" % who, lambda r, inner=inner: r.status == 0 and
                              r.share(inner) > 0.9, "-p", t.pid, "-d", "0.7", uid=uid)
                check("... no name of the other file, %s" % who, not r.has("wrong_inner"), r)


def other_vms():
    with tempfile.TemporaryDirectory() as tmp:
        lib = shutil.copy(native("no_tables.so", "no_tables.c", ("-O1", "-shared", "-fPIC")), tmp + "/libjvm.so")
        with odd("late-dlopen", lib) as t:
            t.tell()
            jvm.wait_until(lambda: str(lib) in pathlib.Path("/proc/%d/maps" % t.pid).read_text())
            burn(t.pid, 0.1)
            check_run("OpenJ9-like: native profile and a message", lambda r: r.status == 0 and
                      r.has("other_vm_interpreter") and r.says("OpenJ9"), "-p", t.pid, "-d", "0.7")
        with Target([native("svm", "no_tables.c", ("-O1", "-DSVM"))]) as t:
            check_run("native image: native profile and a message", lambda r: r.status == 0 and
                      r.has("other_vm_interpreter") and r.says("GraalVM native image"), "-p", t.pid, "-d", "0.7")
        # The code in them begins behind the ELF header.
        elf = pathlib.Path("/bin/sh").read_bytes()[:64]
        for what, head in (("no ELF file", b"#!/bin/sh\n"), ("a header and no more", elf),
                           ("an ELF file of nonsense", elf[:16] + b"\xff" * 48),
                           ("a 32-bit header", elf[:4] + b"\x01" + elf[5:])):
            path = pathlib.Path(tmp, "file-" + str(len(os.listdir(tmp))))
            with odd("file", path) as t:
                with open(path, "r+b") as f:
                    f.write(head)
                check_run("mapped: %s" % what, lambda r: r.status == 0 and r.samples() > 2 and
                          r.share(r"^\[(file-\d|unknown)\]$") > 0.9, "-p", t.pid, "-d", "0.4", "-F", "499")


def garbage():
    """Ten seconds of a JVM's memory that changes at random under the reader."""
    for jdk, seed, quiet in [(jdks()[0], 2, 1), (jdks()[0], 3, 0), (jdks()[-1], 4, 0)]:
        lib = jvm.compile_library(jdk, "tests/native/garbage.c", "garbage")
        classes = jvm.compile_java(jdk, "garbage")
        with Target([jdk.home / "bin/java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", classes, "Garbage", lib,
                     str(quiet * 1000), str(seed)], stderr=subprocess.DEVNULL) as parent:
            pid = int(parent.line.split()[1])
            for i in range(2):
                r = check_run("garbage, JDK %d, seed %d, %d" % (jdk.major, seed, i), lambda r: r.status == 0 and
                              r.samples() > 50, "-p", pid, "-d", "2", "-F", "999", "-t", "-v")
                memory = float((re.search(r"peak memory ([\d.]+) MB", r.err) or [0, "inf"])[1])
                check("... little memory, no hang", r.seconds < 120 and memory < 700 and
                      not r.says("Sanitizer|runtime error"), r)
            check("... is there to the end", pathlib.Path("/proc/%d" % pid).exists())


if __name__ == "__main__":
    main({f.__name__: f for f in (broken, replaced, upgraded_library, other_vms, garbage)})
