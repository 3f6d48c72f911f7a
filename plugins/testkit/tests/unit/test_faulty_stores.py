"""The kit rejects faulty stores, each by the clauses that its fault breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_signals_testkit import StoreConformance

pytest_plugins = ["pytester"]

RUN = """
import pytest
from faulty_stores import FaultyStores
from prism_signals_testkit import StoreConformance

class TestStore(StoreConformance):
    @pytest.fixture
    def harness(self):
        return FaultyStores({fault!r})
"""
AGREEMENT = "test_agrees_with_the_reference"

# Every clause whose own scenario fails; the first is the one that the fault is about.
EXPECTED: dict[str | None, list[str]] = {
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


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_is_rejected_by_its_clauses(
    pytester: pytest.Pytester, fault: str | None
) -> None:
    pytester.syspathinsert(Path(__file__).parent)
    pytester.makepyfile(RUN.format(fault=fault))
    run = pytester.inline_run("-q", "--tb=no", "-k", "asyncio", "-p", "no:cacheprovider")
    passed, _, failed = run.listoutcomes()
    broken: set[str] = set()
    for report in failed:
        name = report.nodeid.rpartition("::")[2].partition("[")[0]
        if name != AGREEMENT:
            broken |= set(getattr(StoreConformance, name).prism_clauses)
    assert passed
    assert broken == set(EXPECTED[fault])
