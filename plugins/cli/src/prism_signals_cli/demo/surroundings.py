"""The environment of the demo's processes: their own store, nothing inherited by accident."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

PROJECT = "PID-PGR01"

# What a Python process needs. Everything else stays behind, above all PRISM_* and the variables of
# an agent in whose shell the demo may be running: a strategy could reach that agent through them.
_KEPT = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "VIRTUAL_ENV",
        "SYSTEMROOT",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
        "PATHEXT",
        "COMSPEC",
    }
)
_KEPT_PREFIXES = ("LC_", "XDG_", "PYTHON", "LD_", "DYLD_", "COVERAGE_")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where one run of the demo takes place.

    Attributes:
        folder: A temporary folder: the store and the processes' logs.
        store_url: The store in it.
    """

    folder: Path

    @property
    def store_url(self) -> str:
        """The SQLite file of this run."""
        return f"sqlite://{quote((self.folder / 'demo.db').as_posix())}"

    def environment(self, **prism: str) -> dict[str, str]:
        """The environment of one process: what is kept, the demo's settings, and these."""
        settings = {
            "PRISM_STORE_URL": self.store_url,
            "PRISM_PROJECT": PROJECT,
            "PRISM_CONFIG": str(self.config()),
            **prism,
        }
        return {**kept(os.environ), **settings}

    def config(self) -> Path:
        """An empty settings file, so that none of a surrounding folder is read."""
        file = self.folder / "prism.toml"
        file.touch()
        return file

    def agent(self, name: str, surface: str) -> dict[str, str]:
        """The environment of an agent's server."""
        return self.environment(PRISM_AGENT_IDENTITY=name, PRISM_AGENT_SURFACE=surface)

    def log_of(self, name: str) -> Path:
        """Where the stderr of an agent's server goes."""
        return self.folder / f"{name}.log"


def kept(environ: Mapping[str, str]) -> dict[str, str]:
    """The inherited variables that the demo's processes get."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in _KEPT or name.upper().startswith(_KEPT_PREFIXES)
    }


def prism(*arguments: str) -> list[str]:
    """The command line of `prism`, whether or not the script is on PATH."""
    return [sys.executable, "-m", "prism_signals_cli", *arguments]


def compact(value: object) -> str:
    """A value as JSON for a line of protocol."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
