"""Harnesses: what an author tells the kit about a store, a directory or a bus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Generic, TypeVar

from prism_signals import Bus, Clock, Directory, ManualClock, SessionId, Store

from .suite import Harness

P = TypeVar("P", covariant=True)


class BackendHarness(Harness, ABC, Generic[P]):
    """One backend that is empty when the harness is made; make one for each test.

    Attributes:
        shared: `open` may be called again while an earlier handle is open, and then gives another
            one on the same data, as another process would have it.
        durable: What was committed is still there for `reopen`.
    """

    shared: bool = True
    durable: bool = True

    @abstractmethod
    def open(self, clock: Clock) -> AbstractAsyncContextManager[P]:
        """A handle on the backend; its deadlines are judged by this clock."""

    def reopen(self, clock: Clock) -> AbstractAsyncContextManager[P]:
        """A handle on what a process left that crashed with its handle open."""
        return self.open(clock)

    def clock(self) -> ManualClock:
        """The clock of one scenario."""
        return ManualClock()

    def advance(self, clock: ManualClock, by: timedelta) -> None:
        """Let time pass; override it where the backend has a clock of its own."""
        clock.advance(by)


class StoreHarness(BackendHarness[Store]):
    """How to open the store under test."""


class DirectoryHarness(BackendHarness[Directory]):
    """How to open the directory under test.

    Attributes:
        local: It judges by the process's fingerprint whether a session of this machine lives.
    """

    local: bool = True


class BusHarness(BackendHarness[Bus]):
    """How to open the bus under test.

    Attributes:
        wire: Bells travel as bytes, so that `inject` can forge them.
    """

    wire: bool = True

    @abstractmethod
    def leftovers(self) -> Sequence[str]:
        """What exists of listeners just now, read past the bus: files, sockets, subscriptions."""

    async def inject(self, session_id: SessionId, data: bytes) -> None:
        """Put these bytes where that session's bells arrive, past the bus."""
        raise NotImplementedError("declare wire = False, or implement inject()")
