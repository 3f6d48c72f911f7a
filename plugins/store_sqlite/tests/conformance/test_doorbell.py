"""The doorbell keeps every clause."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from prism_signals import BackendURL, Bus, Clock, SessionId
from prism_signals_store_sqlite import open_bus
from prism_signals_store_sqlite.runtime_folder import session_suffix
from prism_signals_store_sqlite.url import url_of
from prism_signals_testkit import BusConformance, BusHarness


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


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short-named runtime folder: the path of a socket has little room."""
    folder = Path(tempfile.mkdtemp(prefix="prism-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


class TestDoorbell(BusConformance):
    @pytest.fixture
    def harness(self, runtime: Path) -> Doorbells:
        """An empty folder for each test."""
        return Doorbells(runtime)
