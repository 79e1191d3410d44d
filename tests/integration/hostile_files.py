#!/usr/bin/env python3
"""A target whose files are made to be expensive: jsampler gives up what costs too much, says so, and goes on."""

import contextlib
import ctypes
import mmap
import json
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import jvm

JS = jvm.jsampler_path()
CPU_MOST, RSS_MOST = 10, 512 << 10  # seconds, KB; of all processes of a run together
CPU_KILL, DATA_KILL = 60, 3 << 30   # so that a failure is quick
CODE, CODE_LEN = 0x1000, 0x1000     # in the file and in memory
SPIN = b"\xeb\xfe" + b"\x90" * (CODE_LEN - 2)
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
ALLOC, EXEC, COMPRESSED = 2, 4, 0x800
failures = []


def check(what, ok, detail=""):
    print("%s %s" % ("ok  " if ok else "FAIL", what), flush=True)
    if not ok:
        failures.append(what)
        print("     " + str(detail).replace("\n", "\n     "), flush=True)


def elf(path, sections):
    """sections: (name, type, flags, bytes, link); .text is section 1. Written as it is made: some are large."""
    every = [("", 0, 0, b"", 0), (".text", PROGBITS, ALLOC | EXEC, SPIN, 0), *sections]
    names = b"".join(n.encode() + b"\0" for n, *_ in every) + b".shstrtab\0"
    every.append((".shstrtab", STRTAB, 0, names, 0))
    at, name_at, headers, offset = CODE, 0, [], []
    for name, kind, flags, data, link in every:
        addr = at if flags & ALLOC else 0
        size = 24 if kind == SYMTAB else 0
        headers.append(struct.pack("<IIQQQQIIQQ", name_at, kind, flags, addr, at, len(data), link, 0, 8, size))
        offset.append(at)
        name_at += len(name) + 1
        at += (len(data) + 15) & ~15
    with open(path, "wb") as f:
        f.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, at, 0, 64, 56, 1, 64,
                            len(every), len(every) - 1))
        f.write(struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, CODE + CODE_LEN, CODE + CODE_LEN, 4096))
        for o, (_, _, _, data, _) in zip(offset, every):
            f.seek(o)
            f.write(data)
        f.seek(at)
        f.write(b"".join(headers))


def packed(unit, times):
    z = zlib.compressobj(1)
    return b"".join(z.compress(unit) for _ in range(times)) + z.flush()


def symbol(name=1, value=CODE, size=16):
    return struct.pack("<IBBHQQ", name, 0x12, 0, 1, value, size)


def named(name=b"spin"):
    return [(".strtab", STRTAB, 0, b"\0" + name + b"\0", 0), (".symtab", SYMTAB, 0, bytes(24) + symbol(), 2)]


ABBREV = bytes([1, 0x11, 0, 0x11, 1, 0x12, 7, 0x10, 0x17, 0, 0, 0])  # a unit: low, high, lines


def unit():
    die = struct.pack("<BQQI", 1, CODE, CODE_LEN, 0)
    return struct.pack("<IHIB", 7 + len(die), 4, 0, 8) + die


def line_program(rows):
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    files = b"\0" + b"x.c\0\0\0\0" + b"\0"
    body = b"\0\x09\x02" + struct.pack("<Q", CODE) + b"\x14" * rows + b"\0\1\1"
    rest = head + files
    return struct.pack("<IHI", 6 + len(rest) + len(body), 4, len(rest)) + rest + body


def zdebug(path, megabytes):
    data = b"ZLIB" + struct.pack(">Q", megabytes << 20) + packed(bytes(1 << 20), megabytes)
    elf(path, named() + [(".zdebug_info", PROGBITS, 0, data, 0), (".debug_abbrev", PROGBITS, 0, ABBREV, 0)])


def compressed(path, megabytes):
    data = struct.pack("<IIQQ", 1, 0, megabytes << 20, 1) + packed(bytes(1 << 20), megabytes)
    elf(path, named() + [(".debug_info", PROGBITS, COMPRESSED, data, 0), (".debug_abbrev", PROGBITS, 0, ABBREV, 0)])


def lines(path, rows):
    elf(path, named() + [(".debug_info", PROGBITS, 0, unit(), 0), (".debug_abbrev", PROGBITS, 0, ABBREV, 0),
                         (".debug_line", PROGBITS, 0, line_program(rows), 0)])


