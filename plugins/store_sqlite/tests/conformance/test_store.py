"""The SQLite store keeps every clause."""

from __future__ import annotations

from prism_signals_store_sqlite.conformance import SQLiteStoreConformance


class TestSQLiteStore(SQLiteStoreConformance):
    pass
