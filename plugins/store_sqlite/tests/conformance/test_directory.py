"""The SQLite directory keeps every clause."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from prism_signals import BackendURL, Clock, Directory
from prism_signals_store_sqlite import open_directory
from prism_signals_store_sqlite.url import url_of
from prism_signals_testkit import DirectoryConformance, DirectoryHarness


class SQLiteDirectories(DirectoryHarness):
    """One file; each handle opens it anew."""

    def __init__(self, folder: Path) -> None:
        self._url = BackendURL(url_of(folder / "prism.db"))

    def open(self, clock: Clock) -> AbstractAsyncContextManager[Directory]:
        """The file, opened."""
        return open_directory(self._url, clock)


class TestSQLiteDirectory(DirectoryConformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> SQLiteDirectories:
        """An empty file for each test."""
        return SQLiteDirectories(tmp_path)
