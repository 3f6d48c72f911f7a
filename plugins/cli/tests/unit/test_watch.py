from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Terminal

pytestmark = pytest.mark.usefixtures("stored")


@contextmanager
def _watching(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """A `prism watch` that has begun to watch."""
    process = subprocess.Popen(
        [sys.executable, "-m", "prism_signals_cli", "watch", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
        bufsize=0,
    )
    try:
        assert b"Watching" in _line(process.stderr)
        yield process
    finally:
        process.kill()
        process.communicate()


def _line(stream: Any) -> bytes:
    with selectors.DefaultSelector() as ready:
        ready.register(stream, selectors.EVENT_READ)
        assert ready.select(20), "nothing came"
    line = stream.readline()
    assert isinstance(line, bytes)
    return line


def test_new_signals_are_shown_and_old_ones_are_not(prism: Terminal) -> None:
    prism.sent("Donna", "old")
    with _watching() as watch:
        first = prism.sent("Donna", "new")
        assert _line(watch.stdout).startswith(b"[Lola -> Donna] inform")
        assert first.encode() in _line(watch.stdout)


def test_json_is_one_object_per_line_and_count_ends_it(prism: Terminal) -> None:
    with _watching("--count", "2", "--to", "Donna", "--json") as watch:
        prism.sent("Texi", "for somebody else")
        sent = [prism.sent("Donna", "one\ntwo"), prism.sent("Donna", "🎉" * 300)]
        out, _ = watch.communicate(timeout=20)
        assert watch.returncode == 0
    assert [json.loads(line)["signal_id"] for line in out.splitlines()] == sent


def test_ctrl_c_ends_it_well(prism: Terminal, stored: Path) -> None:
    with _watching() as watch:
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=20)
        assert watch.returncode == 0
        assert b"Traceback" not in err
