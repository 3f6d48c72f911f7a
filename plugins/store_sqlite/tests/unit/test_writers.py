"""Many processes on one file, some of them killed: nothing that was accepted is lost."""

from __future__ import annotations

import random
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import anyio
import pytest

from prism_signals import Query

from .sending import SCOPE, claim, opened, pipe, running, told

KILLS = 20
WRITERS, EACH = 8, 500


def _go(*senders: object) -> None:
    for sender in senders:
        stdin = pipe(getattr(sender, "stdin", None))
        stdin.write("\n")
        stdin.flush()


def _is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.timeout(180)
def test_killed_writers_lose_nothing_they_had_accepted(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"
    dice = random.Random(1)
    accepted: list[str] = []
    with ExitStack() as stack:
        senders = [stack.enter_context(running("sender", path, 10_000)) for _ in range(2)]
        for kill in range(KILLS):
            victim = senders[kill % 2]
            assert told(victim) == "ready"
            _go(victim)
            accepted += [told(victim) for _ in range(dice.randrange(1, 8))]
            victim.kill()
            rest = pipe(victim.stdout).read().splitlines(keepends=True)
            accepted += [line.strip() for line in rest if line.endswith("\n")]
            senders[kill % 2] = stack.enter_context(running("sender", path, 10_000))

    async def found() -> list[str]:
        async with opened(path) as store:
            leases = await store.lease(claim(limit=100_000))
            return [lease.signal.signal_id for lease in leases]

    stored = anyio.run(found)
    assert len(accepted) == len(set(accepted)) >= KILLS
    assert set(accepted) <= set(stored)
    assert len(stored) - len(accepted) <= KILLS, "at most one unanswered put for each kill"
    assert _is_whole(path)


@pytest.mark.timeout(180)
def test_eight_writers_to_one_inbox_lose_nothing(tmp_path: Path) -> None:
    """Lesson U-07."""
    path = tmp_path / "prism.db"
    with ExitStack() as stack:
        senders = [stack.enter_context(running("sender", path, EACH)) for _ in range(WRITERS)]
        for sender in senders:
            assert told(sender) == "ready"
        _go(*senders)
        accepted = [told(sender) for _ in range(EACH) for sender in senders]
        assert [sender.wait(20) for sender in senders] == [0] * WRITERS

    async def unread() -> list[str]:
        async with opened(path) as store:
            query = Query(SCOPE, recipient="donna", unread_only=True, limit=WRITERS * EACH + 1)
            return [e.signal.signal_id for e in (await store.read(query)).entries]

    stored = anyio.run(unread)
    assert len(stored) == WRITERS * EACH
    assert sorted(stored) == sorted(accepted)
    assert _is_whole(path)
