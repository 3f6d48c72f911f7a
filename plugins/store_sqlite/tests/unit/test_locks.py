"""Several connections of one process to one file, while other programs come and go."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from prism_signals import BackendURL, SystemClock
from prism_signals_store_sqlite import open_directory, open_store

_COME_AND_GO = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
    "c.execute('SELECT * FROM projects').fetchall(); c.close()"
)


def test_another_program_that_leaves_does_not_take_the_log_along(tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes any descriptor of that file.

    A store and a directory share the file: the second to open must not cost the first its locks,
    or whoever closes next deletes the write-ahead log that both still write to.
    """
    file = tmp_path / "prism.db"
    url, clock = BackendURL(f"sqlite://{file}"), SystemClock()

    async def open_both() -> None:
        async with open_store(url, clock), open_directory(url, clock):
            with anyio.fail_after(20):
                await anyio.run_process([sys.executable, "-c", _COME_AND_GO, str(file)])
            assert await anyio.Path(f"{file}-wal").exists()

    anyio.run(open_both)
    assert not Path(f"{file}-wal").exists()  # the last one out tidies up
