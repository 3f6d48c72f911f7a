"""From the records of a run to a verdict on a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_signals import Registry

from .clause import clauses_of
from .installed import Installed, suites
from .report import CONTRACTS
from .running import Run, run

CONTRACT_NAMES = ("store", "directory", "bus", "strategy", "plugin")
"""The contracts in the order of `CONTRACTS`, as a report and the reference pages name them."""
_BROUGHT = {
    "store": "stores",
    "directory": "directories",
    "bus": "buses",
    "strategy": "strategies",
}
_WORST_FIRST = ("failed", "xfailed", "passed", "skipped")


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """How a plugin stands to one clause.

    Attributes:
        status: `passed`, `failed`, `xfailed` (the author says why) or `skipped` (the harness does
            not declare what it needs).
        reasons: Of what did not pass.
    """

    status: str
    reasons: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As a JSON-ready dict."""
        return {"status": self.status, **({"reasons": list(self.reasons)} if self.reasons else {})}


@dataclass(frozen=True, slots=True)
class Report:
    """What the kit found about one plugin.

    Attributes:
        installed: The plugin.
        contracts: The contracts whose clauses were run.
        unchecked: What else it brings, without a conformance class.
        loops: The event loops on which tests passed.
        clauses: Each clause of these contracts.
        trouble: What kept tests from running.
        output: What pytest printed.
    """

    installed: Installed
    contracts: tuple[str, ...]
    unchecked: tuple[str, ...]
    loops: tuple[str, ...]
    clauses: Mapping[str, ClauseResult]
    trouble: tuple[str, ...]
    output: str

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, or `incomplete` where something of it has no conformance class."""
        if self.trouble or any(c.status == "failed" for c in self.clauses.values()):
            return "failed"
        return "incomplete" if self.unchecked else "passed"

    def as_json(self) -> dict[str, Any]:
        """As a JSON-ready dict."""
        return {
            "plugin": self.installed.plugin,
            "distribution": self.installed.distribution,
            "version": self.installed.version,
            "harness": self.installed.harness,
            "contracts": list(self.contracts),
            "unchecked": list(self.unchecked),
            "event_loops": list(self.loops),
            "clauses": {number: c.as_json() for number, c in self.clauses.items()},
            "trouble": list(self.trouble),
            "verdict": self.verdict,
        }


def judge(plugin: Installed) -> Report:
    """Run the kit against an installed plugin."""
    contracts, trouble = _contracts(plugin)
    done = run(plugin.plugin)
    return weigh(plugin, contracts, _brought(plugin), done, trouble)


def weigh(
    plugin: Installed,
    contracts: Sequence[str],
    brought: Iterable[str],
    done: Run,
    trouble: Sequence[str] = (),
) -> Report:
    """The report on what a run wrote down.

    Args:
        plugin: The plugin.
        contracts: The contracts that its conformance classes cover.
        brought: The contracts that it should keep.
        done: The run.
        trouble: What is already known to be wrong.
    """
    tests = [r for r in done.records if "test" in r]
    found = [*trouble, *(r["trouble"] for r in done.records if "trouble" in r)]
    found += [f"{r['test']}: {r['reason']}" for r in tests if _is_trouble(r)]
    by_name = dict(zip(CONTRACT_NAMES, CONTRACTS, strict=True))
    wanted = [number for name in contracts for number in clauses_of(by_name[name])]
    return Report(
        plugin,
        tuple(contracts),
        tuple(b for b in brought if b not in contracts),
        tuple(sorted({r["loop"] for r in tests if r["loop"] and r["outcome"] == "passed"})),
        {number: _result([r for r in tests if number in r["clauses"]]) for number in wanted},
        tuple(dict.fromkeys(found)),
        done.output,
    )


def _is_trouble(record: Mapping[str, Any]) -> bool:
    return not record["clauses"] and record["outcome"] == "failed"


def _result(records: Sequence[Mapping[str, Any]]) -> ClauseResult:
    """One clause. A test that passed on one event loop and cannot run on another has passed."""
    if not records:
        return ClauseResult("failed", ("no test of it has run",))
    worst: dict[str, Mapping[str, Any]] = {}
    for r in records:
        kept = worst.setdefault(r["test"], r)
        if _rank(r) < _rank(kept):
            worst[r["test"]] = r
    status = _WORST_FIRST[min(_rank(r) for r in worst.values())]
    reasons = [
        r["reason"] if r["outcome"] == "skipped" else f"{r['test']}: {r['reason']}"
        for r in worst.values()
        if r["outcome"] != "passed"
    ]
    return ClauseResult(status, tuple(dict.fromkeys(reasons)))


def _rank(record: Mapping[str, Any]) -> int:
    return _WORST_FIRST.index(record["outcome"])


def _contracts(plugin: Installed) -> tuple[list[str], list[str]]:
    """The contracts that its conformance classes cover, and what kept them from being loaded."""
    try:
        classes = suites(plugin.plugin)
    except (Exception, SystemExit) as e:  # noqa: BLE001 - whatever a plugin's import raises
        told = f"its conformance classes cannot be loaded: {type(e).__name__}: {e}"
        return ["plugin"], [told]
    kinds = dict(zip(CONTRACT_NAMES, CONTRACTS.values(), strict=True))
    covered = {name for name, kind in kinds.items() if any(issubclass(c, kind) for c in classes)}
    return ["plugin", *(n for n in CONTRACT_NAMES if n in covered - {"plugin"})], []


def _brought(plugin: Installed) -> list[str]:
    registry = Registry.discover()
    return [
        name
        for name, kind in _BROUGHT.items()
        if any(f.origin.plugin == plugin.plugin for f in getattr(registry, kind))
    ]


__all__ = ["CONTRACT_NAMES", "ClauseResult", "Report", "judge", "weigh"]
