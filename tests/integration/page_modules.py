#!/usr/bin/env python3
"""The modules of the flame graph page, without a browser: their types, who imports whom, what those that hold no
elements make of a page, and that a build gives the same bytes wherever the checkout is.

usage: page_modules.py PAGE_PROFILE
PAGE_PROFILE is the program that writes profiles made by hand (page_profile.c).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jvm
from page import check

PAGE = jvm.ROOT / "sampler/output/page"
TSC = jvm.ROOT / "build/npm/typescript/lib/tsc.js"
ENTRIES = {"main.js": "page", "main_diff.js": "page_diff", "main_slices.js": "page_slices"}


def output(*command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=jvm.PATIENCE)
    return run.returncode, run.stdout


def types(tmp):
    if not TSC.exists():
        sys.exit("%s is missing; scripts/setup fetches it" % TSC)
    check("types", output("node", TSC, "-p", PAGE / "jsconfig.json"), (0, ""))
    # And an error is one.
    wrong = pathlib.Path(tmp, "wrong")
    shutil.copytree(PAGE, wrong)
    with open(wrong / "app/app.js", "a", encoding="utf-8") as f:
        f.write("\n/** @param {App} app */\nexport const wrong = app => app.look.fill(app.view.main);\n")
    status, said = output("node", TSC, "-p", wrong / "jsconfig.json")
    check("a wrong call is found", (status != 0, said.count("error TS"), "app/app.js(" in said), (True, 1, True))


def imports():
    """{module: those that it imports}, by path."""
    found = {}
    for path in PAGE.rglob("*.js"):
        names = re.findall(r"^import .* from '(\..*)';$", path.read_text(encoding="utf-8"), re.M)
        found[path] = [pathlib.Path(os.path.normpath(path.parent / n)) for n in names]
    return found


def graph():
    uses = imports()
    check("imports of what is not there", [m for used in uses.values() for m in used if m not in uses], [])
    done, way = set(), []

    def visit(module):
        if module in way:
            check("a circle", [str(m.relative_to(PAGE)) for m in way[way.index(module):]], [])
        elif module not in done:
            way.append(module)
            for m in uses[module]:
                visit(m)
            done.add(way.pop())
    for entry in ENTRIES:
        visit(PAGE / entry)
    check("modules that no page has", [str(m.relative_to(PAGE)) for m in uses if m not in done and m.name != "types.js"], [])
    check("modules too long", [str(m.relative_to(PAGE)) for m in uses if len(m.read_text(encoding="utf-8").split("\n")) > 300], [])


def data(tmp, page_profile):
    def read(what):
        path = os.path.join(tmp, what)
        subprocess.run([page_profile, what, "html:" + path + ".html", "folded:" + path + ".folded"], check=True)
        status, said = output("node", jvm.ROOT / "tests/integration/page_data.mjs", path + ".html")
        check("data of " + what, status, 0)
        with open(path + ".folded", encoding="utf-8", newline="\n") as f:
            return json.loads(said), f.read()
    got, folded = read("mixed")
    check("folded", got["folded"] == folded)
    check("samples", [got["total"], got["withoutC1"]], [1200, 880])
    check("the hottest method", got["hottest"], ["app/Store.put", 800, 800])
    check("its callees and callers", got["sandwich"], [800, 800])
    got, folded = read("slices")
    check("folded of slices", got["folded"] == folded)
    check("samples of two ranges", [got["samples"], got["width"]], [[400, 400], 800])
    check("what changed most", got["changed"], ["app/Cache.hit", "app/Load.read"])
    check("folded with both sides", got["compared"].split("\n")[0], "app/Main.run;app/Cache.hit 0 80")


def same_bytes(tmp):
    elsewhere = shutil.copytree(PAGE, pathlib.Path(tmp, "another place"))
    for entry, name in ENTRIES.items():
        out = pathlib.Path(tmp, name + ".js")
        check("bundled " + entry, output("esbuild", "--minify", "--charset=utf8", "--log-level=warning", "--bundle",
                                         "--format=iife", "--target=es2021", elsewhere / entry, "--outfile=%s" % out), (0, ""))
        built = jvm.build_dir() / "sampler/output" / (name + ".js")
        check("the same bytes: " + name, out.read_bytes() == built.read_bytes())


def main():
    with tempfile.TemporaryDirectory(prefix="jsampler-page-") as tmp:
        graph()
        data(tmp, sys.argv[1])
        same_bytes(tmp)
        types(tmp)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
