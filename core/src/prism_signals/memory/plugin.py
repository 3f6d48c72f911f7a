"""Registers the scheme `memory` for stores, directories and buses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ..clock import Clock
from ..contract.bus import Bus
from ..contract.descriptors import BackendURL, BusPlugin, DirectoryPlugin, StorePlugin
from ..contract.directory import Directory
from ..contract.store import Store
from ..hookspecs import hookimpl

if TYPE_CHECKING:
    from .backend import MemoryBackend


class MemoryPlugin:
    """Serves `memory:NAME`: whatever one process opens under one name is one backend.

    The names live in this object, not in the module, so that a test which makes a plugin of its own
    shares nothing with another. They are held weakly: a backend lives for as long as its store,
    directory or bus is open somewhere, and a later opening of the same name starts empty. The clock
    is that of the first opening.
    """

    def __init__(self) -> None:
        self._backends: WeakValueDictionary[str, MemoryBackend] = WeakValueDictionary()

    @hookimpl
    def prism_stores(self) -> Sequence[StorePlugin]:
        """The store `memory`."""
        return [StorePlugin("memory", ("memory",), self._open_store)]

    @hookimpl
    def prism_directories(self) -> Sequence[DirectoryPlugin]:
        """The directory `memory`."""
        return [DirectoryPlugin("memory", ("memory",), self._open_directory)]

    @hookimpl
    def prism_buses(self) -> Sequence[BusPlugin]:
        """The bus `memory`."""
        return [BusPlugin("memory", ("memory",), self._open_bus)]

    def _backend(self, url: BackendURL, clock: Clock) -> MemoryBackend:
        from .backend import MemoryBackend  # discovery is paid by everyone, this by its users

        name = url.text.partition(":")[2]
        backend = self._backends.get(name)
        if backend is None:
            backend = self._backends[name] = MemoryBackend(clock)
        return backend

    @asynccontextmanager
    async def _open_store(self, url: BackendURL, clock: Clock) -> AsyncIterator[Store]:
        backend = self._backend(url, clock)
        yield backend.store

    @asynccontextmanager
    async def _open_directory(self, url: BackendURL, clock: Clock) -> AsyncIterator[Directory]:
        backend = self._backend(url, clock)
        yield backend.directory

    @asynccontextmanager
    async def _open_bus(self, url: BackendURL, clock: Clock) -> AsyncIterator[Bus]:
        backend = self._backend(url, clock)
        yield backend.bus


plugin = MemoryPlugin()
"""What the entry point names: one object for every registry of this process."""
