"""What becomes of waiting signals where nothing can show them in an answer."""

from __future__ import annotations

import logging
from datetime import timedelta

import anyio

from prism_signals import (
    Claim,
    DeliveryState,
    ManualClock,
    MemoryBackend,
    Name,
    Posting,
    Scope,
    Signal,
    new_session_id,
    new_signal_id,
)
from prism_signals.engine.answers import Answer, Attacher
from prism_signals.engine.supervisor import Offers


def test_without_a_floor_signals_are_left_to_the_push_path() -> None:
    """A route of pushes alone, or a floor that crashed, must not end signals as refused by all."""

    async def attach() -> None:
        clock, me, sid = ManualClock(), new_session_id(), new_signal_id()
        backend, donna = MemoryBackend(clock), Name("Donna", "donna")
        scope = Scope("default", "P")
        signal = Signal(
            sid, "default", "P", "Lola", me, "Donna", "inform", {"content": "x"}, clock.now(), sid
        )
        await backend.store.put(Posting(signal, donna, "lola"))
        log = logging.getLogger("test")
        attacher = Attacher(
            backend.store, backend.bus, Offers(), log, timedelta(seconds=1), lambda *_: None
        )
        answer = Answer(20, 16_384)
        claim = Claim(scope, donna.canonical, me, push=False)
        await attacher.attach(answer, claim, [], lambda _: True, None)
        entry = await backend.store.find(scope, sid)
        assert entry is not None
        assert [d.state for d in entry.deliveries] == [DeliveryState.PENDING]
        assert answer.entries == []

    anyio.run(attach)
