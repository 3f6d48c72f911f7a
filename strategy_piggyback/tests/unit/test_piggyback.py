"""The strategy beside an answer that is being built, and without one."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio

import prism_signals_strategy_piggyback as plugin
from prism_signals import (
    HANDED_OVER,
    Clock,
    DeliveryOutcome,
    OutcomeKind,
    Registration,
    Registry,
    Scope,
    Signal,
    SystemClock,
    new_session_id,
    new_signal_id,
    parse_name,
)
from prism_signals_strategy_piggyback import PiggybackStrategy
from prism_signals_strategy_piggyback.strategy import open_piggyback


@dataclass
class Answer:
    """An answer with room for so many signals."""

    room: int
    signals: list[Signal] = field(default_factory=list)

    def add(self, signal: Signal) -> bool:
        if len(self.signals) >= self.room:
            return False
        self.signals.append(signal)
        return True


@dataclass
class Surroundings:
    """The context of one strategy."""

    answer: Answer | None = None
    registration: Registration = field(
        default_factory=lambda: Registration(
            new_session_id(), Scope("default", "PID-PGR01"), parse_name("Lola"), "claude_desktop"
        )
    )
    clock: Clock = field(default_factory=SystemClock)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("test"))
    redelivered: bool = False

    def offered(self, capability: Any) -> Any:
        return self.answer if isinstance(self.answer, capability) else None

    def ready(self) -> None:
        """Nothing waits here."""


def signal() -> Signal:
    own = new_signal_id()
    return Signal(
        own,
        "default",
        "PID-PGR01",
        "Donna",
        new_session_id(),
        "Lola",
        "Answer",
        {"content": "Yes."},
        datetime(2026, 11, 30, tzinfo=UTC),
        own,
    )


def deliver(context: Surroundings, *signals: Signal) -> list[DeliveryOutcome]:
    async def run() -> list[DeliveryOutcome]:
        with anyio.fail_after(5):
            async with open_piggyback(None, context) as strategy:
                return [await strategy.deliver(s) for s in signals]

    return anyio.run(run)


def test_without_an_answer_it_is_certainly_not_shown() -> None:
    [outcome] = deliver(Surroundings(), signal())
    assert outcome.kind is OutcomeKind.DEFERRED


def test_an_answer_takes_signals_in_order_until_it_is_full() -> None:
    first, second, third = signal(), signal(), signal()
    context = Surroundings(Answer(2))
    outcomes = deliver(context, first, second, third)
    assert outcomes[:2] == [HANDED_OVER, HANDED_OVER]
    assert outcomes[2].kind is OutcomeKind.DEFERRED
    assert context.answer is not None
    assert context.answer.signals == [first, second]


def test_it_keeps_nothing_between_answers() -> None:
    context = Surroundings()
    deliver(context, signal())
    context.answer = Answer(5)
    assert deliver(context) == []
    assert context.answer.signals == []


def test_is_the_floor_of_every_surface() -> None:
    [found] = Registry.of(plugin).strategies
    described = found.plugin
    assert described.name == "piggyback"
    assert described.serves(None)
    assert described.serves("anything")
    assert described.strategy is PiggybackStrategy
    assert not PiggybackStrategy(Surroundings()).supports_push()
