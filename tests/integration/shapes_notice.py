#!/usr/bin/env python3
"""Can the checks of shapes.py fail? Stacks as the programs make them pass; with one name patched to that of
another method of the same program, with a frame left out, or two in the wrong order, they do not.

usage: shapes_notice.py [--jdk 17]
Exit status: 0 they can, 1 not, 77 when the JDK asked for is not here.
"""

import argparse
import re
import sys

import jvm
import shapes
import shapes_later

STUB = "call_stub"
JNI = ["Jni.down", "Java_Jni_step", STUB, "Jni.up"]
CONTINUATION = [STUB, "jdk/internal/vm/Continuation.enterSpecial", "jdk/internal/vm/Continuation.enter"]
# Stacks behind Thread.run, and how many of 100 patched names may stay unnoticed: a leaf in front of it is as
# good as another that its caller calls, and what the JDK calls can be anything.
STACKS = {
    "osr": (["Osr.once", "Osr.step", "Shape.burn"], 1),
    "deep": (["Deep.run"] + 10001 * ["Deep.down"] + ["Deep.bottom", "Shape.burn"], 0),
    "twins": (["Twins.run", "Twins.callLeft"] + 50 * ["Twins.down"] + ["Twins.bottomOfLeft", "Shape.burn"], 1),
    "huge": (["Huge.run", "java/lang/reflect/Method.invoke", "HugeLive.many", "Leaf.leaf", "Shape.burn"], 1),
    "exceptions": (["Exceptions.run", "Exceptions.caught"] + 4 * ["Exceptions.throwing"], 1),
    "overflow": (["Overflow.run"] + 100 * ["Overflow.fall"], 1),
    "deopt": (["Deopt$Round." + m for m in ("run", "outer", "inner", "spin")] + ["Shape.burn"], 1),
    "storm": (["Storm$Round." + m for m in ("run", "top", "middle", "bottom", "rare")] + ["Shape.burn"], 1),
    "handles": (["Handles.run", "Handles.once", "java/lang/invoke/LambdaForm$MH.invoke", "Handles.work", "Shape.burn"],
                5),
    "jni": (["Jni.run"] + 6 * JNI + ["Shape.burn"], 1),
    "redefine": (["Redefine.run", "Redefine$Body.outer", "Redefine$Body.inner", "Shape.burn"], 1),
    "virtual-many": (["Many.run"] + ["Many." + m for m in shapes_later.many_calls(1)] + ["Many.burn"], 1),
    "panama": (["Panama.run"] + 3 * ["Panama.sort", STUB, "Panama.compare"] + ["Panama.work", "Panama.burn"], 1),
}


def judged(shape, frames):
    """What is wrong with that stack, as shapes.py counts it."""
    return shapes.Result(shape, [(["[shape-a tid=1]", *frames], 1)]).wrong


def places(shape, frames):
    """Of its own frames, a few: recursion is the same everywhere."""
    own = [i for i, f in enumerate(frames) if f in shape.graph]
    return own if len(own) < 20 else own[:6] + own[len(own) // 2:len(own) // 2 + 2] + own[-6:]


def patched(shape, frames):
    for i in places(shape, frames):
        for name in sorted(set(shape.graph) - {frames[i]})[::1 + len(frames) // 500]:
            yield frames[:i] + [name] + frames[i + 1:]


def patched_by_jdk(shape, frames):
    """What is called is a method of the JDK that the caller does not call."""
    for i in places(shape, frames):
        if i and frames[i - 1] in shape.graph:
            yield frames[:i] + ["java/util/HashMap.resize"] + frames[i + 1:]


def cut(shape, frames):
    for i in places(shape, frames)[:-1]:
        yield frames[:i] + frames[i + 1:]
        if i + 1 < len(frames) and frames[i] != frames[i + 1]:
            yield frames[:i] + [frames[i + 1], frames[i]] + frames[i + 2:]


def share(shape, stacks):
    """Of these, in percent, what goes unnoticed, with an example."""
    all_of_them = list(stacks)
    missed = [s for s in all_of_them if not judged(shape, s)]
    return 100 * len(missed) / max(1, len(all_of_them)), len(all_of_them), missed[:2]


def try_shape(name, shape):
    behind, bar = STACKS[name]
    frames = (CONTINUATION if name == "virtual-many" else ["java/lang/Thread.run"]) + behind
    bad = ["the right stack is called wrong: %s" % shape.expect(frames)] if judged(shape, frames) else []
    names, n, example = share(shape, patched(shape, frames))
    if names > bar or n < 50:
        bad.append("%.1f %% of %d patched names unnoticed, bar %d: %s" % (names, n, bar, [s[-6:] for s in example]))
    foreign, n_foreign, example = share(shape, patched_by_jdk(shape, frames))
    if foreign or n_foreign < 1:
        bad.append("of %d names of the JDK's %.1f %% unnoticed: %s" % (n_foreign, foreign, [s[-6:] for s in example]))
    order, m, example = share(shape, cut(shape, frames))
    print("%-12s %4d patched, %.1f %% unnoticed; %d out of order, %.1f %% unnoticed" % (name, n, names, m, order))
    # One wrong name in a recording fails it.
    at = next(i for i in range(len(frames) - 1, 0, -1) if frames[i - 1] in shape.graph)
    right = ["[shape-a tid=1]", *frames]
    wrong = right[:at + 1] + ["java/util/HashMap.resize"] + right[at + 2:]
    if shapes.Result(shape, [(right, 1000)]).wrong_names(shape) or \
            not shapes.Result(shape, [(right, 999), (wrong, 1)]).wrong_names(shape):
        bad.append("one wrong name in 1,000 stacks is no failure, or none is one")
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jdk")
    jdk = jvm.pick_jdk(p.parse_args().jdk)
    failed = 0
    for name in STACKS:
        shape = shapes.SHAPES.get(name) or shapes_later.SHAPES[name]
        if jdk.major < shape.since:
            continue
        shapes.compile_shape(shape, jdk)
        shape.threads = re.compile("")
        for b in try_shape(name, shape):
            print("FAILED: %s: %s" % (name, b))
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
