"""Opening a file: making it, upgrading it, and refusing what is none of ours."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from prism_signals import Inspectable, SchemaTooNew, StoreUnavailable, UnsupportedSQLite
from prism_signals_store_sqlite import schema

from .sending import SCOPE, opened, pipe, posting, running, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop is enough here; the conformance tests run on both."""
    return "asyncio"


async def test_folder_and_files_belong_to_their_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "prism.db"
    before = os.umask(0)
    try:
        async with opened(path) as store:
            await store.put(posting())
            files = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert files == dict.fromkeys(
        ("prism.db", "prism.db-wal", "prism.db-shm", "prism.db-gate", "prism.db-turn"), 0o600
    )


async def test_a_store_tells_where_it_is_and_its_version(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"
    async with opened(path) as store:
        assert isinstance(store, Inspectable)
        found = await store.inspect()
    assert (found.location, found.folder) == (str(path), tmp_path)
    assert found.schema_version == len(schema.MIGRATIONS)


async def test_a_file_made_by_several_processes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"
    with ExitStack() as stack:
        senders = [stack.enter_context(running("sender", path, 5)) for _ in range(4)]
        for sender in senders:
            assert told(sender) == "ready"
        for sender in senders:
            pipe(sender.stdin).write("\n")
            pipe(sender.stdin).flush()
        ids = [told(sender) for sender in senders for _ in range(5)]
    async with opened(path) as store:
        assert all([await store.find(SCOPE, i) for i in ids])
        assert (await store.counts(SCOPE, "donna")).pending == len(set(ids)) == 20


async def test_an_older_file_is_upgraded_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prism.db"
    async with opened(path) as store:
        posted = await store.put(posting())
    first = schema.MIGRATIONS
    monkeypatch.setattr(
        schema,
        "MIGRATIONS",
        (*first, ("CREATE TABLE two (x)",), ("ALTER TABLE two ADD COLUMN y",)),
    )
    async with opened(path) as store:
        assert await store.find(SCOPE, posted.signal.signal_id)
    with closing(sqlite3.connect(path)) as connection:
        assert [r[1] for r in connection.execute("PRAGMA table_info(two)")] == ["x", "y"]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(first) + 2,)


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prism.db"
    async with opened(path):
        pass
    first = schema.MIGRATIONS
    broken = (*first, ("CREATE TABLE two (x)", "CREATE NONSENSE"))
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(StoreUnavailable):
        async with opened(path):
            pass
    monkeypatch.setattr(schema, "MIGRATIONS", first)
    async with opened(path) as store:
        await store.put(posting())
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'two'").fetchall()
        assert tables == []


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"
    async with opened(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew, match=r"version 99.*Upgrade"):
        async with opened(path):
            pass


async def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    content = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="another program"):
        async with opened(path):
            pass
    assert path.read_bytes() == content


async def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("This is a letter, not a database. " * 100)
    with pytest.raises(StoreUnavailable, match="no SQLite database"):
        async with opened(text):
            pass
    with pytest.raises(StoreUnavailable, match="is a folder"):
        async with opened(tmp_path):
            pass
    with pytest.raises(StoreUnavailable, match="PRISM_STORE_URL"):
        async with opened(text / "below" / "prism.db"):
            pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(StoreUnavailable) as refused:
        async with opened(closed / "prism.db"):
            pass
    assert str(closed) in refused.value.message


async def test_an_old_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    schema.check_library((3, 35, 0))
    with pytest.raises(UnsupportedSQLite, match=r"3\.34\.1.*3\.35\.0"):
        schema.check_library((3, 34, 1))


async def test_a_file_replaced_under_our_feet_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"
    async with opened(path) as store:
        await store.put(posting())
        path.unlink()
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            await store.put(posting())
        async with opened(path) as other:
            await other.put(posting())
        with pytest.raises(StoreUnavailable, match="Restart"):
            await store.put(posting())


async def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prism.db"
    async with opened(path) as store:
        kept = (await store.put(posting())).signal.signal_id
    with running("filler", path) as filler:
        ids = []
        while (line := told(filler)).startswith("stored "):
            ids.append(line.removeprefix("stored "))
        assert line == "StoreUnavailable", line
        assert filler.wait(20) == 0
    async with opened(path) as store:
        assert all([await store.find(SCOPE, i) for i in [kept, *ids]])
        assert (await store.counts(SCOPE, "donna")).pending == len(ids) + 1
        await store.put(posting())


def test_discovery_imports_nothing_heavy() -> None:
    program = (
        "import sys, prism_signals_store_sqlite as plugin\n"
        "plugin.prism_stores(), plugin.prism_directories(), plugin.prism_buses()\n"
        "own = {m for m in sys.modules if m.startswith('prism_signals_store_sqlite.')}\n"
        "print(sorted(own | {'sqlite3', 'platformdirs'} & sys.modules.keys()))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"
