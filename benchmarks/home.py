"""A place of its own for each benchmark, and an environment that nothing leaks into."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = "bench"
UNLIMITED = "1000000000"


@dataclass(frozen=True, slots=True)
class Home:
    """A temporary folder with a store in it.

    Attributes:
        folder: The folder; its path is short, because socket names below it must be.
    """

    folder: Path

    @property
    def store(self) -> Path:
        """The SQLite file."""
        return self.folder / "prism.db"

    def environ(self, identity: str | None = None, **settings: str) -> dict[str, str]:
        """An environment for a process of this benchmark.

        Loop guards are raised out of the way, because a benchmark is a loop. Nothing else differs
        from the defaults unless it is named.

        Args:
            identity: `PRISM_AGENT_IDENTITY`.
            settings: `PRISM_*` variables, by setting.
        """
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PRISM_")}
        own: Mapping[str, str] = {
            "store_url": f"sqlite://{self.store}",
            "project": PROJECT,
            "sender_per_minute": UNLIMITED,
            "pair_per_minute": UNLIMITED,
            "pair_per_hour": UNLIMITED,
            "thread_per_minute": UNLIMITED,
            "inbox_cap": UNLIMITED,
            **({"agent_identity": identity} if identity else {}),
            **settings,
        }
        folders = ("HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "TMPDIR")
        return {
            **inherited,
            **dict.fromkeys(folders, str(self.folder)),
            **{f"PRISM_{k.upper()}": v for k, v in own.items()},
        }


@contextmanager
def temporary_home() -> Iterator[Home]:
    """A home that is gone afterwards. `TMPDIR` decides where; a RAM disk would flatter us."""
    with tempfile.TemporaryDirectory(prefix="pb", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o700)
        yield Home(Path(folder))


def is_ram_disk(folder: Path) -> bool:
    """Whether commits below this folder cost nothing, as far as can be told."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return False
    best, kind = "", ""
    for line in mounts.read_text("utf-8").splitlines():
        _, where, fs, *_ = line.split()
        if folder.is_relative_to(where) and len(where) >= len(best):
            best, kind = where, fs
    return kind in ("tmpfs", "ramfs")
