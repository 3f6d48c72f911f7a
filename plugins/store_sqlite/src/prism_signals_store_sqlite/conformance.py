"""The conformance classes of this distribution's store, directory and doorbell.

Only `prism conformance` and the tests import this module: it needs `prism-signals-testkit`.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from prism_signals import BackendURL, Bus, Clock, Directory, SessionId, Store
from prism_signals_testkit import (
    BusConformance,
    BusHarness,
    DirectoryConformance,
    DirectoryHarness,
    StoreConformance,
    StoreHarness,
)

from . import open_bus, open_directory, open_store
from .runtime_folder import session_suffix
from .url import url_of


class SQLiteStores(StoreHarness):
    """One file; each handle opens it anew."""

    def __init__(self, folder: Path) -> None:
        self._url = BackendURL(url_of(folder / "prism.db"))

    def open(self, clock: Clock) -> AbstractAsyncContextManager[Store]:
        """The file, opened."""
        return open_store(self._url, clock)


class SQLiteDirectories(DirectoryHarness):
    """One file; each handle opens it anew."""

    def __init__(self, folder: Path) -> None:
        self._url = BackendURL(url_of(folder / "prism.db"))

    def open(self, clock: Clock) -> AbstractAsyncContextManager[Directory]:
        """The file, opened."""
        return open_directory(self._url, clock)


class Doorbells(BusHarness):
    """The sockets of one file's sessions, in a runtime folder of its own."""

    def __init__(self, runtime: Path) -> None:
        self._sockets = runtime / "prism-signals"
        self._url = BackendURL(url_of(runtime / "prism.db"))

    def open(self, clock: Clock) -> AbstractAsyncContextManager[Bus]:
        """The file's doorbell."""
        return open_bus(self._url, clock)

    def leftovers(self) -> Sequence[str]:
        """What stands in the folder."""
        if not self._sockets.is_dir():
            return []
        return sorted(p.name for p in self._sockets.iterdir())

    async def inject(self, session_id: SessionId, data: bytes) -> None:
        """Send these bytes to the session's socket."""
        (path,) = self._sockets.glob(f"*{session_suffix(session_id)}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(data, str(path))


class SQLiteStoreConformance(StoreConformance):
    """The file as a store."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> SQLiteStores:
        """An empty file for each test."""
        return SQLiteStores(tmp_path)


class SQLiteDirectoryConformance(DirectoryConformance):
    """The file as a directory."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> SQLiteDirectories:
        """An empty file for each test."""
        return SQLiteDirectories(tmp_path)


class DoorbellConformance(BusConformance):
    """The sockets of the file's sessions."""

    @pytest.fixture
    def harness(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doorbells]:
        """A short-named runtime folder: the path of a socket has little room."""
        folder = Path(tempfile.mkdtemp(prefix="prism-"))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield Doorbells(folder)
        shutil.rmtree(folder)
