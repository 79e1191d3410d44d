#!/usr/bin/env python3
"""Single-steps tests/java/step/Step.java in every mode of one JDK; see single_step.c.

    single_step.py [--jdk 17] [--steps 20000] [--mode default,c1,int]
"""

import argparse
import subprocess
import sys

import jvm

FLAGS = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Step.n_*",
         "-XX:CompileCommand=exclude,Step.x_*", "-Xmx256m"]
MODES = {
    "default": [],
    "c1": ["-XX:TieredStopAtLevel=1"],
    "c2": ["-XX:-TieredCompilation"],
    "int": ["-Xint"],
    "fp": ["-XX:+PreserveFramePointer"],
    "parallel": ["-XX:+UseParallelGC"],
    # Null checks stay uncommon traps for ever: a deoptimisation each time.
    "deopt": ["-XX:PerMethodTrapLimit=1000000", "-XX:PerBytecodeTrapLimit=1000000"],
    "z": ["-XX:+UseZGC"],
    "serial": ["-XX:+UseSerialGC"],
    "g1": ["-XX:+UseG1GC"],
    "shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
    "wide-oops": ["-XX:-UseCompressedOops"],
    "compact": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseCompactObjectHeaders"],
    "plain": ["-XX:-UseCompactObjectHeaders"],
    "comp": ["-Xcomp"],
    "early": [],  # while the compilers are at work: code is replaced, frames are deoptimised
    # A safepoint every millisecond: polls trap, also at returns, where the frame is gone already.
    "polls": ["-XX:+UseParallelGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:+SafepointALot",
              "-XX:GuaranteedSafepointInterval=1"],
}
VIRTUAL = {"virtual": [], "virtual-int": ["-Xint"]}
SINCE = {"z": 17, "polls": 17, "virtual": 21, "virtual-int": 21}
NOT_IN_ALL = ("shenandoah", "compact", "plain")  # builds
CARRIER = "ForkJoinPool-1-worker-1"
ONE_CARRIER = ["-Djdk.virtualThreadScheduler.%s=1" % p for p in ("parallelism", "maxPoolSize")]


def is_known(jdk, mode):
    return mode not in NOT_IN_ALL or subprocess.run(
        [str(jdk.home / "bin/java"), *MODES[mode], "-version"], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0


def run_mode(jdk, classes, mode, steps):
    main, thread, args = "Step", ["step", str(steps)], ["slow"] if mode in ("int", "early") else []
    flags = FLAGS + MODES.get(mode, [])
    if mode in VIRTUAL:  # of a name the kernel keeps 15 bytes; JDK 26 leaves the middle out itself
        comm = CARRIER[:7] + ".." + CARRIER[-6:] if jdk.major >= 26 else CARRIER[:15]
        main, thread = "Yielding", [comm, str(steps), "virtual"]
        flags = flags + ONE_CARRIER + VIRTUAL[mode]
    with jvm.Jvm(jdk, classes, main, args, flags) as target:
        target.wait_ready()
        binary = jvm.build_dir() / "tests/integration/single_step"
        run = subprocess.run([str(binary), str(target.pid), *thread],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        print("JDK %d, %s: %s" % (jdk.major, mode, run.stdout), end="", flush=True)
        walked = mode != "polls" or " safepoint " in run.stdout
        if not walked:
            print("JDK %d, polls: no walk began in the code that polls trap into" % jdk.major)
        return run.returncode == 0 and walked


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jdk")
    p.add_argument("--steps", type=int, default=20000)
    p.add_argument("--mode", default="default,c1,int")
    a = p.parse_args()
    jdk = jvm.pick_jdk(a.jdk)
    classes = jvm.compile_java(jdk, "step")
    modes = [m for m in a.mode.split(",") if jdk.major >= SINCE.get(m, 0) and is_known(jdk, m)]
    results = [run_mode(jdk, classes, m, a.steps) for m in modes]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
