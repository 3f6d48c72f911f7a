"""Which tests show which clause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism_signals import Bus, Directory, SignalDeliveryStrategy, Store

from .bus import BusConformance
from .clause import tests_of
from .directory import DirectoryConformance
from .plugin import PluginConformance
from .store import StoreConformance
from .strategy import StrategyConformance

CONTRACTS: Mapping[type[Any], type[Any]] = {
    Store: StoreConformance,
    Directory: DirectoryConformance,
    Bus: BusConformance,
    SignalDeliveryStrategy: StrategyConformance,
    PluginConformance: PluginConformance,
}
"""Each contract, by whose docstring `clauses_of` lists its clauses, and its conformance class."""


def clauses() -> dict[str, list[str]]:
    """Every clause that a test shows: its id, and the tests as `Class.test`, both sorted."""
    found: dict[str, list[str]] = {}
    for suite in CONTRACTS.values():
        for test, ids in tests_of(suite):
            for clause_id in ids:
                found.setdefault(clause_id, []).append(f"{suite.__name__}.{test}")
    return dict(sorted(found.items(), key=lambda item: (item[0][0], int(item[0][1:]))))
