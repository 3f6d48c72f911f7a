"""How long a signal takes from the sender's verb to the receiver's strategy, across processes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism_signals import Prism, new_signal_id

from .children import PATIENCE
from .figures import Aim, Figure, Ratio, Row
from .home import temporary_home
from .plan import Plan
from .recorded import (
    CONTENT,
    MOST_COUNTED,
    RECIPIENT,
    RecordedPut,
    forget_counters,
    raw_connection,
    record_put,
)
from .roles import Cue, role
from .samples import Sample, now
from .strategies import LOG, STRATEGY_MAP, SURFACE

BLOCKS = 10
"""Ours and raw take turns, so that a change in the machine's mood meets both."""


def measure(plan: Plan) -> Figure:
    """Send one signal after the other, each after the one before has settled."""
    each = plan.scaled(MOST_COUNTED, 10)
    with temporary_home() as home, temporary_home() as bare:
        put = record_put(bare).inserts()
        raw_arguments = {"path": str(bare.store), "bell": str(bare.folder / "bell")}
        listening = home.environ(RECIPIENT, agent_surface=SURFACE, strategy_map=STRATEGY_MAP)
        with (
            role(receiver, listening) as donna,
            role(sender, home.environ("Lola")) as lola,
            role(raw_receiver, bare.environ(), **raw_arguments) as raw_donna,
            role(
                raw_sender,
                bare.environ(),
                **raw_arguments,
                put=put.dump(),
            ) as raw_lola,
        ):
            for warming_up in (lola, raw_lola):
                warming_up.play(each // 4 + 1)
            ours: list[list[Any]] = []
            raw: list[list[Any]] = []
            for _ in range(plan.scaled(BLOCKS, 2)):
                raw += raw_lola.play(each)
                forget_counters(home)
                ours += lola.play(each)
            arrived, raw_arrived = donna.play("arrivals"), raw_donna.play("arrivals")
    return _figure(_Times(ours, arrived), _Times(raw, raw_arrived))


class _Times:
    def __init__(self, sent: Sequence[Sequence[Any]], arrivals: dict[str, int]) -> None:
        kept = [
            (arrivals[sid] - begun, done - begun) for sid, begun, done in sent if sid in arrivals
        ]
        self.lost = len(sent) - len(kept)
        self.reach = Sample.of(reach for reach, _ in kept)
        self.verb = Sample.of(verb for _, verb in kept)


def _figure(ours: _Times, raw: _Times) -> Figure:
    return Figure(
        "latency",
        "from the sender's verb to the receiver's strategy, durable (FULL)",
        [
            Row.of("verb called to strategy called", ours.reach),
            Row.of("verb called to verb answered (settled)", ours.verb),
            Row.of("raw: commit of the rows + datagram + read", raw.reach),
        ],
        [Ratio("p99 / raw p99", ours.reach.p99 / raw.reach.p99)],
        [
            Aim("p50 / raw p50", ours.reach.p50 / raw.reach.p50, 3.0),
            Aim("p50", ours.reach.p50, 1.5, "ms"),
        ],
        [f"{ours.lost} never arrived"] if ours.lost else [],
    )


async def receiver(cue: Cue) -> None:
    """Role: an agent on a surface whose route is the recording strategy."""
    async with Prism.open() as prism, prism.host() as agent:
        await agent.start()
        async for _ in cue.awaited_rounds():
            cue.answer(LOG.arrivals)


async def sender(cue: Cue) -> None:
    """Role: an agent that sends so many signals, one after the other."""
    async with Prism.open() as prism, prism.host() as agent:
        await agent.start()
        pid = prism.scope().pid
        async for count in cue.awaited_rounds():
            times: list[tuple[str, int, int]] = []
            for _ in range(count):
                begun = now()
                answer = await agent.signal(pid, RECIPIENT, "inform", CONTENT)
                times.append((answer["signal_id"], begun, now()))
            cue.answer(times)


def raw_receiver(cue: Cue, path: str, bell: str) -> None:
    """Role: a process that reads a row whenever a datagram says so, and rings back."""
    arrivals: dict[str, int] = {}
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(bell)

    def listen() -> None:
        connection = raw_connection(Path(path))
        while sid := ear.recv(64).decode():
            row = connection.execute(
                "SELECT * FROM signal_queue WHERE signal_id = ?", (sid,)
            ).fetchone()
            if row is not None:
                arrivals[sid] = now()
            ear.sendto(b"read", bell + "-back")

    threading.Thread(target=listen, daemon=True).start()
    for _ in cue.rounds():
        cue.answer(arrivals)


def raw_sender(cue: Cue, path: str, bell: str, put: Any) -> None:
    """Role: a process that commits the rows and sends a datagram."""
    connection = raw_connection(Path(path))
    rows = RecordedPut.load(put)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as voice:
        voice.bind(bell + "-back")
        voice.settimeout(PATIENCE)
        for count in cue.rounds():
            times: list[tuple[str, int, int]] = []
            for _ in range(count):
                begun = now()
                sid = new_signal_id()
                rows.replay(connection, sid)
                voice.sendto(sid.encode(), bell)
                voice.recv(16)
                times.append((sid, begun, now()))
            cue.answer(times)
