"""The tables of docs/jvmpi.md."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOC = ROOT / "docs/jvmpi.md"


def rows():
    """Each row that names a check, as {column: text}; the first column is its name."""
    found, header = [], None
    for line in DOC.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")] if line.startswith("|") else None
        if not cells:
            header = None
        elif header is None:
            header = cells
        elif "check" in header and not cells[0].startswith("---"):
            found.append(dict(zip(header, cells)))
    return found


def name_of(row):
    return next(iter(row.values()))


def checks_of(agent):
    """The checks that the sources of a test agent make."""
    sources = "".join(f.read_text() for f in (ROOT / "tests/jvmpi").glob(agent + "*.c"))
    return set(re.findall(r'\b(?:check|counted)\("([^"]+)"', sources))
