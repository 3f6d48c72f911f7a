"""The raw limit of a put: the very statements of the real one, replayed bare.

A role opens the real store with a connection class that writes down every statement, sends one
signal, and keeps the transaction that inserted it. Whoever replays it gives it a fresh id each
time. So the raw writer does the same reads, inserts and counters with the same durability, however
the store changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from prism_signals import Prism

from .home import Home
from .roles import Cue, role

RECIPIENT = "Donna"
CONTENT = {"content": "Please look at the parser when you have a minute. " * 4}
"""The payload of every signal here, about 200 bytes."""
MOST_COUNTED = 200
"""As many signals of one pair as the default limits allow in an hour."""
_TELLING_ROW = 700_000_001  # a row number that no other value of a put is mistaken for

Statement = tuple[str, Sequence[Any], bool]
"""A statement, its parameters, and whether these are rows of parameters (`executemany`)."""


@dataclass(frozen=True, slots=True)
class RecordedPut:
    """One put, statement by statement.

    Attributes:
        statements: From `BEGIN` to `COMMIT`, each with its parameters.
        signal_id: The id of the signal it stored.
        row: The row number it got.
    """

    statements: Sequence[Statement]
    signal_id: str
    row: int

    def inserts(self) -> RecordedPut:
        """Only its rows: what any durable signal system has to commit."""
        kept = [s for s in self.statements if _kind(s) in ("BEGIN", "COMMIT") or _is_row(s)]
        return RecordedPut(kept, self.signal_id, self.row)

    def replay(self, connection: sqlite3.Connection, signal_id: str) -> None:
        """Do it again for a new signal, and commit."""
        row = self.row
        for statement in self.statements:
            sql, parameters, many = statement
            if many:
                rows = [self._renewed(p, signal_id, row) for p in parameters]
                connection.executemany(sql, rows)
                continue
            cursor = connection.execute(sql, self._renewed(parameters, signal_id, row))
            if _is_signal(statement):
                row = cursor.lastrowid or row
            if cursor.description:
                cursor.fetchall()

    def dump(self) -> Any:
        """It as JSON-ready data, for a process that replays it."""
        plain = [[s, [_plain(p) for p in ps], many] for s, ps, many in self.statements]
        return [plain, self.signal_id, self.row]

    @classmethod
    def load(cls, data: Any) -> RecordedPut:
        """What `dump` gave."""
        plain, signal_id, row = data
        return cls([(s, [_rich(p) for p in ps], many) for s, ps, many in plain], signal_id, row)

    def _renewed(self, parameters: Sequence[Any], signal_id: str, row: int) -> list[Any]:
        return [self._new(value, signal_id, row) for value in parameters]

    def _new(self, value: Any, signal_id: str, row: int) -> Any:
        if isinstance(value, str):
            return value.replace(self.signal_id, signal_id)
        return row if value == self.row else value


def record_put(home: Home) -> RecordedPut:
    """Record the put of the store in this home; its tables exist afterwards."""
    with role(_recording, home.environ("Lola"), path=str(home.store)) as child:
        return RecordedPut.load(child.play("record"))


def forget_counters(home: Home) -> None:
    """Empty the rate counters.

    A counter keeps the moments of its window. Under the default limits that are at most 200 of one
    pair; a benchmark raises the limits, and empties the counters as often as they are that long.
    """
    with closing(raw_connection(home.store)) as connection:
        connection.execute("DELETE FROM rate_counters")


def raw_connection(path: Path) -> sqlite3.Connection:
    """A connection with the durability of the default settings, and nothing else."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    return connection


async def _recording(cue: Cue, path: str) -> None:
    """Role: send one signal and give the statements of its put."""
    log: list[tuple[int, Statement]] = []

    class Recording(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            log.append((id(self), (sql, list(parameters), False)))
            return super().execute(sql, parameters)

        def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
            rows = [list(p) for p in parameters]
            log.append((id(self), (sql, rows, True)))
            return super().executemany(sql, rows)

    connect = sqlite3.connect

    def recording(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*arguments, **{**options, "factory": Recording})
        return made

    with patch("sqlite3.connect", recording):
        async with Prism.open() as prism:
            outsider = prism.outside()
            first = await outsider.signal(RECIPIENT, "inform", CONTENT)
            with raw_connection(Path(path)) as other:
                for table, column in (("signal_queue", "id"), ("signal_delivery", "seq")):
                    other.execute(
                        f"UPDATE {table} SET {column} = ? WHERE signal_id = ?",  # noqa: S608
                        (_TELLING_ROW - 1, first["signal_id"]),
                    )
            for _ in range(MOST_COUNTED // 2):  # counters as long as they usually are
                await outsider.signal(RECIPIENT, "inform", CONTENT)
            async for _ in cue.awaited_rounds():
                log.clear()
                sent = await outsider.signal(RECIPIENT, "inform", CONTENT)
                row = _TELLING_ROW + MOST_COUNTED // 2
                cue.answer(RecordedPut(_transaction(log), sent["signal_id"], row).dump())
                break


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return [_rich(v) for v in value]
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def _transaction(log: Sequence[tuple[int, Statement]]) -> list[Statement]:
    """The transaction of the log that inserted a signal."""
    inserted = next(n for n, (_, statement) in enumerate(log) if _is_signal(statement))
    connection = log[inserted][0]
    own = [(n, statement) for n, (c, statement) in enumerate(log) if c == connection]
    begin = max(n for n, s in own if n < inserted and _kind(s) == "BEGIN")
    end = min(n for n, s in own if n > inserted and _kind(s) == "COMMIT")
    return [s for n, s in own if begin <= n <= end]


def _kind(statement: Statement) -> str:
    return statement[0].split(maxsplit=1)[0].upper()


def _is_signal(statement: Statement) -> bool:
    return _kind(statement) == "INSERT" and " signal_queue" in statement[0]


def _is_row(statement: Statement) -> bool:
    return _kind(statement) == "INSERT" and (
        " signal_queue" in statement[0] or " signal_delivery" in statement[0]
    )
