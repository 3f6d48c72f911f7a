"""Numbered clauses: which test shows which rule of a contract."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

ATTRIBUTE = "prism_clauses"
"""Where a test function carries its clause ids: a plain attribute, so no marker must be known."""

_HEADING = "Clauses:"
_CLAUSE = re.compile(r"([A-Z]\d+): (.*)")


def clause(*ids: str) -> Callable[[F], F]:
    """Say which clauses a test shows.

    Args:
        ids: Clause ids of one contract, for example `"S7"`.
    """

    def mark(function: F) -> F:
        setattr(function, ATTRIBUTE, ids)
        return function

    return mark


def clauses_of(contract: type[Any]) -> dict[str, str]:
    """The clauses in a contract's docstring: id to text, in their order there.

    Args:
        contract: A class whose docstring has a section `Clauses:`.
    """
    found: dict[str, str] = {}
    current = ""
    for line in _section(inspect.cleandoc(contract.__doc__ or "")):
        start = _CLAUSE.fullmatch(line.strip())
        if start:
            current = start[1]
            found[current] = start[2]
        elif current:
            found[current] += f" {line.strip()}"
    return found


def tests_of(suite: type[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tests of a conformance class that show clauses: name and clause ids, by name."""
    for name in sorted(dir(suite)):
        ids = getattr(getattr(suite, name), ATTRIBUTE, ())
        if ids:
            yield name, ids


def _section(doc: str) -> Iterator[str]:
    """The lines of the section `Clauses:`, which ends where the indentation does."""
    inside = False
    for line in doc.splitlines():
        if line.strip() == _HEADING:
            inside = True
        elif inside and line.strip():
            if not line.startswith(" "):
                return
            yield line
