"""The clauses of the contracts, and the indexes of the SQLite file."""

from __future__ import annotations

import sqlite3

from prism_signals_store_sqlite.schema import MIGRATIONS
from prism_signals_testkit import CONTRACTS, clauses_of
from prism_signals_testkit import clauses as tests_by_clause

from .markdown import code, sentence, table

NAMES = ("store", "directory", "bus", "strategy", "plugin")
"""The pages of the contracts, in the order of the kit's table."""


def clauses(name: str) -> str:
    """One line for each clause of a contract, with the tests that show it."""
    shown = tests_by_clause()
    rows = [
        (number, sentence(text), "<br>".join(_test(t) for t in shown.get(number, ())))
        for number, text in rules(name).items()
    ]
    return table(("Clause", "Rule", "Shown by"), rows)


def rules(name: str) -> dict[str, str]:
    """The clauses of a contract as its docstring has them: id to text."""
    contracts = dict(zip(NAMES, CONTRACTS, strict=True))
    return clauses_of(contracts[name])


def _test(name: str) -> str:
    """A test of the kit without its class, which is the same for the whole table."""
    return code(name.partition(".")[2])


def columns() -> dict[str, list[str]]:
    """The tables of a new SQLite file: name to column names."""
    with sqlite3.connect(":memory:") as db:
        _make(db)
        return {
            name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
            for name in _names(db, "table")
        }


def indexes() -> str:
    """The indexes that questions are answered from, and the condition of the partial ones."""
    with sqlite3.connect(":memory:") as db:
        _make(db)
        rows = db.execute(
            "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL "
            "ORDER BY name"
        ).fetchall()
    return table(("Index", "On", "Where"), (_index(*row) for row in rows))


def _index(name: str, of: str, sql: str) -> tuple[str, str, str]:
    keys, _, condition = sql.partition(" WHERE ")
    listed = keys[keys.rindex("(") :]
    return code(name), code(f"{of} {listed}"), code(condition) if condition else "all rows"


def _make(db: sqlite3.Connection) -> None:
    for step in MIGRATIONS:
        for statement in step:
            db.execute(statement)


def _names(db: sqlite3.Connection, kind: str) -> list[str]:
    found = db.execute("SELECT name FROM sqlite_master WHERE type = ? ORDER BY rowid", (kind,))
    return [name for (name,) in found if not name.startswith("sqlite_")]
