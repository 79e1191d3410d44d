"""Fails for trailing blanks, a missing or doubled newline at the end of a file, and carriage returns."""

import pathlib
import sys

FOLDERS = ("sampler", "symbolizer", "jvm-bridge", "scripts", "tests", "packaging", "docs", ".ci")
ENDINGS = {".c", ".h", ".js", ".css", ".py", ".java", ".cmake", ".txt", ".md", ".sh", ""}


def text_files():
    for folder in FOLDERS:
        for p in sorted(pathlib.Path(folder).rglob("*")):
            if p.is_file() and p.suffix in ENDINGS and not {"fixtures", "seeds", "__pycache__"} & set(p.parts):
                yield p
    yield from sorted(pathlib.Path(".").glob("*.md"))


def problems(data):
    if b"\0" in data or not data:
        return
    for n, line in enumerate(data.split(b"\n"), 1):
        if line.endswith((b" ", b"\t", b"\r")):
            yield n, "blank or carriage return at the end of the line"
    if not data.endswith(b"\n"):
        yield data.count(b"\n") + 1, "no newline at the end of the file"
    elif data.endswith(b"\n\n"):
        yield data.count(b"\n"), "empty line at the end of the file"


def main():
    bad = 0
    for path in text_files():
        for n, what in problems(path.read_bytes()):
            print("%s:%d: %s" % (path, n, what))
            bad = 1
    sys.exit(bad)


main()
