"""Runs each opened strategy in a task of its own, so that none can take a neighbour down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from logging import Logger
from typing import Any, TypeVar, cast

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectSendStream

from ..clock import Clock
from ..contract.strategy import SignalDeliveryStrategy, StrategyPlugin
from ..errors import PrismError, StrategyUnavailable, root_cause
from ..model.outcome import DeliveryOutcome, deferred, unknown
from ..model.session import Registration
from ..model.signal import Signal
from ..settings import load_plugin_settings

C = TypeVar("C")

_GRACE = 1.0  # seconds a cancelled strategy gets to end before it counts as stuck
_RESTART_FIRST, _RESTART_LONGEST = 1.0, 60.0  # seconds


class StrategyState(StrEnum):
    """Where a strategy of a route stands."""

    OPENING = "opening"
    TAKEN = "taken"
    FLOOR = "floor"
    SKIPPED = "skipped"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one delivery; `bug` says that the strategy raised or hung instead."""

    outcome: DeliveryOutcome
    bug: bool = False


class Offers:
    """The capabilities a gateway offers, by type; strategies look things up in it."""

    def __init__(self) -> None:
        self._offers: list[object] = []

    def add(self, capability: object) -> None:
        """Offer this from now on."""
        self._offers.append(capability)

    @contextmanager
    def during(self, capability: object) -> Iterator[None]:
        """Offer this while the context is open."""
        self._offers.append(capability)
        try:
            yield
        finally:
            self._offers.remove(capability)

    def find(self, kind: type[C]) -> C | None:
        """The capability of this kind that was offered last, or None."""
        return next((c for c in reversed(self._offers) if isinstance(c, kind)), None)


@dataclass(slots=True)
class Context:
    """Implements `StrategyContext` for one strategy of one session."""

    registration: Registration
    clock: Clock
    logger: Logger
    offers: Offers
    on_ready: Callable[[], None]
    redelivered: bool = False

    def offered(self, capability: Callable[..., C]) -> C | None:
        """What the gateway offers of this type now, or None."""
        return self.offers.find(cast("type[C]", capability))

    def ready(self) -> None:
        """The surface can take signals again."""
        self.on_ready()


@dataclass(slots=True)
class _Request:
    signal: Signal
    redelivered: bool
    deadline: float
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    started: bool = False
    answer: Answer | None = None


