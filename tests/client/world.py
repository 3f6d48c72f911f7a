"""A folder with one store, and the real processes that use it."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self

from .gateway import Answer, Gateway
from .waiting import PATIENCE
from .wire import start

PRISM = str(Path(sys.executable).parent / "prism")
ROOT = Path(__file__).resolve().parents[2]
SYSTEM_TYPES = ("MasterPreempted", "PeerJoined", "PeerLeft")
_RESTLESS = {"sessions"}
"""Tables that heartbeats and every verb may change."""


def agent_entries(answer: Mapping[str, Any] | Iterable[Answer]) -> list[Answer]:
    """The signals of agents in an answer's `pending_signals`, without the controller's."""
    entries = answer.get("pending_signals", []) if isinstance(answer, Mapping) else answer
    return [e for e in entries if e["signal_type"] not in SYSTEM_TYPES]


def system_entries(answer: Mapping[str, Any]) -> list[Answer]:
    """The controller's signals in an answer's `pending_signals`."""
    return [e for e in answer.get("pending_signals", []) if e["signal_type"] in SYSTEM_TYPES]


class World:
    """A temporary folder, a SQLite store in it, and the gateways that were started on it.

    Attributes:
        folder: Everything of this world is in it. Its name is short, for the sake of sockets.
        store: The SQLite file.
    """

    def __init__(self, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="prism-"))
        self.store = self.folder / "signals.db"
        self._settings = settings
        self._variables: dict[str, str] = {}
        self._gateways: list[Gateway] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process and remove the folder."""
        for gateway in self._gateways:
            gateway.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def set_variable(self, name: str, value: str) -> None:
        """Give a further environment variable to every process started from now on."""
        self._variables[name] = value

    def environ(self, **settings: str) -> dict[str, str]:
        """The environment of a process of this world; settings come without their `PRISM_`."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("PRISM_", "XDG_"))}
        own |= {
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "PRISM_STORE_URL": f"sqlite://{self.store}",
        }
        own |= self._variables
        named = {**self._settings, **settings}
        return own | {f"PRISM_{k.upper()}": v for k, v in named.items()}

    def spawn(
        self,
        surface: str | None,
        *,
        command: Sequence[str] = (PRISM, "mcp"),
        cwd: Path | None = None,
        python_path: Sequence[Path] = (),
        **settings: str,
    ) -> Gateway:
        """Start a `prism mcp` without a handshake."""
        env = self.environ(**({"agent_surface": surface} if surface else {}), **settings)
        if python_path:
            env["PYTHONPATH"] = os.pathsep.join(map(str, python_path))
        errors = self.folder / f"stderr-{len(self._gateways)}"
        process = start(command, env, cwd or self.folder, errors)
        return self.adopt(Gateway(process, errors, env.get("PRISM_PROJECT", "")))

    def adopt(self, gateway: Gateway) -> Gateway:
        """Take care of a gateway that was started elsewhere."""
        self._gateways.append(gateway)
        return gateway

    def gateway(self, surface: str | None, **more: Any) -> Gateway:
        """Start a `prism mcp` and shake hands."""
        gateway = self.spawn(surface, **more)
        gateway.initialize()
        return gateway

    def agent(self, name: str, surface: str | None = "claude_desktop", **more: Any) -> Gateway:
        """Start a configured agent's `prism mcp`, shake hands, and call `prism_start`."""
        gateway = self.gateway(surface, agent_identity=name, **more)
        gateway.start()
        return gateway

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run `prism` with these arguments to its end."""
        return subprocess.run(
            [PRISM, *arguments],
            env=self.environ(**settings),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def freeze(self, gateway: Gateway) -> None:
        """Stop a process where it stands, but between two writes.

        In the middle of one it would hold SQLite's lock, and with it everybody else, for as long as
        it is stopped; a lock ends with its process or its transaction only.
        """
        with ExitStack() as stack:
            for lock in ("-gate", "-turn"):
                file = stack.enter_context(Path(f"{self.store}{lock}").open("rb"))
                fcntl.flock(file, fcntl.LOCK_EX)
            gateway.freeze()

    # -- the store, seen without the product -------------------------------------------------

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """What plain SQLite reads there."""
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=10)) as db:
            db.row_factory = sqlite3.Row
            return [dict(r) for r in db.execute(query, values)]

    def content(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table but those that heartbeats change, in a stable order."""
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=10)) as db:
            names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {
                name: sorted(db.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)  # noqa: S608
                for (name,) in sorted(names)
                if name not in _RESTLESS
            }

    def is_whole(self) -> bool:
        """Whether SQLite finds its file intact."""
        return self.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def new_project() -> str:
    """A project id that nobody else uses."""
    return f"PID-{uuid.uuid4().hex[:12].upper()}"
