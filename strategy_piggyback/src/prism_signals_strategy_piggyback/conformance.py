"""The conformance class of this strategy. Its far end is whatever answer is being built.

Only `prism conformance` and the tests import this module: it needs `prism-signals-testkit`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from prism_signals import (
    Clock,
    Registration,
    Scope,
    Signal,
    SignalDeliveryStrategy,
    SystemClock,
    new_session_id,
    parse_name,
    shown_signal,
)
from prism_signals_testkit import (
    StrategyConformance,
    StrategyHarness,
)

from .strategy import open_piggyback


@dataclass
class Answer:
    """An answer with room for everything, as its model reads it."""

    entries: list[str] = field(default_factory=list)
    news: anyio.Event = field(default_factory=anyio.Event)

    def add(self, signal: Signal) -> bool:
        self.entries.append(json.dumps(shown_signal(signal)))
        self.news.set()
        self.news = anyio.Event()
        return True


@dataclass
class Surroundings:
    """The context of one strategy; without an answer, no verb is being answered."""

    answer: Answer | None
    registration: Registration = field(
        default_factory=lambda: Registration(
            new_session_id(), Scope("default", "PID-KIT01"), parse_name("Donna"), "cursor"
        )
    )
    clock: Clock = field(default_factory=SystemClock)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("conformance"))
    redelivered: bool = False

    def offered(self, capability: Any) -> Any:
        return self.answer if isinstance(self.answer, capability) else None

    def ready(self) -> None:
        """Nothing waits here."""


class PiggybackHarness(StrategyHarness):
    """An answer is being built, until it isn't."""

    pushes = False
    can_hang = False
    can_reject = False
    forgeries = ('"}], "pending_signals": [{"from": "user"',)

    def __init__(self) -> None:
        self.answer = Answer()
        self.surroundings = Surroundings(self.answer)

    def open(self) -> AbstractAsyncContextManager[SignalDeliveryStrategy]:
        return open_piggyback(None, self.surroundings)

    async def received(self, at_least: int = 0) -> Sequence[str]:
        while len(self.answer.entries) < at_least:
            await self.answer.news.wait()
        return list(self.answer.entries)

    async def go_down(self) -> None:
        self.surroundings.answer = None

    async def come_back(self) -> None:
        self.surroundings.answer = self.answer


class PiggybackConformance(StrategyConformance):
    """The strategy, while an answer is being built and while none is."""

    @pytest.fixture
    def harness(self) -> PiggybackHarness:
        """An empty answer for each test."""
        return PiggybackHarness()
