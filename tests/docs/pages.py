"""The pages, and the blocks of code in them.

A comment in the line before a block says what happens with it:

- `<!-- run -->`: it is run. Shell blocks of one page share a folder and their variables.
- `<!-- run: exit 2 -->`: it is run and must end with that status.
- `<!-- run: file NAME -->`: it is written to that file.
- `<!-- run: id NAME -->`: the reader puts the id of the signal printed last into that variable.
- `<!-- run: install FOLDER -->`: the reader installs that folder, for this page alone, editable.
- `<!-- run: mcp entry -->`: every server that it names is started and shaken hands with.
- `<!-- prints -->`: the block before printed this, `…` standing for anything.
- `<!-- not run: REASON -->`: it is not run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from docs.generate import PAGES, pages
from tests.client import ROOT

README = ROOT / "README.md"
_MARK = re.compile(r"<!-- (run|prints|not run)(?:: (.+))? -->")
_FENCE = re.compile(r"(`{3,})(\S*)")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block.

    Attributes:
        page: The page, as a person names it.
        line: Where it begins.
        language: What stands behind the fence.
        text: What stands in it.
        mark: `run`, `prints`, `not run`, or nothing.
        detail: What follows the mark's colon.
    """

    page: str
    line: int
    language: str
    text: str
    mark: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def all_pages() -> list[Path]:
    """Every page of the documentation, and the front page."""
    return [README, *pages()]


def name_of(page: Path) -> str:
    """A page as a person names it."""
    return str(page.relative_to(PAGES.parent))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, without directives."""
    found: list[Block] = []
    mark, detail = "", ""
    lines = page.read_text("utf-8").splitlines()
    number = 0
    while number < len(lines):
        line = lines[number].strip()
        number += 1
        marked = _MARK.fullmatch(line)
        fence = _FENCE.fullmatch(line)
        if marked:
            mark, detail = marked[1], marked[2] or ""
        elif fence:
            begin = number
            while lines[number].strip() != fence[1]:
                number += 1
            text = "\n".join(lines[begin:number])
            number += 1
            if not fence[2].startswith("{"):
                found.append(Block(name_of(page), begin, fence[2], text, mark, detail))
            mark, detail = "", ""
        elif line:
            mark, detail = "", ""
    return found


def headings(page: Path) -> list[str]:
    """The headings of a page, without their marks and without the signs of a code font."""
    found = []
    fenced = False
    for line in page.read_text("utf-8").splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            found.append(line.lstrip("#").strip().replace("`", ""))
    return found


def first_cells(text: str) -> list[str]:
    """What stands in a code font at the beginning of the rows of all tables in a text."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)
