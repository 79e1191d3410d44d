"""What must hold of a recording of an application (apps.py)."""

import math
import re

import jvm

COMPLETE, COMPLETE_STARTING = 99.9, 99.5  # percent
PERIOD = 0.02  # of the CPU time used
LEAST_SAMPLES = 1000

JAVA = re.compile(r"(.+)\.[^.]+_\[[01ji]\]$")  # the suffixes of Java code
NATIVE = re.compile(r"([\w$+-]+(?:/[\w$+-]+)+)\.[\w$]+$")  # a native method of Java has none; C++ has no slash in a name
HIDDEN = re.compile(r"[+/](0x[0-9a-f]+)$")


def class_of(frame):
    """The class of a Java frame, as the JVM prints it; None for all others."""
    m = JAVA.match(frame) or NATIVE.match(frame)
    return as_printed(m.group(1)) if m else None


def as_printed(name):
    """Dots for slashes, but for the slash in front of a hidden class's address (in class files: a plus)."""
    m = HIDDEN.search(name)
    return name[:m.start()].replace("/", ".") + "/" + m.group(1) if m else name.replace("/", ".")


def loaded(log):
    """All classes that the JVM has ever had, those that are gone among them: from its -Xlog:class+load, without decorations."""
    return {line.split(" source: ")[0] for line in log if " source: " in line}


def period_bar(used_s, freq, elapsed_s, cpus):
    """What samples x period may be off, relative to the CPU time used: each CPU's events come every period, whoever runs. Of
    those that are due in a target that takes the share p of a period, their number scatters by sqrt((1 - p) / n)."""
    p = min(1.0, used_s / (elapsed_s * cpus))
    return max(PERIOD, 3 * math.sqrt((1 - p) / max(1.0, used_s * freq)))


class Checked:
    """Numbers of a recording, and in `bad` what is over its bar. `recording`: with --raw-names; `clock`: time on the CPUs over
    what the CPU clock says (on_cpu.py), None: not known."""

    def __init__(self, recording, classes, freq, elapsed_s, cpus, starting=False, clock=None):
        self.bad = []
        self.samples = sum(n for _, n in recording.folded)
        self.incomplete = [(n, frames) for frames, n in recording.folded if not jvm.is_complete(frames)]
        self.unknown = [(n, frames) for frames, n in recording.folded if "[unknown]" in frames]
        self.lost = recording.fact(r", lost (\d+)", 0.0)
        self.sure = recording.fact(r"sure by the JVM's record of the instruction ([\d.]+) %, "
                                   r"sure by the code around it ([\d.]+) %")
        self.complete_bar = COMPLETE_STARTING if starting else COMPLETE
        self.check_stacks()
        self.check_names(recording.folded, classes)
        self.check_period(recording, freq, elapsed_s, cpus, clock or 1)

    def check_stacks(self):
        incomplete = sum(n for n, _ in self.incomplete)
        self.complete = 100 * (1 - incomplete / max(1, self.samples))
        if self.samples < LEAST_SAMPLES:
            self.bad.append("%d samples" % self.samples)
        if jvm.too_many(incomplete, 1 - self.complete_bar / 100, self.samples):
            self.bad.append("complete stacks %.3f %%, bar %.1f: %s" % (self.complete, self.complete_bar, most(self.incomplete)))
        if self.unknown:
            self.bad.append("%d samples with [unknown]: %s" % (sum(n for n, _ in self.unknown), most(self.unknown)))

    def check_names(self, folded, classes):
        seen = {}
        for frames, n in folded:
            for frame in frames:
                name = class_of(frame)
                if name:
                    seen.setdefault(name, []).append((n, frames))
        self.classes = len(seen)
        self.foreign = sorted(seen.keys() - classes)
        if not seen:
            self.bad.append("no Java frames")
        for name in self.foreign[:10]:
            self.bad.append("%s is no class of this JVM: %s" % (name, most(seen[name])))

    def check_period(self, recording, freq, elapsed_s, cpus, clock):
        times = recording.fact(r"CPU time of the target ([\d.]+) s, samples x period ([\d.]+) s")
        self.used, self.sampled = times or (0.0, 0.0)
        self.used *= clock
        self.sampled += self.lost / freq
        self.off, self.off_bar = None, period_bar(self.used, freq, elapsed_s, cpus)
        if not self.used:
            self.bad.append("its CPU time is not known")
            return
        self.off = self.sampled / self.used - 1
        if abs(self.off) > self.off_bar:
            self.bad.append("samples x period %+.2f %% of %.2f s, bar %.2f" % (100 * self.off, self.used, 100 * self.off_bar))


def most(stacks):
    """The heaviest of these stacks, for a message."""
    n, frames = max(stacks)
    text = ";".join(frames)
    return "%d times %s" % (n, text if len(text) < 500 else text[:250] + " ... " + text[-250:])
