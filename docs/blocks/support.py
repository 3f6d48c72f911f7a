"""The support matrix, from the reports of `prism conformance --all --json` that are committed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .contracts import NAMES, rules
from .markdown import code, prose, sentence, table

FILE = Path(__file__).resolve().parent.parent / "reference" / "support-matrix.json"
_SHOWN = {"passed": "yes", "failed": "no", "xfailed": "not yet", "skipped": "–"}
_END = re.compile(r"[:;]|\. ")
"""Where the first part of a rule ends; the pages of the contracts have the whole."""
_TITLES = {
    "store": "Stores",
    "directory": "Directories",
    "bus": "Buses",
    "strategy": "Strategies",
    "plugin": "Plugins",
}


def reports() -> list[dict[str, Any]]:
    """The committed reports, one for each plugin of this workspace."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["reports"]
    return found


def summary() -> str:
    """One line for each plugin."""
    rows = [
        (
            code(r["plugin"]),
            r["distribution"],
            ", ".join(r["contracts"]),
            ", ".join(r["event_loops"]) or "–",
            f"{_count(r, 'passed')} of {len(r['clauses'])}",
            r["verdict"],
        )
        for r in reports()
    ]
    head = ("Plugin", "Distribution", "Contracts", "Event loops", "Clauses shown", "Verdict")
    return table(head, rows)


def matrix() -> str:
    """A table for each contract: its clauses, and how each plugin stands to them."""
    parts = []
    for name in NAMES:
        shown = [r for r in reports() if name in r["contracts"]]
        if shown:
            parts.append(f"## {_TITLES[name]}\n\n{_clauses(name, shown)}")
    return "\n\n".join(parts)


def reasons() -> str:
    """What was not shown, and why."""
    rows = [
        (code(r["plugin"]), number, "; ".join(sentence(why) for why in result["reasons"]))
        for r in reports()
        for number, result in r["clauses"].items()
        if result.get("reasons")
    ]
    return table(("Plugin", "Clause", "Why"), rows)


def _clauses(name: str, shown: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            number,
            prose(_END.split(text)[0].rstrip(".")),
            *(_cell(r["clauses"][number]) for r in shown),
        )
        for number, text in rules(name).items()
    ]
    return table(("Clause", "Rule, in short", *(code(r["plugin"]) for r in shown)), rows)


def _cell(result: Mapping[str, Any]) -> str:
    partly = result["status"] == "passed" and result.get("reasons")
    return "in part" if partly else _SHOWN[result["status"]]


def _count(report: Mapping[str, Any], status: str) -> int:
    return sum(c["status"] == status for c in report["clauses"].values())
