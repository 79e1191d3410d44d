#!/usr/bin/env python3
"""scripts/jdks without a network: what is there is left alone, what is not to be had is said, by .ci/run too, and
packages that Debian's keys did not sign are not taken.

Exit status: 0 all hold, 1 not, 77 not root.
"""

import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

import jvm
from environments_common import check, main, note

NOWHERE = "http://127.0.0.1:1"
SIGNATURE = r"NO_PUBKEY|not signed|[Ss]ignature|public key"


def run(*argv, cwd=jvm.ROOT, **env):
    """(exit status, output)."""
    plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    p = subprocess.run([*map(str, argv)], cwd=cwd, env={**plain, **env}, stdin=subprocess.DEVNULL, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=jvm.PATIENCE, errors="replace")
    return p.returncode, p.stdout


def jdks(where, *args, mirror=NOWHERE):
    return run("scripts/jdks", "--dir", where, "--mirror", mirror, *args)


def fake_home(where):
    """As scripts/jdks leaves one behind, with tools that are no JDK's."""
    home = pathlib.Path(where, "17")
    (home / "bin").mkdir(parents=True)
    (home / "lib").symlink_to("root/usr/lib/jvm/java-17-openjdk-amd64/lib")
    (home / "release").write_text('JAVA_VERSION="17"\n')
    (home / "bin/java").write_text("#!/bin/sh\nexit 0\n")
    (home / "bin/java").chmod(0o755)
    return home


def listing(where):
    return sorted(str(p.relative_to(where)) for p in pathlib.Path(where).rglob("*") if p.name != ".lock")


def idempotent():
    with tempfile.TemporaryDirectory() as tmp:
        home = fake_home(tmp)
        first, before = jdks(tmp, "17"), listing(tmp)
        check("a JDK that is there: nothing is asked of the network", first == (0, ""), first)
        second = jdks(tmp, "17")
        check("... and nothing changes", second == (0, "") and listing(tmp) == before, second)
        check("... its tools enter its root", "/usr/lib/jvm/java-17-openjdk-amd64/bin/" in (home / "enter").read_text())
        homes = jdks(tmp, "--homes")
        check("--homes", homes == (0, str(home) + "\n"), homes)
        (home / "bin/java").write_text("#!/bin/sh\necho no such library; exit 1\n")
        broken = jdks(tmp, "17")
        check("one that does not run", broken[0] == 1 and "does not run: no such library" in broken[1], broken)
    usage = jdks("/nonexistent", "7")
    check("a JDK that nobody knows", usage[0] == 2 and "usage: scripts/jdks" in usage[1], usage)


def out_of_reach():
    with tempfile.TemporaryDirectory() as tmp:
        r = jdks(tmp, "8", "27")
        check("no mirror: said, exit status 3, nothing left", r[0] == 3 and not listing(tmp) and
              re.search(r"cannot be reached; missing: JDK 8 27|mmdebstrap cannot be installed", r[1]), r)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def mirror_of(where, sign):
    """A Debian mirror without packages, signed by a key of nobody's."""
    dist = pathlib.Path(where, "dists/sid")
    packages = dist / ("main/binary-%s/Packages" % subprocess.check_output(["dpkg", "--print-architecture"],
                                                                          text=True).strip())
    packages.parent.mkdir(parents=True)
    packages.write_bytes(b"")
    release = ("Origin: Debian\nSuite: unstable\nCodename: sid\nDate: %s\nArchitectures: amd64\nComponents: main\n"
               "SHA256:\n %s 0 %s\n" % (time.strftime("%a, %d %b %Y %H:%M:%S UTC", time.gmtime()),
                                       hashlib.sha256(b"").hexdigest(), packages.relative_to(dist)))
    (dist / "InRelease").write_text(release)
    if not sign:
        return
    home = pathlib.Path(where, "gpg")
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    subprocess.run([*gpg, "--quick-generate-key", "nobody", "default", "sign", "never"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([*gpg, "--clearsign", "--output", str(dist / "signed"), str(dist / "InRelease")], check=True)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
    (dist / "signed").rename(dist / "InRelease")


def keys():
    config = subprocess.run(["apt-config", "dump", "Acquire::http::Proxy"], stdout=subprocess.PIPE, text=True).stdout
    if not shutil.which("mmdebstrap") or re.search(r'Proxy "[^"]', config):
        note("no mmdebstrap here, or a proxy for all of apt: whose packages are taken is not tried")
        return
    for sign in (False, True) if shutil.which("gpg") else (False,):
        with tempfile.TemporaryDirectory() as tmp:
            site, into = pathlib.Path(tmp, "site"), pathlib.Path(tmp, "into")
            site.mkdir()
            os.chmod(tmp, 0o755)
            mirror_of(site, sign)
            with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                r = jdks(into, "17", mirror="http://127.0.0.1:%d" % server.server_port)
                server.shutdown()
            check("a mirror that %s signed: refused for that, nothing left" % ("somebody else" if sign else "nobody"),
                  r[0] == 3 and "Debian sid does not give JDK 17" in r[1] and re.search(SIGNATURE, r[1]) and
                  not listing(into), r)


STUB = """#!/bin/sh
for arg; do [ "$last" != --output-junit ] || printf '<testsuite><testcase name="stub" status="run" time="0"/></testsuite>' >"$arg"; last=$arg; done
"""


def said_by_ci():
    """With a cmake and a ctest that do nothing."""
    with tempfile.TemporaryDirectory() as tmp:
        copy, stubs = pathlib.Path(tmp, "checkout"), pathlib.Path(tmp, "stubs")
        for d in (".ci", "scripts", "tests/integration"):
            shutil.copytree(jvm.ROOT / d, copy / d)
        shutil.copy(jvm.ROOT / "tests/skips.txt", copy / "tests")
        stubs.mkdir()
        for name in ("cmake", "ctest", "pyflakes3", "npm"):
            (stubs / name).write_text(STUB)
            (stubs / name).chmod(0o755)
        status, out = run(".ci/run", "--no-asan", cwd=copy, PATH="%s:%s" % (stubs, os.environ["PATH"]),
                          XDG_CACHE_HOME=tmp + "/cache", JSAMPLER_MIRROR=NOWHERE)
        last = out.splitlines()[-12:]
        at = [i for i, line in enumerate(last) if line.startswith("== !!! NOT TESTED: JDKs that are not in /usr/lib/jvm")]
        check("continuous integration says in its last lines what it could not test", at and
              any(re.search(r"cannot be reached; missing: JDK [\d ]+$|cannot be installed", x) for x in last[at[0]:]) and
              "== !!! NOT TESTED: the README's commands on a machine that has nothing; scripts/pristine said:" in last and
              re.match(r"\d+ passed, \d+ failed, \d+ skipped$", last[-1]), "%d\n%s" % (status, out[-2500:]))


if __name__ == "__main__":
    main({f.__name__: f for f in (idempotent, out_of_reach, keys, said_by_ci)})
