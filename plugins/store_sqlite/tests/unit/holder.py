"""A process that holds one of the locks: `holder FILE gate|turn|write`, until its input ends."""

from __future__ import annotations

import fcntl
import sqlite3
import sys
from pathlib import Path

from prism_signals_store_sqlite.turnstile import GATE_SUFFIX, TURN_SUFFIX


def _main(path: Path, what: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    suffix = {"gate": GATE_SUFFIX, "turn": TURN_SUFFIX}.get(what)
    with path.with_name(path.name + (suffix or TURN_SUFFIX)).open("rb") as lock:
        if suffix is None:
            connection.execute("BEGIN IMMEDIATE")
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)
        sys.stdout.write("held\n")
        sys.stdout.flush()
        sys.stdin.read()
    connection.close()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
