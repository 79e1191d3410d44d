"""The stream of the bridge as jvm-bridge/stream/wire.h specifies it: a listener and a strict reader."""

import os
import select
import socket
import struct
import time

HELLO, REPLAY_BEGIN, REPLAY_END, LOST, CLASS_LOAD, CLASS_UNLOAD, METHOD, CODE_LOAD, CODE_UNLOAD, DYNAMIC_CODE, \
    THREAD_START, THREAD_END, GC_PAUSE, SYNC, BYE = range(1, 16)
NAMES = ("", "HELLO", "REPLAY_BEGIN", "REPLAY_END", "LOST", "CLASS_LOAD", "CLASS_UNLOAD", "METHOD", "CODE_LOAD",
         "CODE_UNLOAD", "DYNAMIC_CODE", "THREAD_START", "THREAD_END", "GC_PAUSE", "SYNC", "BYE")
REPLAYED, TRUNCATED = 1, 2
NONE = 0xffffffff
RECORD_MAX = 1 << 20
ASK_SYNC, ASK_BYE = 1, 2


class Body:
    """Fields of a record, in order; raises where there are none."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        v = struct.unpack_from("<" + fmt, self.data, self.at)
        self.at += struct.calcsize("<" + fmt)
        return v if len(v) > 1 else v[0]

    def str(self):
        n = self.take("H")
        if n == 0xffff:
            return None
        b = self.data[self.at:self.at + n]
        if len(b) != n:
            raise ValueError("a string beyond the record")
        self.at += n
        return b.decode("utf-8", "surrogateescape")

    def end(self):
        rest = self.data[self.at:]
        if len(rest) > 7 or any(rest):
            raise ValueError("%d bytes behind the last field" % len(rest))


def parse(kind, data):
    b = Body(data)
    r = {}
    if kind == HELLO:
        r["magic"] = bytes(b.take("8B"))
        r["version"], r["pointer"] = b.take("HH"), b.take("I")
        r["pid"], _, r["monotonic"], r["realtime"] = b.take("IIQQ")
        r["vm"] = b.str()
    elif kind in (REPLAY_BEGIN, REPLAY_END):
        r["number"], r["value"] = b.take("II")
    elif kind == LOST:
        r["lost"], r["total"] = b.take("QQ")
    elif kind == CLASS_LOAD:
        r["id"], zero = b.take("QQ")
        r["name"], r["source"] = b.str(), b.str()
        r["methods"] = [b.take("Qii") + (b.str(), b.str()) for _ in range(b.take("I"))]
        r["addresses"] = [b.take("Q") for _ in range(b.take("I"))]
    elif kind == METHOD:
        r["id"], _, r["first"], r["last"] = b.take("QQii")
        r["class"], r["source"], r["name"], r["signature"] = b.str(), b.str(), b.str(), b.str()
        r["address"] = b.take("Q")
    elif kind == CODE_LOAD:
        r["addr"], r["method"], r["size"], m, s, n = b.take("QQIIII")
        r["methods"] = [b.take("Q") for _ in range(m)]
        r["scopes"] = [b.take("IIii") for _ in range(s)]
        r["ranges"] = [b.take("II") for _ in range(n)]
    elif kind == CODE_UNLOAD:
        r["addr"], r["method"] = b.take("QQ")
    elif kind == DYNAMIC_CODE:
        r["addr"], r["size"], _ = b.take("QII")
        r["name"] = b.str()
    elif kind in (THREAD_START, THREAD_END):
        r["id"], r["tid"], _ = b.take("QII")
        if kind == THREAD_START:
            r["name"], r["group"], r["parent"] = b.str(), b.str(), b.str()
    elif kind == GC_PAUSE:
        r["begin"], r["end"] = b.take("QQ")
    elif kind == CLASS_UNLOAD:
        r["id"] = b.take("Q")
    elif kind == SYNC:
        r["cookie"] = b.take("Q")
    elif kind == BYE:
        r["why"], _ = b.take("II")
    else:
        raise ValueError("record type %d" % kind)
    b.end()
    return r


class Listener:
    """The sampler's side."""

    def __init__(self, path):
        self.path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.bind(path)
        self.sock.listen(4)

    def accept(self, timeout=240):
        self.sock.settimeout(timeout)
        return Peer(self.sock.accept()[0])

    def close(self):
        self.sock.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


