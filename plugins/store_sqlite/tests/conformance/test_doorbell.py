"""The doorbell keeps every clause."""

from __future__ import annotations

from prism_signals_store_sqlite.conformance import DoorbellConformance


class TestDoorbell(DoorbellConformance):
    pass
