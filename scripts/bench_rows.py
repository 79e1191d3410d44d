"""What the measurements behind scripts/bench share: lines of a table with their bars, and how sure a number is."""

import random
import statistics
import time

UNSURE = "inconclusive"
VERDICTS = {None: "", True: "holds", False: "FAILS", UNSURE: UNSURE}
failed, unsure = [], []


def row(what, value, bar="", ok=None):
    """ok: True, False, UNSURE, or None: there is no bar."""
    print("%-50s %-40s %-10s %s" % (what, value, bar, VERDICTS[ok]), flush=True)
    if ok is False:
        failed.append(what)
    if ok == UNSURE:
        unsure.append(what)


def judge(low, high, bar):
    """Of something that must not exceed the bar, by its bounds."""
    return True if high <= bar else False if low > bar else UNSURE


def resampled(estimate, rounds=2000):
    """95 % bounds of estimate(draw), which draws each list of its values anew by draw(list)."""
    rng = random.Random(1)
    found = sorted(estimate(lambda values: rng.choices(values, k=len(values))) for _ in range(rounds))
    return found[int(0.025 * rounds)], found[int(0.975 * rounds)]


def bootstrap(values):
    """Median and its 95 % bounds."""
    return (statistics.median(values), *resampled(lambda draw: statistics.median(draw(values))))


def midmean(values):
    """Mean of the middle half: as little moved by what happens now and then as a median, and surer."""
    values = sorted(values)
    cut = len(values) // 4
    return statistics.fmean(values[cut:len(values) - cut])


def finish(began):
    """Says how it went; the exit status. `began` by time.monotonic()."""
    print("%.0f s" % (time.monotonic() - began))
    for what in unsure:
        print("inconclusive: " + what)
    print("FAILS: " + ", ".join(failed) if failed else "no bar missed")
    return 1 if failed else 0