class Peer:
    """One connection; what it said, checked against the rules of wire.h."""

    def __init__(self, conn):
        self.conn, self.buffer, self.ended = conn, b"", False
        self.methods, self.records, self.bad = {}, [], []
        self.counts, self.replaying, self.replays, self.time = {}, False, 0, 0

    def close(self):
        self.conn.close()

    def ask(self, kind, cookie=0):
        self.conn.sendall(struct.pack("<IHHQ", 16, kind, 0, cookie))

    def check(self, kind, flags, when, r):
        if not self.records and kind != HELLO:
            self.bad.append("the first record is %s" % NAMES[kind])
        if kind == HELLO and (r["magic"] != b"JSBRIDGE" or r["version"] != (1, 1)):
            self.bad.append("hello: %r" % r)
        if (flags & REPLAYED) and not self.replaying:
            self.bad.append("%s replayed outside a replay" % NAMES[kind])
        if kind == REPLAY_BEGIN:
            self.replaying = True
            self.replays += 1
            if r["number"] != self.replays:
                self.bad.append("replay %d is numbered %d" % (self.replays, r["number"]))
        if kind == REPLAY_END:
            self.replaying = False
            if r["value"]:
                self.bad.append("replay failed: errno %d" % r["value"])
        if kind == CLASS_LOAD:
            for ident, first, last, name, signature in r["methods"]:
                self.methods[ident] = (r["name"], name, signature, first, last)
                if first > last:
                    self.bad.append("lines %d to %d of %s.%s" % (first, last, r["name"], name))
        if kind == METHOD:
            self.methods[r["id"]] = (r["class"], r["name"], r["signature"], r["first"], r["last"])
        if kind == CODE_LOAD:
            self.check_code(r)

    def check_code(self, r):
        for m in [r["method"]] + r["methods"]:
            if m not in self.methods:
                self.bad.append("code at %x names the unknown method %x" % (r["addr"], m))
        for i, (parent, method, bci, line) in enumerate(r["scopes"]):
            if (parent != NONE and parent >= i) or method >= len(r["methods"]) or bci < -1:
                self.bad.append("code at %x: scope %d is %r" % (r["addr"], i, r["scopes"][i]))
            elif line > 0 and not self.in_lines(r["methods"][method], line):
                self.bad.append("line %d of %r" % (line, self.methods.get(r["methods"][method])))
        end = 0
        for e, scope in r["ranges"]:
            if e <= end or e > r["size"] or scope >= len(r["scopes"]):
                self.bad.append("code at %x: range %d, scope %d" % (r["addr"], e, scope))
            end = e

    def in_lines(self, method, line):
        m = self.methods.get(method)
        return not m or m[3] <= line <= m[4]

    def read(self, until, timeout):
        """Reads records until until(kind, record), the end, or the time is over. True: it came."""
        deadline = time.monotonic() + timeout
        while True:
            while len(self.buffer) >= 16:
                size, kind, flags, when = struct.unpack_from("<IHHQ", self.buffer)
                if size % 8 or not 16 <= size <= RECORD_MAX:
                    raise ValueError("a record of %d bytes" % size)
                if len(self.buffer) < size:
                    break
                r = parse(kind, self.buffer[16:size])
                self.buffer = self.buffer[size:]
                self.check(kind, flags, when, r)
                self.records.append((kind, flags, when, r))
                self.counts[NAMES[kind]] = self.counts.get(NAMES[kind], 0) + 1
                if until and until(kind, r):
                    return True
            left = deadline - time.monotonic()
            if self.ended or left <= 0 or not select.select([self.conn], [], [], left)[0]:
                return False
            try:
                more = self.conn.recv(1 << 20)
            except ConnectionResetError:
                more = b""
            if not more:
                self.ended = True
            self.buffer += more

    def sync(self, cookie, timeout=240):
        self.ask(ASK_SYNC, cookie)
        return self.read(lambda k, r: k == SYNC and r["cookie"] == cookie, timeout)
