"""Brings the files of an application from Maven Central into the user's cache, by Maven itself.

What an application needs is named by "group:artifact:version[:type[:classifier]]"; tests/apps/SHA256SUMS lists every file
that comes of it, and only these are used.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import jvm

SUMS = jvm.ROOT / "tests/apps/SHA256SUMS"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
LIMIT_S = 300  # for the files of one application

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>jsampler</groupId><artifactId>apps</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
%s
</dependencies>
</project>
"""


class NotHad(Exception):
    """The registry does not give it: no network, no Maven."""


class Altered(Exception):
    """Files are not those that SHA256SUMS lists."""


def cache_dir():
    top = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return top / "jsampler/apps"


def sums(listed=SUMS):
    """{application: {file: SHA-256}}"""
    found = {}
    for line in listed.read_text().splitlines():
        digest, path = line.split()
        app, name = path.split("/")
        found.setdefault(app, {})[name] = digest
    return found


def digests(folder):
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(folder.iterdir())}


def dependency(artifact):
    fields = zip(("groupId", "artifactId", "version", "type", "classifier"), artifact.split(":"))
    return "<dependency>%s</dependency>" % "".join("<%s>%s</%s>" % (k, v, k) for k, v in fields)


def copy_files(artifacts, folder):
    """What these artifacts and their dependencies are at run time."""
    if not shutil.which("mvn"):
        raise NotHad("there is no mvn (scripts/setup --apps installs it)")
    with tempfile.TemporaryDirectory(prefix="jsampler-apps-") as tmp:
        pom = pathlib.Path(tmp, "pom.xml")
        pom.write_text(POM % "\n".join(map(dependency, artifacts)))
        argv = ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "-f", str(pom),
                "-Daether.connector.connectTimeout=15000", "-Daether.connector.requestTimeout=60000",
                "-DincludeScope=runtime", "-DoutputDirectory=%s" % folder, PLUGIN]
        try:
            run = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace", timeout=LIMIT_S, preexec_fn=jvm.die_with_parent)
        except subprocess.TimeoutExpired:
            raise NotHad("mvn has not ended after %d s" % LIMIT_S)
    if run.returncode:
        text = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout)
        said = [line for line in text.splitlines() if line.removeprefix("[ERROR]").strip()]
        raise NotHad("mvn: exit status %d, %s" % (run.returncode, said[0] if said else "no message"))


def differences(have, want):
    return ["%s %s" % (name, "is missing" if name not in have else "is not listed" if name not in want else
                       "has SHA-256 %s" % have[name])
            for name in sorted(have.keys() | want.keys()) if have.get(name) != want.get(name)]


def bring(name, artifacts, want):
    """The folder with exactly the files of `want` ({file: SHA-256}); what is there already is checked, not fetched."""
    folder = cache_dir() / name
    if folder.is_dir() and digests(folder) == want:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as tmp:
        new = pathlib.Path(tmp, name)
        new.mkdir()
        print("== Maven Central: %s" % " ".join(artifacts), flush=True)
        copy_files(artifacts, new)
        bad = differences(digests(new), want)
        if bad:
            raise Altered("%s: not what SHA256SUMS lists: %s" % (name, "; ".join(bad)))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    return folder


def pin(apps, listed=SUMS):
    """Writes SHA256SUMS anew. `apps`: {application: artifacts}."""
    lines = []
    for name, artifacts in sorted(apps.items()):
        with tempfile.TemporaryDirectory(prefix="jsampler-apps-") as tmp:
            copy_files(artifacts, tmp)
            lines += ["%s  %s/%s\n" % (digest, name, f) for f, digest in digests(pathlib.Path(tmp)).items()]
    listed.write_text("".join(lines))
