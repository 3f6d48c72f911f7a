"""The bus: a doorbell. It says "look" and never "this is what there is"."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from ..model.ids import SessionId, SignalId
from ..model.names import Scope
from ..model.signal import Signal


class BellKind(StrEnum):
    """Why it rings."""

    SIGNAL = "signal"
    """There may be something to lease."""
    SETTLED = "settled"
    """A signal you sent has settled."""


@dataclass(frozen=True, slots=True)
class Bell:
    """One ring.

    Attributes:
        kind: Why.
        scope: Tenant and project.
        sessions: Whom to ring.
        signal_id: About which signal, as a hint.
        signal: The signal, for buses whose wire format carries it (SPEC-034 §5.3); only a hint.
        broadcast: True for a signal to `*`: a bus with a project channel uses that.
    """

    kind: BellKind
    scope: Scope
    sessions: tuple[SessionId, ...] = ()
    signal_id: SignalId | None = None
    signal: Signal | None = None
    broadcast: bool = False


class Bus(Protocol):
    """Rings sessions. Losing, doubling or reordering a ring costs time, never a signal.

    Clauses:
        B1: `ring` never waits for a receiver and never raises for one that is gone, slow or full.
        B2: a session that listens hears a ring addressed to it, with kind and signal id, usually
            within milliseconds.
        B3: a ring reaches the sessions it names, or for a broadcast the project's; no others.
        B4: a slow listener loses no wake-up: when its queue is full, at least one ring stays.
        B5: what arrives malformed or forged is dropped and changes nothing.
        B6: after `listen` ends nothing of it is left: no socket, no file, no subscription.
        B7: `listen` is ready when it is entered: a ring sent afterwards is heard.
        B8: `poll_interval` is positive: how often a listener should look without a ring.
    """

    @property
    def poll_interval(self) -> timedelta:
        """How long to wait at most before looking without a ring."""
        ...

    async def ring(self, bell: Bell) -> None:
        """Ring, without waiting for anybody."""
        ...

    def listen(
        self, scope: Scope, session_id: SessionId
    ) -> AbstractAsyncContextManager[AsyncIterator[Bell]]:
        """Hear the rings for one session while the context is open."""
        ...
