"""The conformance class for stores."""

from __future__ import annotations

from .store_agreement import StoreAgreement
from .store_leasing import StoreLeasing
from .store_posting import StorePosting
from .store_progress import StoreProgress
from .store_reading import StoreReading


class StoreConformance(StorePosting, StoreLeasing, StoreProgress, StoreReading, StoreAgreement):
    """Every clause of `Store`, shown on the store that the fixture `harness` opens.

    The harness is a `StoreHarness`: one empty store for each test.
    """


__all__ = ["StoreConformance"]
