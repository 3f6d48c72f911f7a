"""Scenarios with a far end that fails: T3 to T5, T9, T11 and T13."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from prism_signals import DeliveryOutcome, OutcomeKind

from .strategy_bench import ENDS, StrategyBench, StrategySuite, shows
from .strategy_harness import StrategyHarness
from .suite import cancelled_after, need, scenario

STEPS = (0, 1, 2, 3, 5, 8, 13, 34)
"""How many steps a delivery may take before it is cancelled."""
STILL = 0.1
"""Seconds the event loop may stand still."""
_TRIES = 3
_PAUSE = 0.05
_SUCCESS = (OutcomeKind.CONFIRMED, OutcomeKind.HANDED_OVER)


class StrategyFaults(StrategySuite):
    """What a strategy does when its surface fails."""

    @scenario("T3")
    async def test_it_reports_no_success_while_the_far_end_is_down(
        self, bench: StrategyBench
    ) -> None:
        need(bench.harness.can_go_down, "far end that goes down")
        await bench.harness.go_down()
        lost = bench.signal("lost in the dark")
        outcome = await bench.attempt(lost)
        assert outcome is None or outcome.kind in (OutcomeKind.DEFERRED, OutcomeKind.UNKNOWN), (
            f"the far end is down, and deliver() answered {outcome}"
        )
        await bench.harness.come_back()
        if outcome is not None and outcome.kind is OutcomeKind.DEFERRED:
            await _recover(bench, "after")
            seen = await bench.harness.received()
            assert not [s for s in seen if shows(s, "lost in the dark")], (
                "DEFERRED says that it was certainly not shown, and it arrived"
            )

    @scenario("T4")
    async def test_a_hanging_delivery_can_be_cancelled(self, bench: StrategyBench) -> None:
        need(bench.harness.can_hang, "far end that hangs")
        await bench.harness.hang()
        for steps in STEPS:
            with bench.at_once():
                ended = await cancelled_after(steps, lambda: bench.deliver(bench.signal("cut")))
            assert not ended, "the far end hangs, and deliver() answered"
        with bench.at_once(), anyio.move_on_after(0.1) as scope:
            await bench.strategy.deliver(bench.signal("cut"))
        assert scope.cancelled_caught, "it swallowed the cancellation"
        await bench.harness.come_back()
        await _recover(bench, "after the cancellations")

    @scenario("T4")
    async def test_a_delivery_may_be_cancelled_at_every_step(self, bench: StrategyBench) -> None:
        for steps in STEPS:
            with bench.at_once():
                await cancelled_after(steps, lambda: bench.attempt(bench.signal("cut")))
        await bench.takes(bench.signal("after the cancellations"))
        await bench.sees("after the cancellations")

    @scenario("T5")
    async def test_it_does_not_block_the_event_loop(self, bench: StrategyBench) -> None:
        pauses = [await bench.longest_pause(bench.signal("x" * 2000), ENDS) for _ in range(_TRIES)]
        assert min(pauses) < STILL, f"the event loop stood still for {min(pauses):.2f} s"
        if bench.harness.can_hang:
            await bench.harness.hang()
            pauses = [await bench.longest_pause(bench.signal(), 0.2) for _ in range(_TRIES)]
            await bench.harness.come_back()
            assert min(pauses) < STILL, f"the event loop stood still for {min(pauses):.2f} s"

    @scenario("T9", opened=False)
    async def test_no_secret_is_shown(self, harness: StrategyHarness) -> None:
        need(bool(harness.secrets), "secrets")
        with _logged() as lines:
            async with harness.open() as strategy:
                bench = StrategyBench(harness, strategy)
                told = [repr(strategy), str(strategy), repr(vars(type(strategy)))]
                told.append(repr(await bench.takes(bench.signal())))
                told += await bench.arrived(1)
                for fault in _faults(harness):
                    await getattr(harness, fault)()
                    told.append(await _outcome_in_words(bench))
                    await harness.come_back()
        for secret in harness.secrets:
            for text in (*told, *lines):
                assert secret not in text, f"a secret is shown: {text.replace(secret, '***')[:200]}"

    @scenario("T11")
    async def test_what_the_far_end_rejects_is_refused_with_a_reason(
        self, bench: StrategyBench
    ) -> None:
        need(bench.harness.can_reject, "far end that rejects")
        await bench.harness.reject()
        outcome = await bench.deliver(bench.signal("rejected"))
        assert outcome.kind is OutcomeKind.REFUSED, f"deliver() answered {outcome}"
        assert outcome.reason.strip(), "refused without a reason"
        await bench.harness.come_back()

    @scenario("T13")
    async def test_it_recovers_when_the_far_end_comes_back(self, bench: StrategyBench) -> None:
        need(bench.harness.can_go_down, "far end that goes down")
        await bench.takes(bench.signal("before"))
        for _ in range(2):
            await bench.harness.go_down()
            await bench.attempt(bench.signal("in between"))
            await bench.harness.come_back()
            await _recover(bench, "afterwards")


async def _recover(bench: StrategyBench, text: str) -> None:
    """Deliver until it succeeds, as the engine would, and see it arrive."""
    with bench.soon():
        while True:
            outcome = await bench.attempt(bench.signal(text))
            if outcome is not None and outcome.kind in _SUCCESS:
                break
            await anyio.sleep(_PAUSE)
    await bench.sees(text)


def _faults(harness: StrategyHarness) -> Iterator[str]:
    if harness.can_go_down:
        yield "go_down"
    if harness.can_reject:
        yield "reject"


async def _outcome_in_words(bench: StrategyBench) -> str:
    try:
        answer = await bench.strategy.deliver(bench.signal())
    except Exception as e:  # noqa: BLE001 - whatever a strategy raises
        return "".join(traceback.format_exception(e))
    return repr(DeliveryOutcome.of(answer))


class _Lines(logging.Handler):
    """Keeps every line that is logged."""

    def __init__(self) -> None:
        super().__init__(level=1)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.lines.append(self.format(record))


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Every line that is logged while the context is open, whatever its level."""
    handler, root = _Lines(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(1)
    try:
        yield handler.lines
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


__all__ = ["StrategyFaults"]
