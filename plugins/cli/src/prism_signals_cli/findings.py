"""What one check of `prism doctor` found, and how it is told."""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import anyio

from prism_signals import PrismError, Problem

from .failures import cause
from .plaintext import one_line

PATIENCE = 5.0
"""Seconds that a backend may take for one check."""


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


_MARKS = {Verdict.OK: "ok     ", Verdict.WARNING: "warning", Verdict.BROKEN: "BROKEN "}
_INDENT = " " * 9


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: What was checked.
        verdict: How it ended.
        detail: What is the case.
        hint: What to do, where something is to be done.
        facts: The same for programs.
        lines: More for people, a line each.
        trace: The traceback, where there is one; shown only when asked for.
    """

    check: str
    verdict: Verdict
    detail: str
    hint: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    trace: str = ""

    def as_json(self, *, verbose: bool) -> dict[str, Any]:
        """As a JSON-ready dict."""
        told: dict[str, Any] = {
            "check": self.check,
            "verdict": self.verdict.value,
            "detail": self.detail,
            "hint": self.hint,
            "facts": self.facts,
            "trace": self.trace if verbose else "",
        }
        return {k: v for k, v in told.items() if v not in ("", {})}

    def as_text(self, *, verbose: bool) -> Iterator[str]:
        """As lines for a terminal."""
        yield f"{_MARKS[self.verdict]}  {self.check}: {one_line(self.detail)}"
        more = [*self.lines, self.hint, *(self.trace.splitlines() if verbose else ())]
        yield from (f"{_INDENT}{one_line(line)}" for line in more if line)


Told = tuple[str, dict[str, Any]]
"""What a check tells people, and what it tells programs."""


async def timed(check: str, look: Callable[[], Awaitable[Told]]) -> Finding:
    """Run a check under a deadline; whatever goes wrong is what it found."""
    started = time.perf_counter()
    try:
        with anyio.fail_after(PATIENCE):
            detail, facts = await look()
    except Exception as e:  # noqa: BLE001 - whatever a backend raises is what is to be told
        return broken(check, e)
    took = round((time.perf_counter() - started) * 1000, 2)
    return Finding(check, Verdict.OK, detail, facts={**facts, "ms": took})


def broken(check: str, error: BaseException) -> Finding:
    """A check that ended with an error."""
    root = cause(error)
    trace = "".join(traceback.format_exception(root)).rstrip()
    if isinstance(root, PrismError):
        return Finding(check, Verdict.BROKEN, root.message, facts=root.as_json(), trace=trace)
    if isinstance(root, TimeoutError):
        return Finding(
            check,
            Verdict.BROKEN,
            f"no answer within {PATIENCE:.0f} s",
            "Check that what its URL names is running and reachable from here.",
        )
    return Finding(
        check,
        Verdict.BROKEN,
        f"unexpected {type(root).__name__}: {root}",
        "This is a bug of the plugin that serves it; please report it.",
        trace=trace,
    )


def fault(problem: Problem, *, verbose: bool) -> dict[str, str]:
    """What is wrong with a plugin, for programs."""
    told = {
        "plugin": problem.origin.plugin,
        "distribution": problem.origin.distribution,
        "version": problem.origin.version,
        "summary": problem.summary,
    }
    return {**told, "trace": problem.trace} if verbose and problem.trace else told