def names(path, symbols, megabytes):
    """Equal symbols whose names are one long name, from its beginning on."""
    text = struct.pack("<IIQQ", 1, 0, megabytes << 20, 1)
    z = zlib.compressobj(1)
    text += z.compress(b"\0") + b"".join(z.compress(b"a" * (1 << 20)) for _ in range(megabytes - 1))
    text += z.compress(b"a" * ((1 << 20) - 2) + b"\0") + z.flush()
    table = struct.pack("<IIQQ", 1, 0, 24 * symbols, 8) + packed(symbol() * 1000, symbols // 1000)
    elf(path, [(".strtab", STRTAB, COMPRESSED, text, 0), (".symtab", SYMTAB, COMPRESSED, table, 2)])


def plain_names(path, symbols, megabytes):
    """The same, not compressed."""
    elf(path, [(".strtab", STRTAB, 0, b"\0" + b"a" * (megabytes << 20) + b"\0", 0),
               (".symtab", SYMTAB, 0, symbol() * symbols, 2)])


def frames(path, megabytes):
    """Each entry is one that libdw keeps."""
    cie = struct.pack("<IIB4sBBBBB", 20, 0, 1, b"zR\0\1", 0x78, 16, 1, 0x1b, 0) + bytes(7)
    cie = struct.pack("<I", len(cie) - 4) + cie[4:]
    fde = struct.pack("<IIiiB", 20, len(cie) + 4, 0, 16, 0) + bytes(7)
    elf(path, named() + [(".eh_frame", PROGBITS, ALLOC, (cie + fde) * ((megabytes << 20) // (len(cie) + len(fde))), 0)])


def mangled(path, levels):
    elf(path, named(b"_Zcv" + b"T_I" * levels + b"i" + b"E" * levels + b"v"))


def run_code(paths):
    if "--mappings" in paths:
        paths, (_, folder) = paths[:-2], paths[-2:]
        mappings(folder, 19000, 3000)
    """The target: a thread for each file, in its code for ever."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    for p in paths:
        fd = os.open(p, os.O_RDONLY)
        at = libc.mmap(None, CODE_LEN, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, CODE)
        threading.Thread(target=ctypes.CFUNCTYPE(None)(at), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


@contextlib.contextmanager
def target(paths, *options):
    p = subprocess.Popen([sys.executable, __file__, "target", *map(str, paths), *options], stdout=subprocess.PIPE, text=True,
                         preexec_fn=jvm.die_with_parent)
    try:
        p.stdout.readline()
        yield p
    finally:
        p.kill()
        p.wait()


def limits():
    jvm.die_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_KILL, CPU_KILL))
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_KILL, DATA_KILL))


def measured(args):
    """Status, stderr, seconds of CPU, KB at most; of its children too."""
    with tempfile.TemporaryFile("w+") as err:
        q = subprocess.Popen([JS, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                             preexec_fn=limits)
        _, status, use = os.wait4(q.pid, 0)
        q.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return q.returncode, err.read(), use.ru_utime + use.ru_stime, use.ru_maxrss


def attack(tmp, what, make, want, copies=1, args=("--lines",), name="x.so"):
    paths = [tmp / ("%s%d" % (what.replace(" ", "_"), i)) / name for i in range(copies)]
    for p in paths:
        p.parent.mkdir()
        make(p)
    size = sum(p.stat().st_size for p in paths) / 1e6
    with target(paths) as t:
        status, text, cpu, rss = measured(["-p", str(t.pid), "-d", "1", "-o", str(tmp / "out.folded"), *args])
    for p in paths:
        p.unlink()
    print("     %s: %.1f MB of files cost %.1f s of CPU time, %.0f MB" % (what, size, cpu, rss / 1024), flush=True)
    check(what, status == 0 and cpu <= CPU_MOST and rss <= RSS_MOST, (status, text))
    for w in want:
        check("%s: %r is said" % (what, w), w in text.replace("\n  ", " "), text)


def mappings(folder, n, length):
    """As many of a page each of a file with a long name, which the kernel cannot merge."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    os.chdir(folder)
    for _ in range(length // 200):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 4 << 12)
    for i in range(n):
        libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE, fd, (i % 2) << 13)


def perf_map(pid, lines):
    path = pathlib.Path("/tmp/perf-%d.map" % pid)
    path.write_bytes(b"".join(b"%x 1 %s\n" % (i, b"n" * 10) for i in range(lines)))
    return path


def resident(pid):
    """KB of this process and its children, what they share once."""
    total = 0
    try:
        children = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()
        for p in (pid, *map(int, children)):
            text = pathlib.Path("/proc/%d/smaps_rollup" % p).read_text()
            total += int(text.partition("\nPss:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return total


def all_at_once(tmp):
    """Each has its limit, and so have all together."""
    kinds = {"symbols": lambda p: plain_names(p, 2000000, 64), "symbols2": lambda p: plain_names(p, 2000000, 60),
             "symbols3": lambda p: plain_names(p, 2000000, 56), "frames": lambda p: frames(p, 160),
             "lines": lambda p: lines(p, 12 << 20)}
    paths = [tmp / "all" / k / ("libjvm.so" if k == "symbols" else "x.so") for k in kinds]
    for p, make in zip(paths, kinds.values()):
        p.parent.mkdir(parents=True)
        make(p)
    (tmp / "all/maps").mkdir()
    with target(paths, "--mappings", str(tmp / "all/maps")) as t:
        named = perf_map(t.pid, 1500000)
        try:
            with tempfile.TemporaryFile("w+") as err:
                q = subprocess.Popen([JS, "-p", str(t.pid), "-d", "2", "-o", str(tmp / "out.folded"), "--lines"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, preexec_fn=limits)
                most = 0
                while True:
                    pid, status, use = os.wait4(q.pid, os.WNOHANG)
                    if pid:
                        break
                    most = max(most, resident(q.pid))
                    time.sleep(0.02)
                q.returncode = os.waitstatus_to_exitcode(status)
                err.seek(0)
                text = err.read()
        finally:
            named.unlink()
    cpu = use.ru_utime + use.ru_stime
    print("     all at once: %.1f s of CPU time, %.0f MB" % (cpu, most / 1024), flush=True)
    check("all at once", q.returncode == 0 and 0 < most <= RSS_MOST and cpu <= CPU_MOST, (q.returncode, most, cpu, text))
    check("all at once: it is said", "not read" in text or "not named" in text, text)


USUAL = """volatile long x;
__attribute__((noinline)) void spin(void) { for (;;) x++; }
int main(void) { spin(); return 0; }
"""


def jsampler_names(tmp):
    """What is usual is not given up; with -vv frames are named while they are sampled, too."""
    source, program, out = tmp / "usual.c", tmp / "usual", str(tmp / "out.pb.gz")
    source.write_text(USUAL)
    subprocess.run(["gcc", "-g", "-O1", "-o", str(program), str(source)], check=True, stdin=subprocess.DEVNULL)
    for options in (["--lines"], ["--lines", "-vv"]):
        t = subprocess.Popen([str(program)], stdin=subprocess.DEVNULL, preexec_fn=jvm.die_with_parent)
        try:
            status, text, _, _ = measured(["-p", str(t.pid), "-d", "1", "-o", out, *options])
        finally:
            t.kill()
            t.wait()
        check("a usual file, %s: nothing is given up" % options[-1], status == 0 and "not read" not in text, text)
        r = subprocess.run([JS, "report", "--lines", "spin", "-f", "json", out], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=jvm.PATIENCE)
        rows = json.loads(r.stdout)["rows"] if r.returncode == 0 else []
        check("a usual file, %s: its line" % options[-1], any(row.get("line") == 2 for row in rows), r.stdout)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "target":
        return run_code(sys.argv[2:])
    if os.geteuid() != 0 and not jvm.may_sample():
        print("skipped: users may not sample their own processes here")
        return jvm.SKIP
    with tempfile.TemporaryDirectory() as d:
        tmp = pathlib.Path(d)
        jsampler_names(tmp)
        attack(tmp, "zdebug", lambda p: zdebug(p, 600), ["source lines of", "x.so (6"])
        attack(tmp, "compressed DWARF", lambda p: compressed(p, 600), ["source lines of", "x.so (6"])
        attack(tmp, "four of them", lambda p: compressed(p, 150), ["source lines of"], copies=4)
        attack(tmp, "lines", lambda p: lines(p, 12 << 20), ["source lines, which take too much memory, of"])
        attack(tmp, "unwind entries", lambda p: frames(p, 160), ["unwind information of"])
        attack(tmp, "compressed names", lambda p: names(p, 2000000, 64), ["some names of"], name="libjvm.so")
        attack(tmp, "long names", lambda p: plain_names(p, 2000000, 64), ["some symbols of"], name="libjvm.so")
        all_at_once(tmp)
        attack(tmp, "mangled", lambda p: mangled(p, 34), [])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
