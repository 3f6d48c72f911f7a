"""Writes those parts of the pages that come from the code: `python -m docs.generate [--check]`.

A page says where: everything between a line `<!-- generated: NAME -->` and the next line
`<!-- end -->` is replaced. With `--check` nothing is written, and the exit status is 1 where a page
is not what the code says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .blocks import block

PAGES = Path(__file__).resolve().parent
_PART = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Every page, in a stable order."""
    return sorted(PAGES.rglob("*.md"))


def renewed(text: str) -> str:
    """A page's text with its generated parts as the code has them now.

    Raises:
        KeyError: It asks for a part that does not exist.
    """
    return _PART.sub(lambda m: f"{m[1]}\n{block(m['name']).strip()}\n\n{m[3]}", text)


def generated(text: str) -> list[str]:
    """The names of the parts that a page asks for."""
    return [m["name"] for m in _PART.finditer(text)]


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` name those that would change."""
    check = "--check" in arguments
    stale = []
    for page in pages():
        before = page.read_text("utf-8")
        after = renewed(before)
        if before != after:
            stale.append(page)
            if not check:
                page.write_text(after, "utf-8")
    for page in stale:
        done = "is not what the code says" if check else "written"
        sys.stderr.write(f"{page.relative_to(PAGES.parent)}: {done}\n")
    if check and stale:
        sys.stderr.write("Run 'python -m docs.generate' and commit what it writes.\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
