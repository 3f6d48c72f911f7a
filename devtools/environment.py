"""Makes the virtual environments, without ensurepip and without touching the system's Python."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from .layout import CONSTRAINTS, ROOT, SetupError, dependency_groups, distributions
from .running import run, say

OLDEST_PIP = (22, 3)  # the first with --python


def workspace() -> Path:
    """The Python of `.venv`, which is made first where needed."""
    return environment(".venv", ("test", "check", "docs"), constraints=CONSTRAINTS)


def environment(
    name: str, groups: Sequence[str], *, constraints: Path | None = None, mark: str = ""
) -> Path:
    """Make a virtual environment with the workspace in it, unless it is there already.

    Args:
        name: The folder.
        groups: The dependency groups that are installed beside the workspace.
        constraints: A file that pins versions. Without one, the newest allowed are taken.
        mark: Anything else that makes an environment stale when it changes.

    Returns:
        The environment's Python.
    """
    folder = ROOT / name
    python = python_of(folder)
    stamp = folder / "workspace-stamp"
    home = f"{sys.version.split()[0]} {ROOT}"
    wanted = _fingerprint(constraints, mark)
    found = stamp.read_text("utf-8").splitlines() if stamp.is_file() else []
    if found == [home, wanted] and python.exists():
        return python
    pip_command(python)  # says at once where there is none
    if not python.exists() or (found and found[0] != home):
        say(f"making {name} for Python {sys.version.split()[0]}")
        venv.EnvBuilder(clear=True, symlinks=os.name != "nt").create(folder)
    stamp.unlink(missing_ok=True)
    _install(python, name, groups, constraints)
    stamp.write_text(f"{home}\n{wanted}\n", "utf-8")
    return python


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def pip(python: Path, *arguments: str | Path, waiting: str) -> None:
    """Run this Python's pip on another environment, which need not have one.

    Raises:
        SetupError: There is no usable pip, or it failed.
    """
    command = [*pip_command(python), *arguments, "-qq", "--no-input"]
    if run(command, waiting=waiting) != 0:
        raise SetupError(f"{waiting} failed; pip says why above.")


def pip_command(python: Path) -> list[str | Path]:
    """How to call pip for an environment.

    Raises:
        SetupError: This Python has no pip, or one that is too old.
    """
    try:
        version = importlib.metadata.version("pip")
    except importlib.metadata.PackageNotFoundError:
        raise SetupError("pip is missing. Install it (on Debian: python3-pip).") from None
    if tuple(int(n) for n in re.findall(r"\d+", version)[:2]) < OLDEST_PIP:
        raise SetupError(f"pip {'.'.join(map(str, OLDEST_PIP))} is needed, and this is {version}.")
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]


def _install(python: Path, name: str, groups: Sequence[str], constraints: Path | None) -> None:
    members = distributions()
    tools = dependency_groups(*groups)
    waiting = f"installing into {name}"
    say(f"installing {len(members)} distributions and {len(tools)} tools into {name}")
    pins: list[str | Path] = ["-c", constraints] if constraints else []
    newest = [] if constraints else ["--upgrade", "--upgrade-strategy", "eager"]
    # The build tools go in first, so that one set of them builds every distribution.
    pip(python, "install", *pins, *dependency_groups("build"), waiting=waiting)
    editable = [word for d in members for word in ("-e", d.folder)]
    how = ["--no-build-isolation", *newest]
    pip(python, "install", *how, *pins, *editable, *tools, waiting=waiting)


def _fingerprint(constraints: Path | None, mark: str) -> str:
    files = [d.folder / "pyproject.toml" for d in distributions()]
    files += [constraints] if constraints else []
    parts = [f"{f.relative_to(ROOT)}\n{f.read_text('utf-8')}" for f in files]
    return hashlib.sha256("\n".join([*parts, mark]).encode()).hexdigest()
