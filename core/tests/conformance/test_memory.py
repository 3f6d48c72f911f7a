"""The in-memory reference keeps every clause."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from prism_signals import Clock, MemoryBackend, Store
from prism_signals_testkit import StoreConformance, StoreHarness


class MemoryStores(StoreHarness):
    """One backend of this process; each handle is its one store."""

    durable = False

    def __init__(self) -> None:
        self._backend: MemoryBackend | None = None

    @asynccontextmanager
    async def open(self, clock: Clock) -> AsyncIterator[Store]:
        """The store of the one backend."""
        self._backend = self._backend or MemoryBackend(clock)
        yield self._backend.store


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def harness(self) -> MemoryStores:
        """An empty backend for each test."""
        return MemoryStores()
