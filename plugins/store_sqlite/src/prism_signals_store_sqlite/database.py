"""One open SQLite file: a writer, a connection for quick looks, and one for longer reads."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from prism_signals import Clock, StoreUnavailable

from .faults import is_locked, translated
from .schema import check_library, migrate, needs_migration
from .searching import install_search
from .url import Options
from .writer import Change, Writer

T = TypeVar("T")
Look = Callable[[sqlite3.Connection], T]

_WRITER_BUSY = 0.1  # seconds per try; the turnstile does the real waiting
_STATEMENTS = 256


class Database:
    """What the store and the directory work on. Made by `open_database`."""

    def __init__(
        self,
        options: Options,
        clock: Clock,
        writer: Writer,
        quick: sqlite3.Connection,
        slow: sqlite3.Connection,
    ) -> None:
        self.options = options
        self._clock = clock
        self._writer = writer
        self._quick, self._slow = quick, slow
        self._one_reader = anyio.CapacityLimiter(1)

    def now(self) -> datetime:
        """The time."""
        return self._clock.now()

    async def write(self, change: Change[T], *, durable: bool = True) -> T:
        """Run a change; see `Writer.run`."""
        return await self._writer.run(change, durable=durable)

    async def look(self, query: Look[T]) -> T:
        """Run a quick read: a few lookups in an index.

        It runs right here. Measured on two cores (medians), a lookup takes 5 µs on the loop and
        110 to 130 µs through a thread, whose hop alone keeps the loop from other work for longer
        than the lookup does. In WAL mode a reader never waits for writers; in the rare case that
        SQLite wants it to (another process is opening or closing the file), it moves to a thread.
        """
        try:
            return query(self._quick)
        except sqlite3.Error as e:
            if not is_locked(e):
                raise translated(e, self.options.path) from e
        return await self.read(query)

    async def read(self, query: Look[T]) -> T:
        """Run a read that may take longer, in a thread."""
        try:
            return await anyio.to_thread.run_sync(query, self._slow, limiter=self._one_reader)
        except sqlite3.Error as e:
            raise translated(e, self.options.path) from e

    async def close(self) -> None:
        """Close all connections; the writer's last, so that it is the one to tidy up the file."""
        self._quick.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._slow.close, limiter=self._one_reader)
            await self._writer.close()


@asynccontextmanager
async def open_database(options: Options, clock: Clock) -> AsyncIterator[Database]:
    """Open the file, making and upgrading it where needed.

    Raises:
        UnsupportedSQLite: The library is too old.
        SchemaTooNew: The file was written by a newer version.
        StoreUnavailable: It cannot be opened; the message says why and what to do.
        StoreBusy: Other processes kept it locked until the deadline.
    """
    check_library()
    with anyio.CancelScope(shield=True):  # or a connection could be opened and then forgotten
        writer, stale = await anyio.to_thread.run_sync(_open_writer, options)
    readers: list[sqlite3.Connection] = []
    try:
        if stale:
            await writer.run(lambda c: _upgrade(c, options.path), durable=True, transaction=False)
        readers += [_open_reader(options, 0.0), _open_reader(options, _seconds(options))]
    except BaseException:
        for reader in readers:
            reader.close()
        await writer.close()
        raise
    database = Database(options, clock, writer, *readers)
    try:
        yield database
    finally:
        await database.close()


def _open_writer(options: Options) -> tuple[Writer, bool]:
    """The writer, and whether the file is empty or older than this program."""
    connection: sqlite3.Connection | None = None
    try:
        _make_file(options.path)
        connection = _connect(options, _seconds(options))
        connection.execute("BEGIN")  # all of the header from one moment
        stale = needs_migration(connection, options.path)
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA busy_timeout = {round(_WRITER_BUSY * 1000)}")
        writer = Writer(
            connection, options.path, durable=options.synchronous, deadline=_seconds(options)
        )
    except BaseException as e:
        if connection is not None:
            connection.close()
        if isinstance(e, (sqlite3.Error, OSError)):
            raise translated(e, options.path) from e
        raise
    return writer, stale


def _open_reader(options: Options, patience: float) -> sqlite3.Connection:
    try:
        connection = _connect(options, patience)
        connection.execute("PRAGMA query_only = ON")
        install_search(connection)
    except sqlite3.Error as e:
        raise translated(e, options.path) from e
    return connection


def _connect(options: Options, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(
        options.path,
        timeout=patience,
        isolation_level=None,  # transactions are begun and ended in words
        check_same_thread=False,
        cached_statements=_STATEMENTS,
    )


def _make_file(path: Path) -> None:
    """Make the folder and the file so that nobody else can read them."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_dir():
        raise StoreUnavailable(
            f"The store {path} is a folder. Name a file in it in PRISM_STORE_URL.", path=str(path)
        )
    # Never open a file that is there: closing any descriptor of it takes away the locks that other
    # connections of this process hold. The next to leave would believe itself the last one, and
    # delete the write-ahead log under them.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnavailable(
            f"The store {path} is on a file system without shared memory. Name a file on a local "
            "disk in PRISM_STORE_URL.",
            path=str(path),
        )
    connection.execute("BEGIN IMMEDIATE")
    migrate(connection, path)


def _seconds(options: Options) -> float:
    return options.deadline.total_seconds()
