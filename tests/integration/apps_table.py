"""docs/apps.md, from the results of apps.py."""

HEAD = """# Applications

Written by `scripts/test --apps`, which profiles third-party applications, unchanged, with all their threads, for {duration} s each at
{frequency} Hz:

* **complete**: share of the stacks that reach their thread's first frame; bar: at least 99.9 %, or 99.5 % if the recording
  begins with the JVM's first instruction
* **samples × period**, including reported losses, compared with the CPU time measured by timers that see all processes, or by the
  process's CPU clock if the recording begins with the JVM; bar: within max(2 %, 3·sqrt((1−p)/n)), where p is the share of the CPUs
  that the application used and n the number of samples that were due. The clock is unreliable for threads that wake each other
  often: it charges a thread from the moment when another CPU wakes it, before the thread runs
* **unknown**: samples with an `[unknown]` frame; bar: none
* **classes**: number of different classes in the profile, and how many of them the JVM says it never loaded; bar: none
* **sure**: share of the samples in compiled code whose method is named by evidence; no bar

{by}

| application | version | JDK | samples | complete | samples × period | unknown | classes | sure | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def percent(value):
    """Never rounded up to what it is not."""
    return "100" if value == 100 else "%.2f" % (int(value * 100) / 100)


def row(r):
    if "samples" not in r:
        return "| %s | %s | %s | | | | | | | **failed**: it could not be sampled |" % (r["title"], r["version"], r["jdk_version"])
    return "| %s | %s | %s | %d | %s %% | %s (%.1f) | %d | %d, %d foreign | %s | %s |" % (
        r["title"], r["version"], r["jdk_version"], r["samples"], percent(r["complete"]),
        "-" if r["off"] is None else "%+.2f %%" % (100 * r["off"]), 100 * r["off_bar"], r["unknown"], r["classes"], r["foreign"],
        "-" if r["sure"] is None else "%.0f %%" % r["sure"], "**failed**" if r["bad"] else "")


def brief(text):
    """Stacks are frames of any name: as code, and only so much of them."""
    what, colon, stack = text.partition(": ")
    return "%s%s`%s`" % (what, colon, stack.replace("`", "'")[:240]) if stack else what


def write(path, results, names):
    results = sorted(results, key=lambda r: (names.index(r["app"]), r["jdk"]))
    if not results:
        return
    by = "Taken with %s." % ", ".join(sorted({r["jsampler"] for r in results}))
    head = HEAD.format(duration=results[0]["duration"], frequency=results[0]["frequency"], by=by)
    failed = ["\nWhat failed:\n\n"] if any(r["bad"] for r in results) else []
    failed += ["* %s, JDK %s: %s\n" % (r["title"], r["jdk_version"], brief(b)) for r in results if "samples" in r for b in r["bad"]]
    path.write_text(head + "".join(row(r) + "\n" for r in results) + "".join(failed), encoding="utf-8")
