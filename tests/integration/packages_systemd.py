"""The .deb where systemd is: a root of Debian that systemd-nspawn boots, the service in it, and a JVM that nobody told it of."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from packages_deb import CONF, older_deb, said
from packages_root import check, distribution, run

# What nspawn takes from a container, and the service of a host has.
WIDENED = ("--capability=CAP_PERFMON,CAP_BPF,CAP_SYSLOG,CAP_CHECKPOINT_RESTORE", "--system-call-filter=perf_event_open bpf kcmp")
# cgroup v2, whatever the host has: what Debian's releases since 11 boot with, and sid's systemd can do nothing else.
UNIFIED = dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1")
HOME = "/home/app"  # closed to the unit by ProtectHome
PATIENCE = 60
ENABLED = "etc/systemd/system/multi-user.target.wants/jsampler.service"


def wait_for(what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.2)
    return None


def first_of_its_namespace(parent):
    """The child that is process 1 of its PID namespace. nspawn's first child only sets up, and starts that one."""
    for pid in pathlib.Path("/proc/%d/task/%d/children" % (parent, parent)).read_text().split():
        with contextlib.suppress(OSError):
            if re.search(r"^NSpid:\s+\d+\s.*\b1$", pathlib.Path("/proc/%s/status" % pid).read_text(), re.M):
                return pid
    return None


class Booted:
    """That root, with systemd as its first process."""

    def __init__(self, root, binds):
        self.root = pathlib.Path(root)
        self.command = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=pipe", "-D", root, *WIDENED,
                        *("--bind-ro=%s:%s" % b for b in binds), "-b"]

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.nspawn = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=UNIFIED)
        self.leader, state = None, [b""]

        def boots():
            self.leader = self.leader or first_of_its_namespace(self.nspawn.pid)
            state[0] = self.run("systemctl", "is-system-running")[1].strip() if self.leader else b"no first process"
            return state[0] in (b"running", b"degraded") or self.nspawn.poll() is not None
        up = wait_for(boots) and self.nspawn.poll() is None
        self.log.seek(0)
        check("systemd boots", up, (state[0], self.nspawn.poll(), self.log.read()))
        return self if up else None

    def __exit__(self, *_):
        if self.leader:
            self.run("systemctl", "poweroff", "--force", "--force")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.nspawn.wait(10)
        self.nspawn.kill()
        self.nspawn.wait()
        self.log.close()

    def run(self, *args):
        return run("nsenter", "--target", self.leader, "--all", *args)

    def shows(self, name, unit="jsampler"):
        return self.run("systemctl", "show", "--value", "-p", name, unit)[1].decode().strip()

    def journal(self):
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", "jsampler")[1].decode()

    def history(self, text, *options):
        """The report on the last minutes, once it has that text, and what it was in the end."""
        out = [b""]

        def has():
            out[0] = self.run("jsampler", "report", "--since", "10m", *options)[1]
            return text in out[0]
        return wait_for(has), out[0]


def enabled(host):
    status, out = host.run("dpkg", "-i", "/older.deb")
    check("systemd: the service is installed and off", status == 0 and b"disabled" in host.run("systemctl", "is-enabled", "jsampler")[1]
          and host.shows("ActiveState") == "inactive", out)
    owner = host.run("stat", "-c", "%U %G %a", "/var/lib/jsampler")[1]
    check("systemd: the user has the directory of the history", owner == b"jsampler jsampler 700\n", owner)
    status, out = host.run("systemd-analyze", "verify", "--man=no", "jsampler.service")
    check("systemd: systemd-analyze verify has nothing to say", status == 0 and not out, out)
    status, out = host.run("systemd-analyze", "security", "--no-pager", "jsampler.service")
    exposure = re.search(rb"exposure level for jsampler.service: (\d+\.\d)", out)
    check("systemd: it exposes little", exposure and float(exposure.group(1)) <= 4, out)
    status, out = host.run("systemctl", "enable", "--now", "jsampler")
    check("systemd: enabled, it is ready", status == 0 and host.shows("StatusText").startswith("sampling")
          and (host.root / ENABLED).is_symlink(), (out, host.journal()))


def samples(host, classes):
    host.run("systemd-run", "--unit=shop", HOME + "/jdk/bin/java", "-Xmx64m", "-cp", HOME + "/" + classes.name, "Truth", "seconds=1000", "warmup=2",
             "threads=1")
    found, out = host.history(b"Truth.k", "--label", "unit=shop.service")
    check("systemd: a JVM in /home is in the history, and so is its unit", found, out.decode() + host.journal())


