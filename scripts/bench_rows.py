"""Shared by the measurements behind scripts/bench: lines of a table with their bars, and confidence bounds."""

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
    """The verdict on a number that must not exceed the bar, by its bounds."""
    return True if high <= bar else False if low > bar else UNSURE


def resampled(estimate, rounds=2000):
    """95 % bounds of estimate(draw), which resamples each list of its values with draw(list)."""
    rng = random.Random(1)
    found = sorted(estimate(lambda values: rng.choices(values, k=len(values))) for _ in range(rounds))
    return found[int(0.025 * rounds)], found[int(0.975 * rounds)]


def bootstrap(values):
    """Median and its 95 % bounds."""
    return (statistics.median(values), *resampled(lambda draw: statistics.median(draw(values))))


def midmean(values):
    """Mean of the middle half: as robust against outliers as a median, and more precise."""
    values = sorted(values)
    cut = len(values) // 4
    return statistics.fmean(values[cut:len(values) - cut])


def finish(began):
    """Prints a summary and returns the exit status. `began` is of time.monotonic()."""
    print("%.0f s" % (time.monotonic() - began))
    for what in unsure:
        print("inconclusive: " + what)
    print("FAILS: " + ", ".join(failed) if failed else "no bar missed")
    return 1 if failed else 0
