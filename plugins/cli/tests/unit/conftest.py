"""A place of its own for each test: settings, cache and store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prism_signals_cli.main import main, tur

PROJECT = "PID-CLI"


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said and how it ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


class Terminal:
    """Runs `prism` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: str) -> Said:
        return self._run(main, args)

    def tur(self, *args: str) -> Said:
        return self._run(tur, args)

    def sent(self, to: str, content: str, *args: str, by: str = "Lola") -> str:
        """Send a signal; gives its id."""
        said = self("signal", to, content, "--as", by, "--json", *args)
        assert said.status == 0, said.err
        signal_id = said.json["signal_id"]
        assert isinstance(signal_id, str)
        return signal_id

    def _run(self, script: Any, args: tuple[str, ...]) -> Said:
        self._capsys.readouterr()
        status = script(args)
        captured = self._capsys.readouterr()
        return Said(status, captured.out, captured.err)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder; nothing of the surrounding environment reaches it."""
    for name in [n for n in os.environ if n.startswith("PRISM_")]:
        monkeypatch.delenv(name)
    (tmp_path / "prism.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PRISM_PROJECT", PROJECT)
    return tmp_path


@pytest.fixture
def stored(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Such a folder with a store in it."""
    pytest.importorskip("prism_signals_store_sqlite", reason="needs a store that outlives a call")
    monkeypatch.setenv("PRISM_STORE_URL", f"sqlite://{place / 'store.db'}")
    return place


@pytest.fixture
def prism(stored: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """`prism` over a store of its own."""
    return Terminal(capsys)


@pytest.fixture
def bare(place: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """`prism` where no store is needed."""
    return Terminal(capsys)


def run_process(
    *args: str, given: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `prism` as a process of its own, in the environment of the test."""
    return subprocess.run(
        [sys.executable, "-m", "prism_signals_cli", *args],
        input=given,
        capture_output=True,
        timeout=25,
        check=False,
        env={**os.environ, **(environment or {})},
    )


@pytest.fixture
def process(stored: Path) -> Any:
    """`prism` as processes of their own, over one store."""
    return run_process
