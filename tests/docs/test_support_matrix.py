"""The support matrix says what the kit says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from docs.blocks.contracts import NAMES, rules
from docs.blocks.settings import OURS
from docs.blocks.support import FILE, reports
from prism_signals import Found, Registry
from prism_signals_testkit.installed import installed

AGAIN = "run 'prism conformance --all --json | python -m json.tool' and commit what it prints"


def test_every_plugin_of_the_workspace_is_in_it() -> None:
    ours = [i for i in installed() if i.distribution.startswith(OURS)]
    told = [(r["plugin"], r["distribution"], r["version"], r["harness"]) for r in reports()]
    assert told == [(i.plugin, i.distribution, i.version, i.harness) for i in ours], AGAIN


@pytest.mark.parametrize("report", reports(), ids=lambda r: str(r["plugin"]))
def test_a_report_has_the_clauses_of_today(report: dict[str, object]) -> None:
    contracts = report["contracts"]
    clauses = report["clauses"]
    assert isinstance(contracts, list)
    assert isinstance(clauses, dict)
    assert set(contracts) <= set(NAMES)
    assert list(clauses) == [number for name in contracts for number in rules(name)], AGAIN
    assert report["verdict"] == "passed"


def test_every_backend_and_strategy_was_tried() -> None:
    registry = Registry.discover()
    brought: dict[str, Sequence[Found[Any]]] = {
        "store": registry.stores,
        "directory": registry.directories,
        "bus": registry.buses,
        "strategy": registry.strategies,
    }
    for contract, found in brought.items():
        ours = {f.origin.plugin for f in found if f.origin.distribution.startswith(OURS)}
        assert {r["plugin"] for r in reports() if contract in r["contracts"]} == ours


@pytest.mark.timeout(120)
def test_the_reference_is_told_as_it_is_today() -> None:
    command = [sys.executable, "-m", "prism_signals_testkit", "memory", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (committed,) = (r for r in reports() if r["plugin"] == "memory")
    assert json.loads(done.stdout) == committed, AGAIN


def test_the_reports_are_written_for_people_to_compare() -> None:
    text = FILE.read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=4) + "\n", AGAIN
