#!/usr/bin/env python3
"""The daemon's service: systemd takes the unit as it is, finds it well locked, and makes its user and directory."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICE = ROOT / "packaging/service"
# Of 100, by systemd-analyze security; what is open is what sampling takes.
EXPOSURE = 40
# With these, no JVM could be seen, read or named.
OFF = ("ProtectKernelTunables", "ProtectKernelLogs", "PrivateUsers", "ProtectProc", "ProcSubset", "RestrictRealtime")
failures = []


def check(what, ok, got=""):
    print("%s %s" % ("ok  " if ok else "FAIL", what))
    if not ok:
        failures.append(what)
        print(got)


def run(*args):
    done = subprocess.run(list(map(str, args)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def unit(folder, text):
    # The program is not installed here.
    path = folder / "jsampler.service"
    path.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.M))
    return path


def the_unit(folder):
    text = (SERVICE / "jsampler.service").read_text()
    code, said = run("systemd-analyze", "verify", "--man=no", unit(folder, text))
    check("systemd takes the unit", code == 0 and not said, said)
    code, said = run("systemd-analyze", "verify", "--man=no", unit(folder, text.replace("UMask=0077", "UMask=abc\nUMsk=1")))
    check("and would not take everything", said, said)
    args = "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=%d" % EXPOSURE
    code, said = run(*args, unit(folder, text))
    check("it exposes little", code == 0 and "Overall exposure level" in said, said)
    code, said = run(*args, unit(folder, re.sub(r"^(Protect|Restrict|Capability).*", "", text, flags=re.M)))
    check("which is measured", code != 0, said)
    check("what sampling needs is left on", not [o for o in OFF if re.search("^%s=" % o, text, re.M)], OFF)


def user_and_directory(folder):
    if os.geteuid() != 0:
        print("note: only root can make users")
        return
    (folder / "etc").mkdir()
    for name in ("passwd", "group"):
        (folder / "etc" / name).write_text("")
    code, said = run("systemd-sysusers", "--root=%s" % folder, SERVICE / "sysusers.conf")
    passwd = (folder / "etc/passwd").read_text()
    check("there is a user without a shell", code == 0 and re.match(r"jsampler:x:(\d+):\1:.*nologin\n$", passwd), said + passwd)
    code, said = run("systemd-tmpfiles", "--root=%s" % folder, "--create", SERVICE / "tmpfiles.conf")
    st = (folder / "var/lib/jsampler").stat()
    check("and its directory", code == 0 and st.st_mode & 0o7777 == 0o700 and str(st.st_uid) == passwd.split(":")[2], (said, st))


def configuration():
    """Each setting of the table is in the file that is installed and in its manual page, with its default."""
    table = (ROOT / "sampler/daemon/config/config_keys.c").read_text()
    keys = re.findall(r'\{"(\w+)", "(\w+)", (?:FIELD|0).*?, "([^"]*)",\s*"[^"]*"\},', table, re.S)
    check("the table has settings", len(keys) == 18, keys)
    conf = (SERVICE / "jsampler.conf").read_text()
    page = (SERVICE / "jsampler.conf.5").read_text()
    sections = dict(re.findall(r"^\[(\w+)\]\n(.*?)\n\n", conf, re.M | re.S))
    for section, key, value in keys:
        check("jsampler.conf has %s" % key, ("#%s = %s" % (key, value)).strip() in sections[section].splitlines(), sections[section])
        text = page.split(".SH %s\n" % section.upper())[1].split("\n.SH")[0]
        headings = "".join(line for line in text.splitlines() if line.startswith(".BR"))
        default = value or "none"
        check("jsampler.conf(5) has %s" % key, re.search(r'\b%s\b[^(]*\(%s\)' % (key, re.escape(default)), headings.replace('"', "")), headings)


def main():
    configuration()
    if not shutil.which("systemd-analyze"):
        sys.exit("systemd-analyze is missing: scripts/setup --unit installs it")
    with tempfile.TemporaryDirectory(prefix="js-service-") as name:
        the_unit(pathlib.Path(name))
        user_and_directory(pathlib.Path(name))
    print("%d failed" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
