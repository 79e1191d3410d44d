#!/usr/bin/env python3
"""The page that `jsampler diff -o FILE.html` writes, in headless Chromium."""

import json
import os
import tempfile

import chromium
import page
import shell
from page import check
from views import AFTER, BEFORE, write

HOSTILE = "main;</script><img src=x onerror=alert(1)>.run_[j] 50\nmain;" + "\u202e" + "evil_[j] 20\n"


def colours(p, names):
    """Red, green, blue of a frame's fill."""
    return p.js("(() => { const c = fillOf(view.main, frameAt(%s).node); return [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16)); })()"
                % json.dumps(names))


def widths(p):
    return {k: round(v) for k, v in p.js(
        "Object.fromEntries([['gone', ['main', 'app/Main.run', 'app/Old.gone']], ['born', ['main', 'app/Main.run', 'app/New.born']],"
        "['sys', ['main', 'do_syscall_64']]].map(([k, n]) => { const at = frameAt(n); return [k, at ? view.main.total[at.node] : 0]; }))").items()}


def test_page(browser, path):
    p = page.open_page(browser, path)
    check("title", p.js("document.title"), "Before and after – difference")
    check("samples", [w in p.js("$('facts').textContent") for w in ("1,000", "2,000")], [True, True])
    # 5 % before and 5 % after, of 3,000: both are to be seen.
    check("widths of both", widths(p), {"gone": 75, "born": 75, "sys": 300})
    gone, born, same = (colours(p, ["main", *n]) for n in (["app/Main.run", "app/Old.gone"], ["app/Main.run", "app/New.born"],
                                                           ["do_syscall_64"]))
    check("vanished is blue", gone[2] > gone[0] + 60, True)
    check("new is orange", born[0] > born[2] + 60, True)
    check("the same is grey", max(same) - min(same) < 20, True)
    page.click(p, ["main", "app/Main.run", "app/Store.put"], kind="move")
    tip = p.js("$('tip').textContent")
    check("tooltip", [w in tip for w in ("40.0 %", "35.0 %", "−5.00 pt", "400 samples", "700 samples")], [True] * 5)
    check("table", p.js("$('list').querySelectorAll('.method').length"), 7)
    check("the table begins with the largest change", "Store.put" in p.js("$('list').querySelector('.method').textContent"), True)
    page.click_on(p, "#choosers button[data-mode=before]")
    check("widths before", widths(p), {"gone": 50, "born": 0, "sys": 100})
    p.key("b")
    check("widths after, by key", widths(p), {"gone": 0, "born": 100, "sys": 200})
    check("in the address", "s=after" in page.fragment(p), True)
    p.key("b")
    check("stacks with both counts", p.js("foldedText([])").split("\n")[:2], [
        "main;app/Main.run 400 900", "main;app/Main.run;app/New.born 0 100"])
    svg = p.js("svgText()")
    check("picture", "Old.gone" in svg and svg.startswith("<svg "), True)
    p.js("openSandwich(names.indexOf('app/Store.put'))")
    check("sandwich", p.js("view.panes[1] !== null && view.panes[0].total[0] > 0"), True)
    page.quiet(p)
    p.close()


def main():
    with tempfile.TemporaryDirectory(prefix="jsampler-test-") as folder, chromium.Chromium() as browser:
        before, after = write(folder, "before.folded", BEFORE), write(folder, "after.folded", AFTER)
        hostile = write(folder, "host<ile.folded", HOSTILE)
        for name, files in (("d.html", (before, after)), ("h.html", (before, hostile))):
            run = shell.run(["diff", *files, "-o", os.path.join(folder, name)])
            check("written " + name, (run.returncode, run.stderr), (0, ""))
        test_page(browser, os.path.join(folder, "d.html"))
        p = page.open_page(browser, os.path.join(folder, "h.html"), dark=True)
        check("hostile names are text", p.js("document.images.length + document.querySelectorAll('script').length"), 2)
        page.quiet(p)
        p.close()
    raise SystemExit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
