"""What is SQLite's own about the directory."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio

from prism_signals import (
    BackendURL,
    Directory,
    Heartbeat,
    LeftReason,
    ManualClock,
    Registration,
    new_session_id,
    of_process,
    of_this_process,
    parse_name,
)
from prism_signals_store_sqlite import open_directory
from prism_signals_store_sqlite.url import url_of

from .sending import SCOPE


@asynccontextmanager
async def _directory(path: Path, query: str = "") -> AsyncIterator[tuple[Directory, ManualClock]]:
    clock = ManualClock()
    async with open_directory(BackendURL(url_of(path) + query), clock) as directory:
        yield directory, clock


def _registration(**options: object) -> Registration:
    return Registration(new_session_id(), SCOPE, parse_name("Donna"), "codex", **options)  # type: ignore[arg-type]


def test_the_url_sets_the_time_to_live(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _directory(tmp_path / "prism.db", "?ttl=2") as (directory, clock):
            await directory.register(_registration())
            clock.advance(1.9)
            assert await directory.resolve(SCOPE, "donna")
            clock.advance(0.2)
            assert await directory.resolve(SCOPE, "donna") is None

    anyio.run(scenario)


def test_no_token_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> str:
        async with _directory(path) as (directory, _):
            return (await directory.register(_registration())).token.reveal()

    secret = anyio.run(scenario).encode()
    assert all(secret not in p.read_bytes() for p in tmp_path.iterdir())


def test_tombstones_are_kept_for_a_day(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    async def scenario() -> None:
        async with _directory(path) as (directory, clock):
            done = await directory.register(_registration())
            sid = done.session.session_id
            await directory.release(sid, done.token)
            clock.advance(timedelta(hours=23))
            await directory.sweep()
            assert await directory.heartbeat(sid, done.token) is Heartbeat.RELEASED
            clock.advance(timedelta(hours=2))
            await directory.sweep()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)

    anyio.run(scenario)


def test_a_process_that_died_here_is_gone_at_once(tmp_path: Path) -> None:
    async def scenario(process: subprocess.Popen[bytes]) -> None:
        async with _directory(tmp_path / "prism.db") as (directory, _):
            there = _registration(fingerprint=of_process(process.pid))
            await directory.register(there)
            here = _registration(fingerprint=of_this_process())
            await directory.register(replace(here, name=parse_name("Texi")))
            assert len(await directory.sessions(SCOPE)) == 2
            assert not await directory.sweep()
            process.communicate()
            left = [s.session_id for s in await directory.sessions(SCOPE)]
            assert left == [here.session_id]
            told = await directory.sweep()
            assert [(d.session.session_id, d.reason) for d in told] == [
                (there.session_id, LeftReason.EXPIRED)
            ]

    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as process:
        anyio.run(scenario, process)


def test_an_agent_in_the_middle_of_its_work_writes_once_a_second(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"

    def changes() -> int:
        return path.with_name("prism.db-wal").stat().st_size

    async def scenario() -> None:
        async with _directory(path) as (directory, clock):
            one = await directory.register(_registration())
            two = await directory.register(_registration())
            assert await directory.engage(one.session.session_id, one.token)
            before = changes()
            for _ in range(5):
                clock.advance(0.1)
                assert await directory.engage(one.session.session_id, one.token)
            assert changes() == before
            assert await directory.engage(two.session.session_id, two.token)
            found = await directory.resolve(SCOPE, "donna")
            assert found
            assert found.session_id == two.session.session_id
            clock.advance(0.1)
            assert await directory.engage(one.session.session_id, one.token), "not engaged now"
            found = await directory.resolve(SCOPE, "donna")
            assert found
            assert found.session_id == one.session.session_id

    anyio.run(scenario)
