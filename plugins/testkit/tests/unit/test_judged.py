"""The kit rejects faulty plugins by the clauses that their fault breaks, and passes good ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prism_signals_testkit import (
    BusConformance,
    DirectoryConformance,
    StoreConformance,
    StrategyConformance,
)

pytest_plugins = ["pytester"]

RUN = """
import pytest
from {module} import {harness}
from prism_signals_testkit import {suite}

class TestIt({suite}):
    @pytest.fixture
    def harness(self):
        return {harness}({fault!r})
"""
AGREEMENT = "test_agrees_with_the_reference"

Faults = dict[str | None, list[str]]
# Every clause whose own scenario fails; the first is the one that the fault is about.
STORES: Faults = {
    None: [],
    "double_leases": ["S11"],
    "acks_twice": ["S22", "S27"],
    "forgets_order": ["S12", "S5", "S13", "S26"],
    "late_settles": ["S17", "S22", "S26"],
    "drops_on_nack": ["S18", "S12", "S13", "S15", "S31"],
    "counts_refusals": ["S2"],
    "ignores_keys": ["S7", "S2", "S8", "S29"],
    "crosses_projects": ["S25"],
    "moves_delivered": ["S19"],
    "reads_deliver": ["S24", "S1", "S26"],
    "never_redelivers": ["S14", "S15", "S16", "S17", "S18"],
    "forgets_confirmations": ["S20", "S19"],
}
DIRECTORIES: Faults = {
    None: [],
    "trusts_heartbeats": ["D7", "D8"],
    "sweeps_twice": ["D11"],
    "revives_released": ["D4", "D10"],
    "shows_tokens": ["D15"],
    "believes_any_token": ["D5"],
}
BUSES: Faults = {
    None: [],
    "waits_for_receivers": ["B1", "B7"],
    "rings_everybody": ["B3", "B1"],
    "crosses_projects": ["B3"],
    "leaves_sockets": ["B6"],
    "subscribes_late": ["B7", "B1", "B2", "B3", "B6"],
    "never_polls": ["B8"],
}
STRATEGIES: Faults = {
    None: [],
    "confirms": ["T1"],
    "accepts_when_down": ["T3"],
    "swallows_cancellation": ["T4"],
    "blocks_the_loop": ["T5"],
    "shows_its_secret": ["T9"],
    "logs_its_secret": ["T9"],
    "doubles": ["T2", "T1", "T6", "T10"],
    "reorders": ["T6", "T2", "T4", "T7", "T13"],
    "plain_text": ["T7"],
    "cuts_silently": ["T8"],
    "cuts_unicode": ["T2"],
    "stays_down": ["T13", "T3"],
    "refuses_silently": ["T11"],
    "pushes_sometimes": ["T12"],
    "leaves_things": ["T10"],
    "defers_and_delivers": ["T3"],
}


def _broken(
    pytester: pytest.Pytester, suite: type[Any], module: str, harness: str, fault: str | None
) -> set[str]:
    """Run the kit in a pytest of its own; the clauses that fail."""
    pytester.syspathinsert(Path(__file__).parent)
    pytester.makepyfile(
        RUN.format(suite=suite.__name__, module=module, harness=harness, fault=fault)
    )
    run = pytester.inline_run("-q", "--tb=no", "-k", "asyncio", "-p", "no:cacheprovider")
    passed, _, failed = run.listoutcomes()
    assert passed
    broken: set[str] = set()
    for report in failed:
        name = report.nodeid.rpartition("::")[2].partition("[")[0]
        if name != AGREEMENT:
            broken |= set(getattr(suite, name).prism_clauses)
    return broken


@pytest.mark.parametrize("fault", STORES)
def test_stores(pytester: pytest.Pytester, fault: str | None) -> None:
    broken = _broken(pytester, StoreConformance, "faulty_stores", "FaultyStores", fault)
    assert broken == set(STORES[fault])


@pytest.mark.parametrize("fault", DIRECTORIES)
def test_directories(pytester: pytest.Pytester, fault: str | None) -> None:
    broken = _broken(pytester, DirectoryConformance, "faulty_backends", "FaultyDirectories", fault)
    assert broken == set(DIRECTORIES[fault])


@pytest.mark.parametrize("fault", BUSES)
def test_buses(pytester: pytest.Pytester, fault: str | None) -> None:
    broken = _broken(pytester, BusConformance, "faulty_backends", "FaultyBuses", fault)
    assert broken == set(BUSES[fault])


@pytest.mark.parametrize("fault", STRATEGIES)
def test_strategies(pytester: pytest.Pytester, fault: str | None) -> None:
    broken = _broken(pytester, StrategyConformance, "faulty_strategies", "LetterBoxes", fault)
    assert broken == set(STRATEGIES[fault])
