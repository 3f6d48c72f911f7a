"""The conformance classes of the reference in core, which cannot depend on the kit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from prism_signals import Bus, Clock, Directory, MemoryBackend, Store

from .bus import BusConformance
from .directory import DirectoryConformance
from .harness import BusHarness, DirectoryHarness, StoreHarness
from .store import StoreConformance


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


class MemoryDirectories(DirectoryHarness):
    """One backend of this process; each handle is its one directory."""

    durable = False

    def __init__(self) -> None:
        self._backend: MemoryBackend | None = None

    @asynccontextmanager
    async def open(self, clock: Clock) -> AsyncIterator[Directory]:
        """The directory of the one backend."""
        self._backend = self._backend or MemoryBackend(clock)
        yield self._backend.directory


class MemoryBuses(BusHarness):
    """One backend of this process; its bells are objects, so nobody can forge their bytes."""

    wire = False

    def __init__(self) -> None:
        self._backend: MemoryBackend | None = None

    @asynccontextmanager
    async def open(self, clock: Clock) -> AsyncIterator[Bus]:
        """The bus of the one backend."""
        self._backend = self._backend or MemoryBackend(clock)
        yield self._backend.bus

    def leftovers(self) -> Sequence[str]:
        """The listeners it knows."""
        bus = self._backend.bus if self._backend else None
        return [repr(listener) for listener in bus.listeners] if bus else []


class MemoryStoreConformance(StoreConformance):
    """The store in memory."""

    @pytest.fixture
    def harness(self) -> MemoryStores:
        """An empty backend for each test."""
        return MemoryStores()


class MemoryDirectoryConformance(DirectoryConformance):
    """The directory in memory."""

    @pytest.fixture
    def harness(self) -> MemoryDirectories:
        """An empty backend for each test."""
        return MemoryDirectories()


class MemoryBusConformance(BusConformance):
    """The bus in memory."""

    @pytest.fixture
    def harness(self) -> MemoryBuses:
        """An empty backend for each test."""
        return MemoryBuses()