class StrategyTask:
    """One strategy of a route, opened, kept open, and asked to deliver."""

    def __init__(
        self, plugin: StrategyPlugin, context: Context, changed: Callable[[StrategyTask], None]
    ) -> None:
        self.plugin = plugin
        self.state = StrategyState.OPENING
        self.reason = ""
        self.push: bool | None = None  # not known before it has opened once
        self.begun = False  # whether the delivery asked for last was begun
        self._context = context
        self._changed = changed
        self._log = context.logger
        self._retry = anyio.Event()
        self._send: MemoryObjectSendStream[_Request] | None = None
        self._told: set[str] = set()
        self._report: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """The strategy's name."""
        return self.plugin.name

    @property
    def usable(self) -> bool:
        """Whether it is open."""
        return self.state in (StrategyState.TAKEN, StrategyState.FLOOR)

    def as_dict(self) -> Mapping[str, str]:
        """Its entry in a status answer."""
        return {"strategy": self.name, "state": self.state.value, "reason": self.reason}

    def reconsider(self) -> None:
        """Something changed outside: if it was skipped, try to open it again now."""
        self._retry.set()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Keep it open until cancelled; a crash is logged and followed by a pause and a new try."""
        wait = _RESTART_FIRST
        self._report = task_status.started
        while True:
            self._retry = anyio.Event()
            try:
                await self._open_and_serve()
            except (Exception, SystemExit) as e:  # noqa: BLE001 - whatever a strategy raises
                wait = self._closed(e, wait)
            self._reported()
            with anyio.move_on_after(wait):
                await self._retry.wait()
            wait = min(wait * 2, _RESTART_LONGEST)

    async def deliver(self, signal: Signal, *, redelivered: bool, deadline: timedelta) -> Answer:
        """Have it deliver, within the deadline; whatever it does, this answers."""
        request = _Request(signal, redelivered, deadline.total_seconds())
        if self._send is None or not self.usable:
            return Answer(deferred(f"{self.name} is not open: {self.reason or self.state}"))
        try:
            self._send.send_nowait(request)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return Answer(deferred(f"{self.name} has just closed"))
        except anyio.WouldBlock:
            return Answer(deferred(f"{self.name} is still busy with an earlier signal"))
        try:
            with anyio.move_on_after(request.deadline + _GRACE):
                await request.done.wait()
        finally:
            self.begun = request.started
            request.scope.cancel()
        if request.answer is not None:
            return request.answer
        if not request.started:
            return Answer(deferred(f"{self.name} did not begin within the deadline"))
        self._set(StrategyState.CRASHED, "it did not end after its deadline")  # until it does
        return Answer(unknown(f"{self.name} did not end after its deadline"), bug=True)

    async def _open_and_serve(self) -> None:
        settings: Any = None
        if self.plugin.settings is not None:
            settings = load_plugin_settings(self.name, self.plugin.settings)
        async with self.plugin.open(settings, self._context) as strategy:
            self.push = bool(strategy.supports_push())
            self._send, requests = anyio.create_memory_object_stream[_Request](1)
            with self._send, requests:
                self._opened()
                self._reported()
                async for request in requests:
                    if not request.scope.cancel_called:  # or its caller has given up meanwhile
                        await self._serve(strategy, request)

    def _closed(self, error: BaseException, wait: float) -> float:
        """It is not open any more: say why, and give the seconds until the next try."""
        cause = root_cause(error)
        if isinstance(cause, StrategyUnavailable):
            self._set(StrategyState.SKIPPED, str(cause))
            return _RESTART_LONGEST
        if isinstance(cause, PrismError):  # its settings: they do not change by waiting
            self._set(StrategyState.SKIPPED, str(cause))
            self._log.warning("strategy %s is left out: %s", self.name, cause)
            return math.inf
        self._set(StrategyState.CRASHED, f"{type(cause).__name__}: {cause}")
        self._tell(f"strategy {self.name} crashed: {type(cause).__name__}", error)
        return wait

    def _reported(self) -> None:
        """The first try to open it has ended, well or not: its starter may go on."""
        report, self._report = self._report, None
        if report is not None:
            report()

    async def _serve(self, strategy: SignalDeliveryStrategy, request: _Request) -> None:
        try:
            with request.scope:
                request.started = True
                self._context.redelivered = request.redelivered
                with anyio.move_on_after(request.deadline) as limit:
                    answer = DeliveryOutcome.of(await strategy.deliver(request.signal))
                    request.answer = Answer(answer)
                if limit.cancelled_caught:
                    late = unknown(f"no end within {request.deadline:g} s")
                    request.answer = Answer(late, bug=True)
        except (Exception, SystemExit) as e:  # noqa: BLE001 - whatever a strategy raises
            request.answer = self._raised(e)
        except anyio.get_cancelled_exc_class() as e:
            await anyio.lowlevel.checkpoint_if_cancelled()  # a cancellation of ours goes on here
            request.answer = self._raised(e)
        finally:
            if request.answer is None:
                request.answer = Answer(unknown("cancelled"))
            request.done.set()
            if self.state is StrategyState.CRASHED:  # it was taken for stuck
                self._opened()

    def _raised(self, error: BaseException) -> Answer:
        kind = type(error).__name__
        self._tell(f"strategy {self.name} raised {kind} in deliver()", error)
        return Answer(unknown(f"{kind}: {error}"), bug=True)

    def _opened(self) -> None:
        self._set(StrategyState.TAKEN if self.push else StrategyState.FLOOR, "")

    def _set(self, state: StrategyState, reason: str) -> None:
        self.state, self.reason = state, reason
        self._changed(self)

    def _tell(self, what: str, error: BaseException) -> None:
        if what not in self._told:  # once; the circuit and the status say the rest
            self._told.add(what)
            self._log.error("%s", what, exc_info=error)
