"""Small pieces of Markdown, and reading the sections of a docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"[*<\[]")
_ENTRY = re.compile(r"(\w+): (.*)")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what its cells hold cannot end them."""
    lines = [_row(head), _row(["---"] * len(head)), *(_row(r) for r in rows)]
    return "\n".join(lines)


def code(text: object) -> str:
    """Text in a code font."""
    return f"`{text}`"


def prose(text: str) -> str:
    """The text as it is: outside of code, signs that mean something in Markdown are escaped."""
    parts = text.split("`")
    return "`".join(p if n % 2 else _SPECIAL.sub(r"\\\g<0>", p) for n, p in enumerate(parts))


def sentence(text: str) -> str:
    """The text with a capital at its beginning and a full stop at its end."""
    shown = prose(text.strip())
    return f"{shown[:1].upper()}{shown[1:]}{'' if shown.endswith(('.', '…')) else '.'}"


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def section(thing: object, heading: str) -> dict[str, str]:
    """The entries of one section of a docstring, such as `Attributes`: name to text."""
    found: dict[str, str] = {}
    inside, current = False, ""
    for line in (inspect.getdoc(thing) or "").splitlines():
        if line.strip() == f"{heading}:":
            inside = True
        elif inside and line.strip() and not line.startswith(" "):
            break
        elif inside:
            current = _take(line, current, found)
    return found


def _take(line: str, current: str, found: dict[str, str]) -> str:
    entry = _ENTRY.fullmatch(line.strip()) if line.startswith("    ") else None
    if entry is not None and not line.startswith("     "):
        found[entry[1]] = entry[2]
        return entry[1]
    if current and line.strip():
        found[current] += f" {line.strip()}"
    return current


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
