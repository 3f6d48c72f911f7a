"""A process that sends: `sender FILE COUNT`. It prints `ready`, waits for a line, then each id."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from .sending import opened, posting


async def _main(path: Path, count: int) -> None:
    async with opened(path, "?deadline=60") as store:
        _tell("ready")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for n in range(count):
            posted = await store.put(posting(content=f"number {n}"))
            _tell(posted.signal.signal_id)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(_main, Path(sys.argv[1]), int(sys.argv[2]))
