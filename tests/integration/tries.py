"""Checks of scenarios that are measured again if they miss a bar, since beside other work the machine decides."""

import os

import jvm

failures = []


def check(ok, what):
    print(("ok      " if ok else "FAILED  ") + what, flush=True)
    if not ok:
        failures.append(what)


def tried(scenario, *args):
    """Right in one of three tries. Of a sanitizer build, numbers say how slow it is: they are printed only."""
    for left in reversed(range(jvm.TRIES)):
        before = len(failures)
        scenario(*args)
        if len(failures) == before or not left or jvm.SANITIZED:
            break
        print("again: %d checks failed" % (len(failures) - before), flush=True)
        del failures[before:]
    if jvm.SANITIZED:
        del failures[before:]


def ahead():
    """In a new process: goes before other work on the machine, since few samples decide little."""
    os.nice(-10)
    os.setsid()  # nice values count within an autogroup, autogroups have their own (sched(7))
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-10")
    except OSError:
        pass
