"""How many signals a second are accepted, by one sender and by eight at once."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_signals import Prism, new_signal_id, parse_name

from .figures import Aim, Figure, Ratio, Row
from .home import temporary_home
from .plan import Plan
from .recorded import (
    CONTENT,
    MOST_COUNTED,
    RecordedPut,
    forget_counters,
    raw_connection,
    record_put,
)
from .roles import Cue, Role, role
from .samples import SECOND, Sample, now

SENDERS = 8
ROUNDS = 6
"""Ours and raw take turns."""


def measure(plan: Plan) -> Figure:
    """Send to agents that are away, so that nothing is measured but acceptance."""
    each = plan.scaled(MOST_COUNTED, 10)
    alone: list[_Burst] = []
    together: list[_Burst] = []
    raw: list[_Burst] = []
    with temporary_home() as home, temporary_home() as bare, ExitStack() as stack:
        put = record_put(bare)
        arguments = {"path": str(bare.store), "put": put.dump()}
        writer = stack.enter_context(role(raw_writer, bare.environ(), **arguments))
        senders = [
            stack.enter_context(role(sender, home.environ(f"Lola{n}"))) for n in range(SENDERS)
        ]
        for warming_up in (writer, *senders):
            warming_up.play(each // 4 + 1)
        for _ in range(plan.scaled(ROUNDS, 1)):
            raw.append(_burst([writer], each * SENDERS // 2))
            forget_counters(home)
            alone.append(_burst(senders[:1], each))
            forget_counters(home)
            together.append(_burst(senders, each))
    return _figure(_pooled(raw), _pooled(alone), _pooled(together))


@dataclass(frozen=True, slots=True)
class _Burst:
    """Many puts, by one or several processes at once.

    Attributes:
        rate: How many a second, from the first's beginning to the last's end.
        each: How long each took.
    """

    rate: float
    each: tuple[int, ...]


def _burst(roles: Sequence[Role], count: int) -> _Burst:
    for child in roles:
        child.begin(count)
    times = [t for child in roles for t in child.result()]
    took = max(end for _, end in times) - min(begin for begin, _ in times)
    return _Burst(len(times) / took * SECOND, tuple(end - begin for begin, end in times))


def _pooled(bursts: Sequence[_Burst]) -> _Burst:
    rate = statistics.median(b.rate for b in bursts)
    return _Burst(rate, tuple(t for b in bursts for t in b.each))


def _figure(raw: _Burst, alone: _Burst, together: _Burst) -> Figure:
    rows: list[Row] = []
    for label, burst in (
        ("1 sender, prism_signal", alone),
        (f"{SENDERS} senders at once, prism_signal", together),
        ("raw: one writer, the same put", raw),
    ):
        rows.append(Row(label, burst.rate, "/s"))
        rows.append(Row.of("  each", Sample.of(burst.each)))
    return Figure(
        "throughput",
        "signals accepted a second, durable (FULL)",
        rows,
        [Ratio("1 sender / raw", alone.rate / raw.rate)],
        [
            Aim(f"{SENDERS} senders / raw", together.rate / raw.rate, 0.5, at_least=True),
            Aim(f"p99 with {SENDERS} senders", Sample.of(together.each).p99, 25.0, "ms"),
        ],
    )


async def sender(cue: Cue) -> None:
    """Role: an agent that sends so many signals to somebody who is away."""
    async with Prism.open() as prism, prism.host() as agent:
        await agent.start()
        pid = prism.scope().pid
        away = f"Away-{agent.identity}"
        await prism.store.seen(prism.scope(), parse_name(away))  # known, and away
        async for count in cue.awaited_rounds():
            times: list[tuple[int, int]] = []
            for _ in range(count):
                before = now()
                await agent.signal(pid, away, "inform", CONTENT)
                times.append((before, now()))
            cue.answer(times)


def raw_writer(cue: Cue, path: str, put: Any) -> None:
    """Role: one process that does nothing but the put's statements."""
    connection = raw_connection(Path(path))
    recorded = RecordedPut.load(put)
    for count in cue.rounds():
        times: list[tuple[int, int]] = []
        for _ in range(count):
            before = now()
            recorded.replay(connection, new_signal_id())
            times.append((before, now()))
        cue.answer(times)
