"""How long a process was on the CPUs, as timers on them find it that see all processes.

A process's CPU clock is no yardstick for 1 %. It is short of what each thread that exits has used since the scheduler last
accounted for it: 0.7 % were seen where threads live for some ms. It charges a thread that another CPU wakes from the wake-up on,
before the thread is there: ZooKeeper by 3 %. And what a running thread used since the last tick is not in it yet.

Nor are the records of context switches in a virtual machine: they give a JVM 1.5 to 7 % more than its clock and these timers,
which agree within 0.5 % (H2 and Clojure, 12 s each on Firecracker, Linux 6.18), and 14 % in some half seconds.

These timers have the sampler's period, since one that is late by several periods goes off once: a CPU that the host takes away for
10 ms costs each of them as much as it costs the sampler. Takes root, or CAP_PERFMON.
"""

import ctypes
import mmap
import os
import struct
import time

SYS_PERF_EVENT_OPEN = 298  # x86-64
TYPE_SOFTWARE, SW_CPU_CLOCK = 1, 0
SAMPLE_TID, SAMPLE_TIME = 1 << 1, 1 << 2
USE_CLOCKID = 1 << 25
RECORD_SAMPLE = 9
ATTR_BYTES, CLOCKID_AT = 112, 92
DATA_HEAD_AT, DATA_OFFSET_AT = 1024, 1040
RING = 8 << 20  # three minutes at 999 Hz
# header: type, misc, size; pid, tid, time
RECORD = struct.Struct("=IHHIIQ")
TIMERS = 4  # on each CPU: their average scatters half as much as the samples do

LIBC = ctypes.CDLL(None, use_errno=True)


def online_cpus():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        parts = [p.split("-") for p in f.read().strip().split(",")]
    return [c for p in parts for c in range(int(p[0]), int(p[-1]) + 1)]


class Timer:
    """What one finds goes into a ring."""

    def __init__(self, cpu, period_ns):
        attr = bytearray(ATTR_BYTES)
        struct.pack_into("=IIQQQQQ", attr, 0, TYPE_SOFTWARE, ATTR_BYTES, SW_CPU_CLOCK, period_ns, SAMPLE_TID | SAMPLE_TIME, 0,
                         USE_CLOCKID)
        struct.pack_into("=i", attr, CLOCKID_AT, time.CLOCK_MONOTONIC)
        attr = (ctypes.c_char * ATTR_BYTES).from_buffer(attr)
        self.fd = LIBC.syscall(SYS_PERF_EVENT_OPEN, attr, -1, cpu, -1, 0)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open")
        self.map = mmap.mmap(self.fd, mmap.PAGESIZE + RING)

    def found(self):
        """[(time, process)], and the timer's end. None: it was more than there is room for."""
        os.close(self.fd)
        head, = struct.unpack_from("=Q", self.map, DATA_HEAD_AT)
        offset, = struct.unpack_from("=Q", self.map, DATA_OFFSET_AT)
        data = self.map[offset:offset + head]
        self.map.close()
        return parsed(data) if head <= RING - RECORD.size else None


def parsed(data):
    """[(time, process)]"""
    found, at = [], 0
    while at + RECORD.size <= len(data):
        kind, _, size, pid, _, when = RECORD.unpack_from(data, at)
        if kind == RECORD_SAMPLE:
            found.append((when, pid))
        at += size
    return found


def clock_ns(pid):
    """The process's CPU clock; clock_getcpuclockid(3) makes the id the same way."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def both_clocks(pid):
    """The process's CPU clock and the time, of one moment: this program may lose its CPU in between."""
    best = None
    for _ in range(100):
        before, clock, after = time.monotonic_ns(), clock_ns(pid), time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, clock, (before + after) // 2)
        if best[0] < 20000:
            break
    return best[1:]


def on_cpu_ns(found, pid, begin, end, period_ns):
    """`found`: of each timer of one or more CPUs."""
    return period_ns * sum(who == pid and begin <= when < end for records in found for when, who in records) // TIMERS


class OnCpu:
    """From here to stop(). `freq`: of the sampler, in Hz."""

    def __init__(self, pid, freq):
        self.all = OfAll([pid], freq)
        self.pid = pid

    def stop(self):
        """Its time on the CPUs over what its CPU clock says; None: not known."""
        return self.all.stop()[self.pid]


class OfAll:
    """The same of several processes."""

    def __init__(self, pids, freq):
        self.period, self.timers = 10**9 // freq, []
        for _ in range(TIMERS):
            self.timers += [Timer(c, self.period) for c in online_cpus()]
            time.sleep(self.period / 1e9 / TIMERS)  # one after the other, not all at once
        self.begin = {p: both_clocks(p) for p in pids}

    def stop(self):
        """{pid: its time on the CPUs over what its CPU clock says; None: not known}"""
        end = {p: both_clocks(p) for p in self.begin}
        found = [t.found() for t in self.timers]
        return {p: None if any(f is None for f in found) else self._share(found, p, *self.begin[p], *end[p]) for p in self.begin}

    def _share(self, found, pid, clock0, begin, clock1, end):
        return on_cpu_ns(found, pid, begin, end, self.period) / max(1, clock1 - clock0)


STOLEN = 0.01  # of a CPU


def stolen_s():
    """What the host has taken of the CPUs' time, proc(5)."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Stolen:
    """How wrong CPU clocks are, from here to stop(), because the host takes CPUs away: the kernel subtracts what it took
    (PARAVIRT_TIME_ACCOUNTING), while samples go on."""

    def __init__(self, pids, freq):
        self.pids, self.began, self.stolen = list(pids), time.monotonic(), stolen_s()
        try:
            self.timers = OfAll(self.pids, freq)
        except OSError:
            self.timers = None

    def stop(self):
        """{pid: the factor that makes its clock right}; 1 unless the host took more than STOLEN."""
        factors = self.timers.stop() if self.timers else {}
        took = stolen_s() - self.stolen
        if took <= STOLEN * (time.monotonic() - self.began):
            return dict.fromkeys(self.pids, 1)
        print("the host took %.2f s; time on the CPUs over the clock's: %s" % (took, factors), flush=True)
        return {p: factors.get(p) or 1 for p in self.pids}
