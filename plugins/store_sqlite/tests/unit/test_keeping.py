"""What is SQLite's own about the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from prism_signals import (
    IdempotencyConflict,
    InboxFull,
    InvalidInput,
    InvalidPayload,
    Limit,
    ManualClock,
    Query,
    SystemClock,
    new_session_id,
    parse_name,
    project_uuid,
    tenant_uuid,
)

from .sending import SCOPE, claim, opened, posting


def _columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [r[1] for r in connection.execute(f"PRAGMA table_info({table})")]


def test_the_queue_has_the_columns_and_index_of_spec_034(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> str:
        async with opened(path) as store:
            return (await store.put(posting())).signal.signal_id

    signal_id = anyio.run(scenario)
    assert _columns(path, "signal_queue")[:13] == [
        "id", "tenant_id", "project_id", "signal_id", "from_identity", "from_session",
        "to_identity", "signal_type", "payload", "in_reply_to", "created_at", "delivered_at",
        "delivery_method",
    ]  # fmt: skip
    assert _columns(path, "signal_queue") == _columns(path, "signal_archive")
    assert _columns(path, "signal_delivery") == _columns(path, "signal_delivery_archive")
    with closing(sqlite3.connect(path)) as connection:
        index = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'idx_signal_queue_undelivered'"
        ).fetchone()[0]
        assert "(to_identity, delivered_at) WHERE delivered_at IS NULL" in index
        row = connection.execute(
            "SELECT t.id, t.slug, p.id, p.slug, q.created_at FROM signal_queue q"
            " JOIN projects p ON p.id = q.project_id JOIN tenants t ON t.id = q.tenant_id"
            " WHERE q.signal_id = ?",
            (signal_id,),
        ).fetchone()
    tenant, project = tenant_uuid(SCOPE.tenant), project_uuid(SCOPE.tenant, SCOPE.pid)
    assert row[:4] == (str(tenant), SCOPE.tenant, str(project), SCOPE.pid)
    assert len(row[4]) == len("2026-01-01T00:00:00.000000Z")


def test_numbers_are_never_used_twice(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> None:
        async with opened(path) as store:
            for _ in range(3):
                sid = (await store.put(posting())).signal.signal_id
                await store.ack(SCOPE, "donna", [sid])
                assert (await store.archive(timedelta(0))).archived == 1
            await store.put(posting())
            page = await store.history(Query(SCOPE, archived=True))
            assert len(page.entries) == 4

    anyio.run(scenario)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id FROM signal_archive UNION SELECT id FROM signal_queue")
        assert [r[0] for r in rows] == [1, 2, 3, 4]


def test_an_id_used_twice_is_refused_and_never_overwrites(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "prism.db") as store:
            first = posting(content="first")
            await store.put(first)
            with pytest.raises(IdempotencyConflict):
                await store.put(first)
            sid = first.signal.signal_id
            await store.ack(SCOPE, "donna", [sid])
            await store.archive(timedelta(0))
            again = replace(first, signal=replace(first.signal, payload={"message": "forged"}))
            await store.put(again)
            await store.ack(SCOPE, "donna", [sid])
            assert (await store.archive(timedelta(0))).archived == 0, "the first one stays"

    anyio.run(scenario)


def test_hostile_text_is_text(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "prism.db") as store:
            texts = ["100 %", "a_b", 'say "hi"', "tab\there", "Straße", "x' OR 1=1 --", "\ud800"]
            for text in texts:
                posted = await store.put(posting(content=text))
                entry = await store.find(SCOPE, posted.signal.signal_id)
                assert entry
                assert entry.signal.payload == {"message": text}
            for text, found in (
                ("%", 1), ("_", 1), ('"hi"', 1), ("\t", 1), ("STRASSE", 1), ("' or 1", 1),
                ("*", 0), ("?", 0), ("\\", 0),
            ):  # fmt: skip
                page = await store.read(Query(SCOPE, text=text))
                assert len(page.entries) == found, text
            for name in ("_onna", "don%", "donna' --"):
                assert not await store.lease(replace(claim(), recipient=name))

    anyio.run(scenario)


def test_what_cannot_be_stored_is_refused_in_our_own_words(tmp_path: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"x": deep}

    async def scenario() -> None:
        async with opened(tmp_path / "prism.db") as store:
            good = posting()
            for payload in ({"x": float("nan")}, {"x": object()}, deep, {"x": 10**5000}):
                bad = replace(good, signal=replace(good.signal, payload=payload))
                with pytest.raises(InvalidPayload):
                    await store.put(bad)
            bad = replace(good, signal=replace(good.signal, from_identity="\ud800"))
            with pytest.raises(InvalidInput):
                await store.put(bad)
            await store.put(good)

    anyio.run(scenario)


def test_the_inbox_cap_holds_without_counting_each_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "prism.db"
        async with opened(path) as one, opened(path) as two:
            for n in range(40):
                await (one, two)[n % 2].put(posting(inbox_cap=40))
            for store in (one, two):
                with pytest.raises(InboxFull):
                    await store.put(posting(inbox_cap=40))
            lease = (await one.lease(claim(limit=1)))[0]
            with pytest.raises(InboxFull):
                await two.put(posting(inbox_cap=40))
            await one.ack(SCOPE, "donna", [lease.signal.signal_id])
            await two.put(posting(inbox_cap=40))
            with pytest.raises(InboxFull):
                await one.put(posting(inbox_cap=40))

    anyio.run(scenario)


def test_polling_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> None:
        async with opened(path) as store:
            sid = (await store.put(posting())).signal.signal_id
            await store.ack(SCOPE, "donna", [sid])
            with closing(sqlite3.connect(path)) as connection:
                version = "PRAGMA data_version"
                before = connection.execute(version).fetchone()
                for _ in range(10):
                    assert not await store.pending(claim())
                    assert not await store.lease(claim(push=False, reoffer_after=timedelta(0)))
                    await store.expire()
                assert connection.execute(version).fetchone() == before
                await store.put(posting())
                assert connection.execute(version).fetchone() != before

    anyio.run(scenario)


def test_counters_and_keys_are_forgotten_when_their_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> None:
        clock = ManualClock(SystemClock().now())
        async with opened(path, clock=clock) as store:
            keyed = posting(limits=(Limit("lola", 5, timedelta(minutes=1)),))
            await store.put(replace(keyed, signal=replace(keyed.signal, idempotency_key="k")))
            clock.advance(timedelta(hours=25))
            await store.expire()

    anyio.run(scenario)
    with closing(sqlite3.connect(path)) as connection:
        for count in (
            "SELECT count(*) FROM rate_counters",
            "SELECT count(*) FROM idempotency",
        ):
            assert connection.execute(count).fetchone() == (0,)


def test_a_handed_over_backlog_is_archived_in_small_steps(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "prism.db", "?synchronous=NORMAL") as store:
            await store.seen(SCOPE, parse_name("Donna"))
            ids = [(await store.put(posting())).signal.signal_id for _ in range(230)]
            await store.hand_over(SCOPE, "donna", new_session_id(), ids, "read")
            assert (await store.archive(timedelta(0), 210)).archived == 210
            assert (await store.archive(timedelta(0))).archived == 20

    anyio.run(scenario)
