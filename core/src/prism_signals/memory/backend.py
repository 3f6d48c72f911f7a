"""The reference backend: store, directory and bus of one process, in memory."""

from __future__ import annotations

from ..clock import Clock, SystemClock
from .bus import MemoryBus
from .directory import MemoryDirectory
from .store import MemoryStore


class MemoryBackend:
    """What several components of one process share. Everything is gone when it is.

    Its code is the contract's meaning written plainly: every other backend is compared with it.

    Attributes:
        clock: The time its deadlines are judged by.
        store: The store.
        directory: The directory.
        bus: The bus.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.store = MemoryStore(self.clock)
        self.directory = MemoryDirectory(self.clock)
        self.bus = MemoryBus()
