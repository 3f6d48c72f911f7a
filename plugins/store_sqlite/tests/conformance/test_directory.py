"""The SQLite directory keeps every clause."""

from __future__ import annotations

from prism_signals_store_sqlite.conformance import SQLiteDirectoryConformance


class TestSQLiteDirectory(SQLiteDirectoryConformance):
    pass
