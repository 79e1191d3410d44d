#!/usr/bin/env python3
"""What bash, zsh and fish complete: the scripts that `jsampler help --completion` prints, run by the shells."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

import jvm
import shell
from shell import check

SCRIPTS = jvm.build_dir() / "packaging/completion"
FORMATS = ["text", "json", "csv"]
# Words of a line, the last one to be completed; what is offered; what must not be.
CASES = [
    (["re"], ["record", "report"], ["diff"]),
    (["report", "--t"], ["--tree", "--tiers"], ["--flat", "--pid"]),
    (["report", "-f", ""], FORMATS, ["html"]),
    (["diff", "-f", "h"], ["html"], ["text"]),
    (["diff", "--fail"], ["--fail-if"], []),
    (["report", "prof"], ["profile-of-mine.folded"], ["report"]),
    (["diff", "a", "--", "prof"], ["profile-of-mine.folded"], []),
    (["--dur"], ["--duration"], ["--tree"]),
    (["record", "-o", "prof"], ["profile-of-mine.folded"], []),
    (["help", "re"], ["record", "report"], []),
    (["help", "--completion", "z"], ["zsh"], ["bash"]),
    (["list", "--format", "j"], ["json"], []),
]


def script(name):
    p = shell.run(["help", "--completion", name])
    check("%s: printed" % name, p.returncode == 0 and len(p.stdout) > 1000 and not p.stderr, p.stderr)
    built = {"bash": "bash/jsampler", "zsh": "zsh/_jsampler", "fish": "fish/jsampler.fish"}[name]
    check("%s: what is installed is the same" % name, (SCRIPTS / built).read_text() == p.stdout)
    return SCRIPTS / built


def have(name):
    if shutil.which(name):
        return True
    print("no %s here: only its script was printed" % name)
    return False


def environment(folder):
    return {**os.environ, "PATH": "%s:%s" % (os.path.dirname(shell.JS), os.environ["PATH"]), "HOME": folder, "LC_ALL": "C.UTF-8",
            "TERM": "vt100"}


def run_shell(argv, folder):
    p = subprocess.run(argv, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=jvm.PATIENCE)
    return p.stdout, p.stderr


def check_case(name, words, offered, wanted, unwanted, errors=""):
    check("%s: jsampler %s" % (name, " ".join(words)), set(wanted) <= set(offered) and not set(unwanted) & set(offered) and
          not errors, (offered, errors))


def quote(words):
    return " ".join("'%s'" % w for w in words)


def bash(folder):
    path = script("bash")
    out, err = run_shell(["bash", "-n", str(path)], folder)
    check("bash: no error of syntax", not out + err, out + err)
    for words, wanted, unwanted in CASES + [(["report", "--format", "=", "j"], ["json"], [])]:
        code = "source %s; COMP_WORDS=(jsampler %s); COMP_CWORD=%d; _jsampler; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
            path, quote(words), len(words))
        out, err = run_shell(["bash", "--norc", "-c", code], folder)
        check_case("bash", words, out.split("\n"), wanted, unwanted, err)
    out, err = run_shell(["bash", "--norc", "-c", "source %s; complete -p jsampler" % path], folder)
    check("bash: registered", "-F _jsampler jsampler" in out, out + err)


def fish(folder):
    path = script("fish")
    if not have("fish"):
        return
    for words, wanted, unwanted in CASES:
        code = "source %s; complete -C \"jsampler %s\"" % (path, " ".join(words))
        out, err = run_shell(["fish", "--no-config", "-c", code], folder)
        check_case("fish", words, [l.split("\t")[0] for l in out.split("\n")], wanted, unwanted, err)


class Zsh:
    """An interactive zsh; its completion system runs nowhere else."""

    def __init__(self, folder, scripts):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            jvm.die_with_parent()
            os.chdir(folder)
            os.execve(shutil.which("zsh"), ["zsh", "-f", "-i"], environment(folder))
        self.seen = ""
        self.send("PS1='@''@'; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000; "
                  "unsetopt auto_menu\n" % scripts)
        self.wait("@@")

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def wait(self, pattern, seconds=jvm.PATIENCE):
        """What came until the pattern did."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return None
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return None
        out, self.seen = self.seen, ""
        return out

    def listed(self, line):
        """What zsh lists for the end of a line (^X d is bound to listing); a widget says where it ends."""
        self.send("_done() { print -n -- '@end''@'; zle -R }; zle -N _done; bindkey '^Xd' list-choices; bindkey '^Xe' _done\n")
        self.wait("@@")
        self.send(line + "\x18d\x18e")
        out = self.wait("@end@") or ""
        self.send("\x15\n")
        self.wait("@@")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", out[out.rfind(line) + len(line):] if out.count(line) == 1 else out)

    def stop(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def zsh(folder):
    path = script("zsh")
    if not have("zsh"):
        return
    out, err = run_shell(["zsh", "-n", str(path)], folder)
    check("zsh: no error of syntax", not out + err, out + err)
    z = Zsh(folder, path.parent)
    for words, wanted, unwanted in CASES:
        out = z.listed("jsampler " + " ".join(words))
        offered = re.findall(r"[\w.-]+", out)
        check("zsh: jsampler %s" % " ".join(words), all(w in offered for w in wanted) and
              not any(w in offered for w in unwanted if w.startswith("--")), out)
    z.stop()


def installed():
    with tempfile.TemporaryDirectory() as tmp:
        p = subprocess.run(["cmake", "-DCMAKE_INSTALL_PREFIX=" + tmp, "-P", str(SCRIPTS / "cmake_install.cmake")],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = sorted(str(f.relative_to(tmp)) for f in pathlib.Path(tmp).rglob("*") if f.is_file())
        check("installed where the shells look", p.returncode == 0 and found == [
            "share/bash-completion/completions/jsampler", "share/fish/vendor_completions.d/jsampler.fish",
            "share/zsh/site-functions/_jsampler"], (p.stdout, found))


def main():
    p = shell.run(["help", "--completion", "tcsh"])
    check("another shell", p.returncode == 2 and p.stderr.count("\n") == 1 and "bash" in p.stderr, p.stderr)
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as folder:
        open(os.path.join(folder, "profile-of-mine.folded"), "w", encoding="utf-8").close()
        for test in (bash, zsh, fish):
            test(folder)
    installed()
    shell.finish()


if __name__ == "__main__":
    main()