def reloaded(host):
    conf = host.root / CONF
    for text, says, after in (("[sampling]\nfrequency = 19\n", "the configuration was read again", "valid"),
                              ("[sampling]\nfrequencies = 19\n", "jsampler.conf:2:", "invalid")):
        conf.write_text(text)
        status, out = host.run("systemctl", "reload", "jsampler")
        ok = wait_for(lambda: says in host.journal(), 10)
        check("systemd: reload of a configuration that is %s" % after, status == 0 and ok and host.shows("ActiveState") == "active",
              (out, host.journal()))
    conf.write_text("[sampling]\nfrequency = 19\n")


def upgraded(host):
    before, began = host.shows("MainPID"), time.monotonic()
    status, out = host.run("dpkg", "--force-confold", "-i", "/it.deb")
    after = host.shows("MainPID")
    check("systemd: an upgrade restarts the service", status == 0 and before != after and int(after) and host.shows("ActiveState") == "active"
          and not [s for s in said(out) if "jsampler.conf" not in s and "==>" not in s], out)
    out = [b""]

    def again():
        out[0] = host.run("jsampler", "report", "--since", "%ds" % (time.monotonic() - began + 1))[1]
        return b"Truth.k" in out[0]
    check("systemd: and the history goes on", wait_for(again), (out, host.journal()))
    out = host.run("jsampler", "doctor")[1]
    check("systemd: and it is known that it was restarted", b"it was stopped and started again 1 time" in b" ".join(out.split()), out)


def watched(host):
    drop_in = host.root / "etc/systemd/system/jsampler.service.d/watchdog.conf"
    drop_in.parent.mkdir(exist_ok=True)
    drop_in.write_text("[Service]\nWatchdogSec=2\n")
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "restart", "jsampler")
    time.sleep(5)
    check("systemd: the watchdog has what it waits for", host.shows("NRestarts") == "0", host.journal())
    host.run("systemctl", "kill", "--kill-who=main", "--signal=STOP", "jsampler")
    again = wait_for(lambda: host.shows("NRestarts") == "1" and host.shows("ActiveState") == "active")
    check("systemd: the watchdog starts a stopped daemon again", again, host.journal())


def stopped(host):
    host.run("systemctl", "stop", "jsampler")
    left = host.run("sh", "-c", "grep -l jsampler /proc/[0-9]*/comm")[1]
    check("systemd: stopped, without a fault, and no process is left", host.shows("Result") == "success" and not left,
          (host.shows("Result"), left, host.journal()))
    status, out = host.run("dpkg", "--purge", "jsampler")
    units = host.run("systemctl", "list-units", "--all", "--no-legend", "*jsampler*")[1]
    check("systemd: purged", status == 0 and not units and not (host.root / "var/lib/jsampler").exists()
          and not (host.root / ENABLED).is_symlink(), (out, units))


def priority(host):
    """The thread that takes samples does not wait for a busy CPU: a nice value of -10, as sampler/engine/engine_thread.c asks for, is 30 as
    a limit (getrlimit(2)), and the lowest real-time priority 1. Where systemd may not raise limits, it starts the service all the same."""
    asked = [host.shows(name) for name in ("LimitNICE", "LimitRTPRIO", "LimitRTTIME")]
    check("systemd: the unit's limits are what the program asks for", asked == ["30", "1", "1000000"], asked)
    limits = host.run("cat", "/proc/%s/limits" % host.shows("MainPID"))[1]
    if not re.search(rb"realtime priority +1 +1 ", limits):
        print("packages: note: this machine's root lacks CAP_SYS_RESOURCE, so systemd cannot set LimitRTPRIO", flush=True)
        return
    out = host.run("sh", "-c", "cat /proc/[0-9]*/task/*/stat")[1].decode()
    policies = [line.rsplit(")", 1)[1].split()[38] for line in out.splitlines() if "(jsampler-drain)" in line]
    check("systemd: what takes samples has real-time priority", set(policies) == {"2"}, out)


def systemd(tmp, root, package, jdk, classes):
    print("packages: systemd in %s" % distribution(root), flush=True)
    shutil.copy(package, pathlib.Path(root, "it.deb"))
    older_deb(package, tmp, pathlib.Path(root, "older.deb"))
    binds = [(jdk.home, HOME + "/jdk"), (classes, HOME + "/" + pathlib.Path(classes).name)]
    with Booted(root, binds) as host:
        if not host:
            return
        enabled(host)
        samples(host, pathlib.Path(classes))
        priority(host)
        reloaded(host)
        upgraded(host)
        strange = strangers(host.journal())
        check("systemd: nothing else is in the journal", not strange, strange)
        watched(host)
        stopped(host)


def strangers(journal):
    known = re.compile(r"^(Starting|Started|Stopping|Stopped|Reloading|Reloaded|jsampler.service: (Consumed|Deactivated successfully|Succeeded|Failed to read pids.max))|"
                       "the configuration|jsampler.conf:2:|one set of perf events for all|each JVM is sampled by a process")
    return [line for line in journal.splitlines() if not known.search(line)]
