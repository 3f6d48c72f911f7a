"""A process whose files may not grow for long: `filler FILE`. It stores until that fails."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import anyio

from prism_signals import PrismError

from .sending import opened, posting

_MOST_BYTES = 400_000


async def _main(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES))
    async with opened(path) as store:
        for _ in range(500):
            try:
                posted = await store.put(posting(content="x" * 10_000))
            except PrismError as e:
                _tell(type(e).__name__)
                return
            _tell(f"stored {posted.signal.signal_id}")


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(_main, Path(sys.argv[1]))
