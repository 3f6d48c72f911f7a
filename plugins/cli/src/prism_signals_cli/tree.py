"""A thread as a tree: each reply under what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prism_signals import Entry

from .listing import entry_lines


class _Strokes(NamedTuple):
    branch: str
    last: str
    through: str
    blank: str


_DRAWN = _Strokes("├─ ", "└─ ", "│  ", "   ")
_TYPED = _Strokes("|- ", "`- ", "|  ", "   ")


def tree_lines(entries: Sequence[Entry], *, most: int | None, drawn: bool) -> list[str]:
    """The lines of the tree.

    A reply whose parent is not among the entries stands at the top, so nothing is left out.

    Args:
        entries: Oldest first.
        most: The most characters shown of one text.
        drawn: With line-drawing characters, else in ASCII.
    """
    strokes = _DRAWN if drawn else _TYPED
    children: dict[str | None, list[Entry]] = {}
    known = {e.signal.signal_id for e in entries}
    for e in entries:
        parent = e.signal.in_reply_to
        children.setdefault(parent if parent in known else None, []).append(e)
    lines: list[str] = []
    waiting = [(e, "", "") for e in reversed(children.get(None, []))]
    while waiting:  # a stack, since a thread can be deeper than Python likes to recurse
        entry, first, rest = waiting.pop()
        replies = children.get(entry.signal.signal_id, [])
        head, *more = entry_lines(entry, most=most)
        beneath = strokes.through if replies else strokes.blank
        lines += [first + head, *(rest + beneath + line.strip("\n")[2:] for line in more)]
        below = [
            (
                r,
                rest + (strokes.last if n == len(replies) else strokes.branch),
                rest + (strokes.blank if n == len(replies) else strokes.through),
            )
            for n, r in enumerate(replies, 1)
        ]
        waiting += reversed(below)
    return [line.rstrip() for line in lines]
