"""The .deb in a root of Debian without systemd: installed, upgraded, removed, purged; its service is off."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from packages_group import Group
from packages_root import BareRoot, check, distribution, package_files

CONF = "etc/jsampler/jsampler.conf"
PLACES = (CONF, "usr/lib/systemd/system/jsampler.service", "usr/lib/sysusers.d/jsampler.conf", "usr/lib/tmpfiles.d/jsampler.conf")
DPKG_SAYS = re.compile(r"^(Selecting|Preparing|Unpacking|Setting up|Installing new version of config|Removing|Purging|\(Reading database)")


def older_deb(package, tmp, deb):
    """The same as version 0.0.1, with a file that the new one does not have, and another configuration."""
    tree = pathlib.Path(tempfile.mkdtemp(dir=tmp))
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub("(?m)^Version: .*", "Version: 0.0.1", control.read_text()))
    (tree / "usr/lib/jsampler/old").touch()
    (tree / CONF).write_text("# as of 0.0.1\n")
    subprocess.run(["dpkg-deb", "-Znone", "--build", tree, deb], check=True, stdout=subprocess.DEVNULL)


def said(out):
    """What was said by the package's scripts, not by dpkg itself."""
    return [line for line in out.decode().splitlines() if line and not DPKG_SAYS.match(line)]


def installed_service(root):
    root = pathlib.Path(root)
    missing = [p for p in PLACES if not (root / p).is_file()]
    check("the service's files are where they belong, and nowhere else", not missing and not (root / "usr/share/jsampler/service").exists(),
          missing)
    links = [str(p) for p in (root / "etc/systemd").rglob("*jsampler*")]
    check("the service is not enabled", not links, links)


def user(debian, what):
    status, out = debian.run("getent", "passwd", "jsampler")
    check(what, status == 0 and re.search(rb":/var/lib/jsampler:\S+/nologin$", out.strip()), out)


def upgraded(debian):
    status, out = debian.run("dpkg", "-i", "/older.deb")
    check("dpkg -i, without systemd and with nothing to say", status == 0 and not said(out), out)
    user(debian, "there is a user for the history")
    status, out = debian.run("dpkg", "-i", "/it.deb")
    old = (debian.path / "usr/lib/jsampler/old").exists()
    check("dpkg -i of a newer one", status == 0 and b"over (0.0.1)" in out and not old and not said(out), out)
    check("a configuration that nobody changed is the new one's", "cpu_limit" in (debian.path / CONF).read_text())
    (debian.path / CONF).write_text("[sampling]\nfrequency = 19\n")
    debian.run("dpkg", "-i", "/older.deb")
    status, out = debian.run("dpkg", "--force-confold", "-i", "/it.deb")
    check("a changed one is kept", status == 0 and "frequency = 19" in (debian.path / CONF).read_text(), out)
    status, out = debian.run("jsampler", "daemon", "--check")
    check("and read by the daemon", status == 0 and b", 19 Hz," in out, out)


def removed(debian):
    """The history and the configuration go only when the package is purged."""
    history = debian.path / "var/lib/jsampler"
    history.mkdir(exist_ok=True)
    (history / "day").touch()
    status, out = debian.run("dpkg", "--remove", "jsampler")
    check("removed, the history and the configuration are left", status == 0 and (history / "day").exists() and (debian.path / CONF).exists()
          and not (debian.path / "usr/bin/jsampler").exists(), out)
    status, out = debian.run("dpkg", "--purge", "jsampler")
    left = [f for d in ("usr", "etc", "var/lib") for f in package_files(os.path.join(debian.path, d))]
    check("purged, nothing is left", status == 0 and not left and not said(out), "%s %s" % (out, left))
    user(debian, "but the user, as of other packages of Debian")


def deb(tmp, root, package, java):
    print("packages: in %s" % distribution(root), flush=True)
    shutil.copy(package, pathlib.Path(root, "it.deb"))
    older_deb(package, tmp, pathlib.Path(root, "older.deb"))
    with BareRoot(root) as debian:
        upgraded(debian)
        installed_service(root)
        debian.lists("the .deb", "jsampler")
        debian.records("the .deb", "jsampler", java)
        if pathlib.Path(root, "usr/bin/sudo").exists():
            Group(debian, java).tried()
            (debian.path / "etc/sudoers.d/jsampler").unlink()
        removed(debian)
