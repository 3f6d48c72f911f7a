"""What the workspace holds, found by looking: a new distribution is listed nowhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
CONSTRAINTS = ROOT / "constraints.txt"
PREFIX = "prism-signals"
KIT = "prism_signals_testkit"
"""What a plugin's module `conformance` imports, though it is another plugin."""


class SetupError(Exception):
    """The command cannot go on; the message is the one line that the caller sees."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """One `pyproject.toml` of the workspace.

    Attributes:
        folder: Where it is.
        config: The whole file.
    """

    folder: Path
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name, as an installer knows it."""
        return str(self.config["project"]["name"])

    @property
    def package(self) -> str | None:
        """The package it installs, or None where it is metadata alone."""
        found = sorted((self.folder / "src").glob("*/__init__.py"))
        return found[0].parent.name if found else None

    @property
    def requires(self) -> tuple[str, ...]:
        """What it requires, this workspace's own distributions included."""
        return tuple(self.config["project"].get("dependencies", ()))

    @property
    def outside(self) -> tuple[str, ...]:
        """What it requires from outside the workspace."""
        return tuple(r for r in self.requires if not r.startswith(PREFIX))


def distributions() -> list[Distribution]:
    """Every distribution: core, strategies, plugins, and last the meta-distribution."""
    folders = [ROOT / "core", *sorted(ROOT.glob("strategy_*")), *sorted(ROOT.glob("plugins/*"))]
    files = [f / "pyproject.toml" for f in (*folders, ROOT)]
    return [
        Distribution(f.parent, tomllib.loads(f.read_text("utf-8"))) for f in files if f.is_file()
    ]


def plugin_packages() -> list[str]:
    """The packages of every distribution but core."""
    return [d.package for d in distributions() if d.package and d.package != "prism_signals"]


def packages_with(module: str) -> list[str]:
    """Those of them that hold this module."""
    found = [d for d in distributions() if d.package in plugin_packages()]
    return [str(d.package) for d in found if (d.folder / f"src/{d.package}/{module}.py").is_file()]


def dependency_groups(*names: str) -> list[str]:
    """The requirements of these dependency groups of the root `pyproject.toml`."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    return [str(r) for name in names for r in table[name]]


def lower_bound(requirement: str) -> str:
    """`name>=1.2,<3` as `name==1.2`.

    Raises:
        SetupError: It has no lower bound of that form.
    """
    match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9][^,;\s]*)", requirement)
    if match is None:
        raise SetupError(f"{requirement!r} has no lower bound. Write it as name>=version,<major.")
    return f"{match[1]}=={match[2]}"
