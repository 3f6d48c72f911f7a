"""What is asked often is answered from an index, however long the history is."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest

from prism_signals import (
    BackendURL,
    DeliveryState,
    Limit,
    Query,
    Registration,
    Settlement,
    SystemClock,
    new_session_id,
    parse_name,
)
from prism_signals_store_sqlite import open_directory
from prism_signals_store_sqlite.url import url_of

from .sending import SCOPE, claim, opened, posting

BIG = ("signal_queue", "signal_delivery", "signal_archive", "signal_delivery_archive", "sessions")


class Log:
    """The statements that SQLite ran, with their values."""

    def __init__(self) -> None:
        self.statements: set[str] = set()

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = _CONNECT(*arguments, **options)
        connection.set_trace_callback(self.statements.add)
        return connection

    def scans(self, path: Path) -> list[str]:
        """The steps of their plans that read a big table from end to end."""
        with closing(sqlite3.connect(path)) as connection:
            connection.create_function("prism_contains", 5, lambda *_: True)
            return [
                f"{step[3]}: {statement}"
                for statement in self.statements
                if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
                for step in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
                if _is_scan(step[3])
            ]


_CONNECT = sqlite3.connect


def _is_scan(step: str) -> bool:
    words = step.split()
    # A partial index is read from end to end where it holds nothing but what is asked for.
    whole = {"idx_sessions_live"}
    return words[0] == "SCAN" and words[1] in {*BIG, "d", "q", "s"} and words[-1] not in whole


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    with patch("sqlite3.connect", log.connect):
        yield log


def test_no_verb_of_the_store_scans(tmp_path: Path, log: Log) -> None:
    path = tmp_path / "prism.db"
    minute = timedelta(minutes=1)

    async def scenario() -> None:
        donna, other = new_session_id(), new_session_id()
        async with opened(path) as store:
            await store.seen(SCOPE, parse_name("Donna"))
            first = await store.put(posting(limits=(Limit("lola", 9, minute),)))
            reply = posting("Lola")
            await store.put(
                replace(
                    reply,
                    sender="donna",
                    signal=replace(
                        reply.signal,
                        in_reply_to=first.signal.signal_id,
                        idempotency_key="k",
                        thread_id=first.signal.thread_id,
                    ),
                )
            )
            await store.put(posting("*"))
            await store.put(posting())
            for options in (
                {},
                {"push": False, "reoffer_after": minute},
                {"others": [other], "quiet": False, "created_after": SystemClock().now() - minute},
            ):
                await store.pending(claim(donna, **options))
                leases = await store.lease(claim(donna, limit=1, **options))
                for lease in leases:
                    await store.extend(lease, minute)
                    await store.settle(lease, Settlement(DeliveryState.DELIVERED, "m"))
            sid = first.signal.signal_id
            for call in _others(store, donna, sid):
                await call()

    anyio.run(scenario)
    assert len(log.statements) > 40
    assert log.scans(path) == []


def _others(store: Any, session: Any, sid: Any) -> list[Callable[[], Awaitable[Any]]]:
    reads = [
        {"recipient": "donna", "unread_only": True, "session_id": session},
        {"recipient": "donna", "unread_only": True, "newest_first": True, "before": "9"},
        {"recipient": "donna"},
        {"recipient": "donna", "signal_id": sid},
        {"thread_id": sid},
        {"sender": "lola", "text": "done", "archived": True},
    ]
    return [
        lambda: store.counts(SCOPE, "donna"),
        lambda: store.rearm(SCOPE, "donna", session),
        lambda: store.confirm(SCOPE, "donna", [sid]),
        lambda: store.hand_over(SCOPE, "donna", session, [sid], "read"),
        lambda: store.ack(SCOPE, "donna", [sid]),
        lambda: store.recall(SCOPE, "lola", sid),
        lambda: store.find(SCOPE, sid),
        lambda: store.thread(SCOPE, sid),
        lambda: store.expire(),
        lambda: store.archive(timedelta(0)),
        *(lambda q=q: store.read(Query(SCOPE, **q)) for q in reads),
    ]


def test_no_verb_of_the_directory_scans(tmp_path: Path, log: Log) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> None:
        async with open_directory(BackendURL(url_of(path)), SystemClock()) as directory:
            registration = Registration(new_session_id(), SCOPE, parse_name("Donna"), "codex")
            done = await directory.register(registration)
            sid = done.session.session_id
            for _ in range(2):
                await directory.heartbeat(sid, done.token)
                await directory.engage(sid, done.token)
                await directory.resolve(SCOPE, "donna")
                await directory.sessions(SCOPE)
                await directory.elect(SCOPE, sid)
                await directory.elect(SCOPE)
            await directory.sweep()
            await directory.release(sid, done.token)

    anyio.run(scenario)
    assert len(log.statements) > 10
    assert log.scans(path) == []


def test_looking_costs_the_same_after_a_long_history(tmp_path: Path) -> None:
    """Counted in steps of SQLite's virtual machine, which no loaded machine can distort."""
    path = tmp_path / "prism.db"
    steps: list[int] = []

    async def looked(connection: sqlite3.Connection) -> int:
        from prism_signals_store_sqlite import leases, reading
        from prism_signals_store_sqlite.rows import project_id

        count = 0

        def step() -> int:
            nonlocal count
            count += 1
            return 0

        now = SystemClock().now()
        asked = claim(reoffer_after=timedelta(seconds=10))
        connection.set_progress_handler(step, 1)
        assert not leases.would_lease(connection, asked, now)
        assert not leases.must_write(connection, asked, now)
        reading.counts(connection, project_id(SCOPE), "donna", now)
        connection.set_progress_handler(None, 1)
        return count

    async def scenario() -> None:
        async with opened(path, "?synchronous=NORMAL") as store:
            await store.seen(SCOPE, parse_name("Donna"))
            for size in (1, 300):
                for _ in range(size):
                    sid = (await store.put(posting())).signal.signal_id
                    await store.ack(SCOPE, "donna", [sid])
                with closing(sqlite3.connect(path)) as connection:
                    steps.append(await looked(connection))

    anyio.run(scenario)
    assert steps[0] == steps[1]
