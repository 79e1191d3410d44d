#!/usr/bin/env python3
"""A FUSE file system of one executable file that opens, maps and never reads; and a process that has it mapped.

usage: silent_fs.py DIRECTORY NAME: mounts, prints "ready" and stays; "no FUSE: why" where that is refused.
       silent_fs.py DIRECTORY NAME exec: prints "ready PID" of a child, which calls execve(2) when there is input. That does
       not end: the file is closed by it, and the flush is not answered.
       silent_fs.py DIRECTORY NAME CONTENTS [WORD...]: the file is a copy of that one. Not answered are the WORDs open, read
       (then each read reaches it, in a process that nothing can end); a line of input adds WORDs.
Protocol: linux/fuse.h of the kernel, version 7.31; written from that description with the standard library only."""

import ctypes
import mmap
import os
import struct
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, OPENDIR, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 18, 25, 26, 27, 36, 42)
ROOT, FILE, SIZE = 1, 2, 1 << 16
silent = {READ, INTERRUPT, FORGET, BATCH_FORGET}
WORDS = {"open": OPEN, "read": READ}
DIRECT_IO = 1
contents = bytes(SIZE)
direct = 0
libc = ctypes.CDLL(None, use_errno=True)


def attributes(node):
    mode = 0o040755 if node == ROOT else 0o100755
    size = len(contents)
    return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(op, node, name, wanted, arguments):
    """The body of a reply, or a negative errno; None: none, ever."""
    if op == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 16, 12, 4096, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)[:64]
    if op == LOOKUP:
        if name != wanted:
            return -2
        return struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)
    if op == GETATTR:
        return struct.pack("<Q2I", 3600, 0, 0) + attributes(node)
    if op in silent:
        return None
    if op in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 0, direct, 0)
    if op == READ:
        at, size = struct.unpack_from("<8xQI", arguments)
        return contents[at:at + size]
    return b"" if op in (RELEASE, FLUSH) else -38


def serve(fd, wanted):
    while True:
        try:
            request = os.read(fd, 1 << 17)
        except OSError:
            return
        _, op, unique, node = struct.unpack_from("<2I2Q", request)
        body = answer(op, node, request[40:].split(b"\0")[0], wanted, request[40:])
        if body is None:
            continue
        error, body = (body, b"") if isinstance(body, int) else (0, body)
        os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def call_exec(file):
    """In a child: the file system's own process goes on."""
    f = os.open(file, os.O_RDONLY)
    print("ready %d" % os.getpid(), flush=True)
    sys.stdin.readline()
    os.execv("/bin/sleep", ["sleep", str(f)])


def main():
    global contents, direct
    directory, name = sys.argv[1:3]
    if sys.argv[3:] != ["exec"] and sys.argv[3:]:
        with open(sys.argv[3], "rb") as f:
            contents = f.read()
        silent.discard(READ)
        silent.update(WORDS[w] for w in sys.argv[4:])
        direct = DIRECT_IO if sys.argv[4:] else 0
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
    if libc.mount(b"silent", directory.encode(), b"fuse", 0, options.encode()) < 0:
        print("no FUSE: %s" % os.strerror(ctypes.get_errno()), flush=True)
        return
    threading.Thread(target=serve, args=(fd, name.encode()), daemon=True).start()
    if sys.argv[3:] != ["exec"] and sys.argv[3:]:
        print("ready", flush=True)
        for line in sys.stdin:
            silent.update(WORDS[w] for w in line.split())
            print("silent", flush=True)
        return
    if sys.argv[3:]:
        silent.add(FLUSH)
        child = os.fork()
        if not child:
            os.close(fd)
            call_exec(os.path.join(directory, name))
        os.waitpid(child, 0)
        return
    f = os.open(os.path.join(directory, name), os.O_RDONLY)
    m = mmap.mmap(f, SIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    print("ready", flush=True)
    sys.stdin.read()
    del m


if __name__ == "__main__":
    main()
