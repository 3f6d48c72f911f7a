"""The strategy: one way to put a signal in front of a model. Interface of SPEC-034 §7.1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from logging import Logger
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from ..clock import Clock
from ..model.outcome import DeliveryOutcome
from ..model.session import Registration
from ..model.signal import Signal
from .capabilities import HandshakeNeeds

C = TypeVar("C")

API_VERSION = 1
"""The plugin contract that this core speaks."""


class SignalDeliveryStrategy(ABC):
    """Puts signals in front of one session's model.

    Clauses:
        T1: `deliver` tells the truth: `CONFIRMED` only where the signal is in the model's context,
            `HANDED_OVER` only where the surface took it, `DEFERRED` only where it was certainly not
            shown. What a bool means: True is `CONFIRMED`, False is `DEFERRED`.
        T2: what it answers with `CONFIRMED` or `HANDED_OVER` is at the far end, once, whole and
            unchanged in any Unicode.
        T3: with the far end down it answers `DEFERRED` or `UNKNOWN`, or raises; never a success.
        T4: it may be cancelled at every await, ends then at once, and works again afterwards.
        T5: it does not block the event loop.
        T6: signals delivered one after the other arrive in that order.
        T7: peer text cannot forge the rendering: no markup, control sequence or provenance.
        T8: a signal over its size limit is refused or shortened with a hint, never cut silently.
        T9: no secret of its settings is in its `repr`, its errors or its logs.
        T10: after its context ends nothing of it is left, and it can be opened again.
        T11: an undeliverable signal is `REFUSED` with a reason.
        T12: `supports_push` answers the same for the life of the strategy.
        T13: it recovers by itself when the far end comes back.
    """

    @abstractmethod
    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Put the signal in front of the model; say truthfully how far it got.

        The engine sets a deadline; when it ends, this call is cancelled and counts as `UNKNOWN`.
        An exception is a bug: it also counts as `UNKNOWN`, is logged, and opens a circuit.
        """

    @abstractmethod
    def supports_push(self) -> bool:
        """Whether it can deliver without waiting for a verb call of the agent."""


class StrategyContext(Protocol):
    """All that a strategy gets to see of its surroundings."""

    @property
    def registration(self) -> Registration:
        """The session it delivers to; `route` and what follows from it are not settled yet."""
        ...

    @property
    def clock(self) -> Clock:
        """The time."""
        ...

    @property
    def logger(self) -> Logger:
        """Where to log."""
        ...

    @property
    def redelivered(self) -> bool:
        """Whether the signal being delivered was or may have been shown before."""
        ...

    def offered(self, capability: Callable[..., C]) -> C | None:
        """What the gateway offers of this type now, or None; for example `ClientNotifications`.

        (The parameter is not declared `type[C]`, because type checkers refuse a Protocol there.)
        """
        ...

    def ready(self) -> None:
        """The surface can take signals again: what was deferred is due at once."""
        ...


OpenStrategy = Callable[[Any, StrategyContext], AbstractAsyncContextManager[SignalDeliveryStrategy]]


@dataclass(frozen=True, slots=True)
class StrategyPlugin:
    """Describes a strategy that can be opened; what the hook `prism_strategies` gives.

    Attributes:
        name: Unique; also the entry point's name and the delivery method in the store.
        surfaces: The surfaces it serves; `*` is every surface.
        open: `open(settings, context)` gives an async context manager around the strategy. It
            raises `StrategyUnavailable` where its surface cannot be reached from here.
        rank: Its place in the route of a surface, lowest first; strategies that do not push come
            last whatever their rank.
        max_chars: The longest text it can show, or None.
        wakes: Delivering starts a turn in an idle session, and the strategy cannot avoid that.
        retries: Least waits between attempts whose end is unknown; empty leaves it to the engine.
        settings: Model of its own settings, read from `PRISM_<NAME>_*`, or None.
        handshake: What it needs from the MCP handshake, or None.
        api_version: The contract it was written for.
        strategy: The class, for those who ask for it by SPEC-034's name, or None.
    """

    name: str
    surfaces: tuple[str, ...]
    open: OpenStrategy
    rank: int = 500
    max_chars: int | None = None
    wakes: bool = False
    retries: tuple[timedelta, ...] = ()
    settings: type[BaseModel] | None = None
    handshake: HandshakeNeeds | None = None
    api_version: int = API_VERSION
    strategy: type[SignalDeliveryStrategy] | None = field(default=None, compare=False)

    def serves(self, surface: str | None) -> bool:
        """Whether it is a candidate for this surface."""
        return "*" in self.surfaces or (surface is not None and surface in self.surfaces)
