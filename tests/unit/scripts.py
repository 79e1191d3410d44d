#!/usr/bin/env python3
"""scripts/: what is installed for whom, what is said where that cannot be, where a script ended; a JDK is found
as the tests find it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
import jvm  # noqa: E402

# All that scripts/setup may call here; the rest are stubs.
TOOLS = ("awk", "basename", "bash", "cat", "dirname", "env", "gcc", "grep", "id", "mkdir", "sed", "tr", "true")
# On a machine that has never heard of most of it.
DPKG = "#!/bin/sh\necho installed gcc\necho not-installed cmake\nexit 1\n"
SAYS = '#!/bin/sh\necho "$0 $*" >>"$CALLS"\nexit %d\n'
ROWS = {"build": "--build", "demo": "--demo", "unit tests": "--unit", "all tests": "--test", "fuzzers": "--fuzz",
        "benchmarks": "--bench", "applications": "--apps", "more JDKs": "--jdks", "pristine": "--pristine",
        "packages": "--package"}
failures = []


def check(what, ok, got=""):
    if not ok:
        failures.append(what)
        print("FAILED: %s\n%s" % (what, got))


def packages_of(*options):
    run = subprocess.run([ROOT / "scripts/setup", *options, "--list"], stdout=subprocess.PIPE, text=True, check=True)
    return set(run.stdout.split())


def roles():
    """A row has what its role takes besides another row, which it names in bold, or all."""
    rows = {}
    for line in (ROOT / "docs/building.md").read_text().splitlines():
        m = re.match(r"\| ([a-z][\w ]*) \| (.*) \| `scripts/setup ", line)
        if m:
            base = re.search(r"\*\*(.*?)\*\*", m.group(2))
            rows[m.group(1)] = set(re.findall(r"`([^`]*)`", m.group(2))) | (rows[base.group(1)] if base else set())
    check("the table of packages has a row for each role", rows.keys() == ROWS.keys(), sorted(rows))
    for name, option in ROWS.items():
        have, want = rows.get(name, set()), packages_of(option)
        check("the table's row for " + name, have == want, "only in one of them: %s" % sorted(have ^ want))
    check("the default is what all tests take", packages_of() == packages_of("--test"))
    for name in ("chromium", "npm", "golang-go", "libcmocka-dev", "libunwind-dev", "zsh"):
        check("the demo does not take " + name, name not in packages_of("--demo"))


def setup(tmp, *options, **stubs):
    """(status, what it said, what was called) with these commands, and without any other but TOOLS."""
    with tempfile.TemporaryDirectory(dir=tmp) as d:
        for name in TOOLS:
            os.symlink(shutil.which(name), os.path.join(d, name))
        for name, text in stubs.items():
            path = pathlib.Path(d, name.replace("_", "-"))
            path.unlink(missing_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        calls = pathlib.Path(d, "calls")
        calls.touch()
        run = subprocess.run(["bash", ROOT / "scripts/setup", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, text=True, env={"PATH": d, "CALLS": str(calls)}, timeout=200)
        return run.returncode, run.stdout, calls.read_text()


def bare_machines(tmp):
    missing = "libc6-dev cmake ninja-build pkg-config libelf-dev"
    root, user = "#!/bin/sh\necho 0\n", "#!/bin/sh\necho 1000\n"
    status, out, calls = setup(tmp, "--build", dpkg_query=DPKG, apt_get=SAYS % 0, id=root)
    check("packages that dpkg has never heard of are installed", status == 0 and re.search(" install .*" + missing, calls),
          "%d\n%s%s" % (status, out, calls))
    check("what is there is not", not re.search(r" install .*\bgcc\b", calls), calls)

    many = 'i=0; while [ $((i += 1)) -lt 300 ]; do echo "E: $i" >&2; done\n'
    status, out, calls = setup(tmp, "--build", dpkg_query=DPKG, apt_get=SAYS[:-len("exit %d\n")] + many + "exit 100\n", id=root)
    last = out.splitlines()[-1] if out else ""
    check("apt-get fails", status == 1 and "apt-get install failed" in last or "apt-get update failed" in last, out)
    check("its lines are few", out.count("\n") < 20, out)
    check("and what it was to install is said", missing in last, out)

    for what, why, stubs in (("no sudo", "there is no sudo", {}),
                             ("a sudo that asks", "no terminal", {"sudo": SAYS % 1})):
        status, out, calls = setup(tmp, "--build", dpkg_query=DPKG, apt_get=SAYS % 0, id=user, **stubs)
        check(what, status == 1 and out.count("\n") == 1 and why in out and
              "apt-get install --no-install-recommends " + missing in out, out)
        check(what + ": nothing is installed", "apt-get" not in calls, calls)
    status, out, calls = setup(tmp, "--build", dpkg_query=DPKG, apt_get=SAYS % 0, id=user,
                               sudo='#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n')
    check("a sudo that does not ask", status == 0 and missing in calls, out + calls)

    status, out, _ = setup(tmp, "--build")
    check("no Debian", status == 1 and out.count("\n") == 1 and "not a Debian system" in out and "ninja-build" in out and
          " gcc" not in out, out)
    status, out, _ = setup(tmp, "--bulid")
    check("an unknown option", status == 2 and "--bulid" in out and "usage:" in out, out)


def ended_by_an_error(tmp):
    """One line a script that ends by an error, none where the error was meant."""
    for text, line, command in (("false", 3, "status 1 from: false"), ("f() {\n\ttrue\n\tfalse\n}\nf || true\nf", 5, "1 from: false"),
                                ("x=$(false)", 3, "x=$(false)"), ("true | false | true", 3, "status 0 1 0 from: ... | true"),
                                ("if false; then true; fi\nfalse || true\n! true\nx=$(false || true)", 0, ""),
                                ("kill -TERM $$", 0, "")):
        os.makedirs(os.path.join(tmp, "scripts"), exist_ok=True)
        shutil.copy(ROOT / "scripts/common.sh", tmp + "/scripts")
        script = pathlib.Path(tmp, "scripts/it")
        script.write_text("set -euo pipefail\n. \"$(dirname \"${BASH_SOURCE[0]}\")/common.sh\"\n" + text + "\n")
        run = subprocess.run(["bash", script], stderr=subprocess.PIPE, text=True)
        want = "scripts/it, line %d: status " % line
        ok = run.stderr.startswith(want) and run.stderr.count("\n") == 1 and command in run.stderr if line else not run.stderr
        check("said where it ended: " + text, ok and (run.returncode != 0) == (line != 0 or "kill" in text), run.stderr)
    for script in sorted((ROOT / "scripts").iterdir()):
        head = script.read_text().splitlines()
        if re.match("#!.*sh$", head[0]) and script.name != "jdk-enter":  # that one runs in the JDK's place
            check(script.name + " says where it ends", any("/common.sh\"" in x for x in head[:60]))


def jdks(tmp):
    """find_jdk of scripts/common.sh and jvm.find_jdks."""
    def home(name, version, tools=("java", "javac")):
        d = pathlib.Path(tmp, name)
        (d / "bin").mkdir(parents=True)
        for t in tools:
            (d / "bin" / t).touch(0o755)
        if version:
            (d / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="%s"\n' % version)
    home("lib/a-21", "21.0.1")
    home("lib/b-8", "1.8.0_442", ("java",))
    home("lib/c-17", "17.0.15")
    home("lib/d-17", "17.0.1")
    home("lib/e", "")
    home("a place/8", "1.8.0_442")
    pathlib.Path(tmp, "lib/link").symlink_to("c-17")
    for named in ("lib", "lib:a place", "a place/8:lib/c-17", "lib/a-21", "lib/e", "nowhere"):
        named = ":".join(os.path.join(tmp, n) for n in named.split(":"))
        found = jvm.find_jdks(named)
        want = str(found[min(found)].home) if found else ""
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", ". scripts/common.sh && find_jdk"], cwd=ROOT, text=True,
                             stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "JSAMPLER_JDKS": named})
        check("the JDK of " + named, run.returncode == 0 and run.stdout.strip() == want, "%r, not %r" % (run.stdout, want))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        roles()
        bare_machines(tmp)
        ended_by_an_error(tmp)
        jdks(tmp)
    return 1 if failures else 0


sys.exit(main())
