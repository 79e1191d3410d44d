#!/usr/bin/env python3
"""A strict reader of HPROF's binary format: every record to its last byte, every id defined before it is used.

usage: hprof_binary.py FILE
"""

import collections
import struct
import sys

SIZES = {2: 8, 4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
NUMBERS = {4: "B", 5: "H", 6: "f", 7: "d", 8: "b", 9: "h", 10: "i", 11: "q"}


class Bad(Exception):
    pass


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        size = struct.calcsize(">" + fmt)
        if self.at + size > len(self.data):
            raise Bad("it ends in the middle of a record")
        values = struct.unpack_from(">" + fmt, self.data, self.at)
        self.at += size
        return values if len(values) > 1 else values[0]

    def rest(self):
        at, self.at = self.at, len(self.data)
        return self.data[at:]

    def left(self):
        return len(self.data) - self.at


class Class:
    def __init__(self, name):
        self.name, self.super, self.size, self.fields, self.statics = name, 0, 0, [], {}


class Heap:
    """One heap dump."""

    def __init__(self):
        self.classes, self.instances, self.arrays, self.roots, self.references = {}, {}, {}, collections.Counter(), set()
        self.root_ids, self.traces, self.threads = [], collections.Counter(), {}


class File:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.names, self.classes, self.frames, self.traces, self.threads = {}, {}, {}, {}, {}
        self.class_ids = {}
        self.heaps, self.sites, self.samples, self.counts = [], [], [], collections.Counter()
        self.heap = None
        self.read()

    def need(self, ok, what):
        if not ok:
            raise Bad(what)

    def read(self):
        head = self.data.index(b"\0") + 1
        self.need(self.data[:head] == b"JAVA PROFILE 1.0.2\0", "magic %r" % self.data[:head])
        size, self.millis = struct.unpack_from(">IQ", self.data, head)
        self.need(size == 8, "ids of %d bytes" % size)
        at = head + 12
        while at < len(self.data):
            self.need(at + 9 <= len(self.data), "half a record at the end")
            tag, _, n = struct.unpack_from(">BII", self.data, at)
            self.need(at + 9 + n <= len(self.data), "half a record 0x%02x at the end" % tag)
            self.record(tag, Cursor(self.data[at + 9:at + 9 + n]))
            at += 9 + n
        self.need(self.heap is None, "segments without an end")
        dumped = set().union(*(h.classes for h in self.heaps))
        for i, name in self.class_ids.items() if self.heaps else ():
            self.need(not i or i in dumped, "%s has an id, %x, and no record" % (name, i))

    def record(self, tag, c):
        self.counts[tag] += 1
        handler = {0x01: self.utf8, 0x02: self.load_class, 0x03: self.unload_class, 0x04: self.frame, 0x05: self.trace,
                   0x06: self.alloc_sites, 0x07: lambda c: c.take("IIQQ"), 0x0a: self.start_thread,
                   0x0b: self.end_thread, 0x0d: self.cpu_samples, 0x0e: lambda c: c.take("IH"), 0x1c: self.segment,
                   0x2c: self.dump_end}.get(tag)
        self.need(handler, "unknown record 0x%02x" % tag)
        self.need(self.heap is None or tag in (0x1c, 0x2c), "record 0x%02x among segments" % tag)
        handler(c)
        self.need(not c.left(), "%d bytes are left in a record 0x%02x" % (c.left(), tag))

    def utf8(self, c):
        i = c.take("Q")
        self.names[i] = c.rest().decode("utf-8", "replace")

    def name(self, i):
        self.need(i in self.names, "no name %x" % i)
        return self.names[i]

    def load_class(self, c):
        serial, i, trace, name = c.take("IQIQ")
        self.need(serial, "a class without number")
        self.classes[serial] = self.class_ids[i] = self.name(name).replace("/", ".")

    def unload_class(self, c):
        self.need(c.take("I") in self.classes, "an unknown class is unloaded")

    def frame(self, c):
        i, method, signature, source, serial, line = c.take("QQQQIi")
        self.need(serial in self.classes or not serial, "frame of an unknown class %d" % serial)
        self.need(line > 0 or line in (-1, -2, -3, 0), "line %d" % line)
        self.frames[i] = (self.classes.get(serial, ""), self.name(method), self.name(signature), self.name(source) if source else "", line)

    def trace(self, c):
        serial, thread, n = c.take("III")
        ids = [c.take("Q") for _ in range(n)]
        self.need(all(i in self.frames for i in ids), "trace %d has unknown frames" % serial)
        self.traces[serial] = [self.frames[i] for i in ids]

    def alloc_sites(self, c):
        flags, cutoff = c.take("Hf")
        totals = c.take("IIQQ")
        rows = [c.take("BIIIIII") for _ in range(c.take("I"))]
        for kind, serial, trace, *_ in rows:
            self.need(kind in (0, 2, 4, 5, 6, 7, 8, 9, 10, 11), "array of %d" % kind)
            self.need(serial in self.classes or not serial, "site of an unknown class")
            self.need(trace in self.traces, "site of an unknown trace")
        self.sites.append((flags, cutoff, totals, rows))

    def start_thread(self, c):
        serial, i, trace, name, group, parent = c.take("IQIQQQ")
        self.need(trace in self.traces, "thread of an unknown trace")
        self.threads[serial] = (self.name(name), self.name(group), self.name(parent), i)

    def end_thread(self, c):
        self.need(c.take("I") in self.threads, "an unknown thread ends")

    def cpu_samples(self, c):
        total, n = c.take("II")
        rows = [c.take("II") for _ in range(n)]
        self.need(all(t in self.traces for _, t in rows), "samples of an unknown trace")
        self.need(rows == sorted(rows, key=lambda r: -r[0]), "samples are not sorted")
        self.samples.append((total, rows))

    # The heap.

    @staticmethod
    def value(c, kind, references):
        if kind == 2:
            i = c.take("Q")
            references.add(i)
            return i
        return c.take(NUMBERS[kind])

    def segment(self, c):
        self.heap = self.heap or Heap()
        while c.left():
            tag = c.take("B")
            {0xff: self.root, 0x01: self.root, 0x02: self.root, 0x03: self.root, 0x04: self.root, 0x05: self.root,
             0x06: self.root, 0x07: self.root, 0x08: self.root, 0x20: self.class_dump, 0x21: self.instance,
             0x22: self.objects, 0x23: self.primitives}.get(tag, self.unknown)(c, tag)

    def unknown(self, c, tag):
        raise Bad("unknown part 0x%02x of a heap dump" % tag)

    def root(self, c, tag):
        h = self.heap
        h.roots[tag] += 1
        i = c.take("Q")
        if tag != 8:
            h.root_ids.append(i)
        if tag == 1:
            c.take("Q")
        elif tag in (2, 3):
            serial, frame = c.take("Ii")
            self.need(serial in h.threads, "root of an unknown thread %d" % serial)
            self.need(frame == -1 or 0 <= frame < len(self.traces[h.threads[serial]]), "root of frame %d" % frame)
        elif tag in (4, 6):
            self.need(c.take("I") in h.threads, "root of an unknown thread")
        elif tag == 8:
            serial, trace = c.take("II")
            self.need(trace in self.traces, "thread with an unknown trace")
            h.threads[serial] = trace

    def made(self, trace):
        self.need(trace in self.traces, "object of an unknown trace %d" % trace)
        self.heap.traces[trace] += 1

    def class_dump(self, c, _):
        i, trace, above, *others, size = c.take("QIQQQQQQI")
        self.need(i in self.class_ids, "dump of an unknown class %x" % i)
        self.made(trace)
        self.heap.references.update(others[:3] + [above])
        k = Class(self.class_ids[i])
        k.super, k.size = above, size
        for _ in range(c.take("H")):
            _, kind = c.take("HB")
            self.value(c, kind, self.heap.references)
        for _ in range(c.take("H")):
            name, kind = c.take("QB")
            k.statics[self.name(name)] = self.value(c, kind, self.heap.references)
        for _ in range(c.take("H")):
            name, kind = c.take("QB")
            k.fields.append((self.name(name), kind))
        self.need(i not in self.heap.classes, "class %s twice" % k.name)
        self.heap.classes[i] = k

    def chain(self, h, i):
        while i:
            self.need(i in h.classes, "an instance of a class %x without a dump" % i)
            yield h.classes[i]
            i = h.classes[i].super

    def instance(self, c, _):
        i, trace, k, n = c.take("QIQI")
        self.made(trace)
        end = c.at + n
        self.heap.instances[i] = (k, c.at, c.data)
        c.at = end
        self.need(c.left() >= 0, "it ends in the middle of an instance")

    def fields(self, h, i):
        """Values by name, those of the class itself first; how many bytes they take."""
        k, at, data = h.instances[i]
        c, values = Cursor(data), {}
        c.at = at
        for of in self.chain(h, k):
            for name, kind in of.fields:
                values.setdefault(name, self.value(c, kind, h.references))
        return values, c.at - at

    def objects(self, c, _):
        i, trace, n, k = c.take("QIIQ")
        self.made(trace)
        items = struct.unpack_from(">%dQ" % n, c.data, c.at)
        c.at += 8 * n
        self.heap.references.update(items)
        self.heap.arrays[i] = (k, n, None)

    def primitives(self, c, _):
        i, trace, n, kind = c.take("QIIB")
        self.made(trace)
        at, c.at = c.at, c.at + n * SIZES[kind]
        self.need(c.left() >= 0, "it ends in the middle of an array")
        self.heap.arrays[i] = (None, n, (kind, bytes(c.data[at:c.at])))

    def dump_end(self, c):
        h = self.heap
        for k in h.classes.values():
            self.need(not k.super or k.super in h.classes, "%s has an unknown superclass" % k.name)
        for i in h.instances:
            _, used = self.fields(h, i)
            size = h.classes[h.instances[i][0]].size
            self.need(used == size, "an instance of %s has %d bytes of fields, its class says %d" % (
                h.classes[h.instances[i][0]].name, used, size))
        for k, _, primitive in h.arrays.values():
            self.need(primitive or k in h.classes, "an array of a class without a dump")
        known = set(h.instances) | set(h.arrays) | set(h.classes) | {0}
        self.dangling = len(h.references - known) + len(set(h.root_ids) - known)
        self.heaps.append(h)
        self.heap = None

    def histogram(self, n=-1):
        """Instances of each class, arrays as the JVM names them."""
        h, counts = self.heaps[n], collections.Counter()
        for k, _, _ in h.instances.values():
            counts[h.classes[k].name] += 1
        letters = {4: "Z", 5: "C", 6: "F", 7: "D", 8: "B", 9: "S", 10: "I", 11: "J"}
        for k, _, primitive in h.arrays.values():
            counts["[" + letters[primitive[0]] if primitive else h.classes[k].name] += 1
        counts["java.lang.Class"] += len(h.classes)
        return counts


def main():
    f = File(sys.argv[1])
    print("records:", dict(f.counts))
    print("threads:", {s: t[0] for s, t in f.threads.items()})
    for h in f.heaps:
        print("heap: %d classes, %d instances, %d arrays, roots %s, %d dangling" % (
            len(h.classes), len(h.instances), len(h.arrays), dict(h.roots), f.dangling))
    for _, _, totals, rows in f.sites:
        print("sites: %s, %d rows" % (totals, len(rows)))
    for total, rows in f.samples:
        print("samples: %d, %d rows" % (total, len(rows)))
    if f.heaps:
        print(f.histogram().most_common(12))


if __name__ == "__main__":
    main()
