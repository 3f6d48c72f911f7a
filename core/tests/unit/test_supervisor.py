"""Each strategy in a task of its own: whatever one does, the answer is true and neighbours live."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from prism_signals import (
    CONFIRMED,
    DeliveryOutcome,
    Name,
    OutcomeKind,
    Registration,
    Scope,
    Signal,
    SignalDeliveryStrategy,
    StrategyContext,
    StrategyPlugin,
    StrategyUnavailable,
    SystemClock,
    new_session_id,
    new_signal_id,
)
from prism_signals.engine.supervisor import Context, Offers, StrategyState, StrategyTask

SOON = timedelta(seconds=5)
SHORT = timedelta(seconds=0.05)
Deliver = Callable[[Signal], Awaitable[Any]]

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Scripted(SignalDeliveryStrategy):
    def __init__(self, deliver: Deliver, *, push: bool = True) -> None:
        self._deliver, self._push = deliver, push

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        answer: DeliveryOutcome | bool = await self._deliver(signal)
        return answer

    def supports_push(self) -> bool:
        return self._push


def a_signal() -> Signal:
    sid = new_signal_id()
    return Signal(
        sid,
        "t",
        "P",
        "Lola",
        new_session_id(),
        "Donna",
        "inform",
        {"content": "x"},
        SystemClock().now(),
        sid,
    )


def a_task(
    opener: Callable[[Any, StrategyContext], Any], offers: Offers | None = None
) -> StrategyTask:
    registration = Registration(new_session_id(), Scope("t", "P"), Name("Donna", "donna"), "test")
    context = Context(
        registration, SystemClock(), logging.getLogger("test"), offers or Offers(), lambda: None
    )
    return StrategyTask(StrategyPlugin("s", ("test",), opener), context, lambda _: None)


def opening(deliver: Deliver, *, push: bool = True) -> Callable[[Any, StrategyContext], Any]:
    @asynccontextmanager
    async def opener(settings: Any, context: StrategyContext) -> AsyncIterator[Scripted]:
        yield Scripted(deliver, push=push)

    return opener


@asynccontextmanager
async def running(*tasks: StrategyTask) -> AsyncIterator[None]:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tg:
            for task in tasks:
                await tg.start(task.run)
            yield
            tg.cancel_scope.cancel()


async def kind_of(task: StrategyTask, deadline: timedelta = SOON) -> tuple[OutcomeKind, bool]:
    answer = await task.deliver(a_signal(), redelivered=False, deadline=deadline)
    return answer.outcome.kind, answer.bug


async def test_an_answer_is_passed_on() -> None:
    async def deliver(signal: Signal) -> bool:
        return signal.pid == "P"

    task = a_task(opening(deliver))
    async with running(task):
        assert task.state is StrategyState.TAKEN
        assert await kind_of(task) == (OutcomeKind.CONFIRMED, False)


async def test_a_strategy_that_does_not_push_is_a_floor() -> None:
    async def deliver(signal: Signal) -> bool:
        return True

    task = a_task(opening(deliver, push=False))
    async with running(task):
        assert task.state is StrategyState.FLOOR


async def test_an_exception_is_unknown_and_a_bug_and_it_goes_on() -> None:
    calls: list[int] = []

    async def deliver(signal: Signal) -> DeliveryOutcome:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("boom")
        return CONFIRMED

    task = a_task(opening(deliver))
    async with running(task):
        assert await kind_of(task) == (OutcomeKind.UNKNOWN, True)
        assert await kind_of(task) == (OutcomeKind.CONFIRMED, False)


async def test_nonsense_is_a_bug() -> None:
    async def deliver(signal: Signal) -> Any:
        return "sure"

    task = a_task(opening(deliver))
    async with running(task):
        assert await kind_of(task) == (OutcomeKind.UNKNOWN, True)


async def test_a_deadline_ends_it_as_unknown_and_it_goes_on() -> None:
    async def deliver(signal: Signal) -> bool:
        await anyio.sleep_forever()
        return True

    task = a_task(opening(deliver))
    async with running(task):
        assert await kind_of(task, SHORT) == (OutcomeKind.UNKNOWN, True)
        assert await kind_of(task, SHORT) == (OutcomeKind.UNKNOWN, True)


async def test_one_that_swallows_cancellation_is_stuck_but_harms_nobody() -> None:
    free = anyio.Event()

    async def deliver(signal: Signal) -> bool:
        with anyio.CancelScope(shield=True):
            await free.wait()
        return True

    async def good(signal: Signal) -> bool:
        return True

    stuck, neighbour = a_task(opening(deliver)), a_task(opening(good))
    async with running(stuck, neighbour):
        assert await kind_of(stuck, SHORT) == (OutcomeKind.UNKNOWN, True)
        assert stuck.as_dict()["state"] == "crashed"
        assert (await kind_of(stuck, SHORT))[0] is OutcomeKind.DEFERRED
        assert await kind_of(neighbour) == (OutcomeKind.CONFIRMED, False)
        free.set()
        with anyio.fail_after(5):
            while not stuck.usable:  # it has ended after all
                await anyio.lowlevel.checkpoint()
        assert await kind_of(stuck) == (OutcomeKind.CONFIRMED, False)


async def test_exit_is_a_bug_and_ends_nothing() -> None:
    async def deliver(signal: Signal) -> bool:
        raise SystemExit(3)

    task = a_task(opening(deliver))
    async with running(task):
        assert await kind_of(task) == (OutcomeKind.UNKNOWN, True)
        assert await kind_of(task) == (OutcomeKind.UNKNOWN, True)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio's own cannot be forged
async def test_a_forged_cancellation_is_a_bug_and_ends_nothing(anyio_backend: str) -> None:
    async def deliver(signal: Signal) -> bool:
        raise anyio.get_cancelled_exc_class()

    task = a_task(opening(deliver))
    async with running(task):
        assert await kind_of(task) == (OutcomeKind.UNKNOWN, True)
        assert await kind_of(task) == (OutcomeKind.UNKNOWN, True)


async def test_a_cancelled_caller_cancels_the_delivery() -> None:
    begun, cancelled = anyio.Event(), anyio.Event()

    async def deliver(signal: Signal) -> bool:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return True

    task = a_task(opening(deliver))
    async with running(task), anyio.create_task_group() as tg:
        tg.start_soon(kind_of, task)
        await begun.wait()
        tg.cancel_scope.cancel()
    assert cancelled.is_set()
    assert task.begun


async def test_unavailable_is_skipped_with_its_reason_and_tried_again_when_told() -> None:
    offers = Offers()

    @asynccontextmanager
    async def opener(settings: Any, context: StrategyContext) -> AsyncIterator[Scripted]:
        if context.offered(int) is None:
            raise StrategyUnavailable("no number offered")

        async def deliver(signal: Signal) -> bool:
            return True

        yield Scripted(deliver)

    task = a_task(opener, offers)
    async with running(task):
        assert task.as_dict() == {
            "strategy": "s",
            "state": "skipped",
            "reason": "no number offered",
        }
        assert (await kind_of(task))[0] is OutcomeKind.DEFERRED
        offers.add(7)
        task.reconsider()
        while not task.usable:
            await anyio.lowlevel.checkpoint()
        assert await kind_of(task) == (OutcomeKind.CONFIRMED, False)


async def test_a_crash_while_open_is_told_and_leaves_the_neighbour_alone() -> None:
    crash = anyio.Event()

    @asynccontextmanager
    async def opener(settings: Any, context: StrategyContext) -> AsyncIterator[Scripted]:
        async def fail() -> None:
            await crash.wait()
            raise RuntimeError("connection task died")

        async def deliver(signal: Signal) -> bool:
            return True

        async with anyio.create_task_group() as tg:
            tg.start_soon(fail)
            yield Scripted(deliver)
            tg.cancel_scope.cancel()

    async def good(signal: Signal) -> bool:
        return True

    task, neighbour = a_task(opener), a_task(opening(good))
    async with running(task, neighbour):
        crash.set()
        while task.state is not StrategyState.CRASHED:
            await anyio.lowlevel.checkpoint()
        assert (await kind_of(task))[0] is OutcomeKind.DEFERRED
        assert await kind_of(neighbour) == (OutcomeKind.CONFIRMED, False)
        assert "died" in task.reason


def test_offers_are_found_by_type_newest_first() -> None:
    offers = Offers()
    offers.add(1)
    with offers.during(2):
        assert offers.find(int) == 2
    assert offers.find(int) == 1
    assert offers.find(str) is None
