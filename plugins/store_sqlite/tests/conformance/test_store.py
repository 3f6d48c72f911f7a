"""The SQLite store keeps every clause."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from prism_signals import BackendURL, Clock, Store
from prism_signals_store_sqlite import open_store
from prism_signals_store_sqlite.url import url_of
from prism_signals_testkit import StoreConformance, StoreHarness


class SQLiteStores(StoreHarness):
    """One file; each handle opens it anew."""

    def __init__(self, folder: Path) -> None:
        self._url = BackendURL(url_of(folder / "prism.db"))

    def open(self, clock: Clock) -> AbstractAsyncContextManager[Store]:
        """The file, opened."""
        return open_store(self._url, clock)


class TestSQLiteStore(StoreConformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> SQLiteStores:
        """An empty file for each test."""
        return SQLiteStores(tmp_path)
