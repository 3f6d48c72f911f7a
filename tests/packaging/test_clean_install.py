"""Core, then one strategy and the store, from nothing but wheels, far from the workspace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devtools.layout import ROOT

from .conftest import Wheels, checked, install

pytestmark = pytest.mark.timeout(240)

IMPORT_ALL = """\
import importlib, json, pkgutil
import prism_signals
names = [m.name for m in pkgutil.walk_packages(prism_signals.__path__, "prism_signals.")]
for name in names:
    importlib.import_module(name)
for name in prism_signals.__all__:
    getattr(prism_signals, name)
print(json.dumps({"where": prism_signals.__file__, "modules": names}))
"""
DISCOVER = """\
import json
from prism_signals import Registry
r = Registry.discover()
print(json.dumps({
    "problems": [p.summary for p in r.problems],
    "strategies": [f.plugin.name for f in r.strategies],
    "origins": sorted({f.origin.distribution for f in (*r.strategies, *r.stores)}),
    "gateways": [f.plugin.name for f in r.gateways],
}))
"""


def ask(python: Path, code: str) -> dict[str, Any]:
    """Run code in isolation, away from the workspace, and give the JSON that it prints."""
    answer: dict[str, Any] = json.loads(checked([python, "-I", "-c", code], python.parent))
    return answer


@pytest.fixture(scope="module")
def core(clean: Path, wheels: Wheels) -> Path:
    """An environment with core and what core declares."""
    install(clean, wheels["prism-signals-core"].file)
    return clean


@pytest.fixture(scope="module")
def alone(core: Path) -> dict[str, Any]:
    """What core is on its own; asked before anything is added to its environment."""
    return {**ask(core, IMPORT_ALL), **ask(core, DISCOVER)}


@pytest.fixture(scope="module")
def small(alone: dict[str, Any], core: Path, wheels: Wheels) -> Path:
    """The same environment with one strategy and the store."""
    assert alone
    names = ("prism-signals-strategy-piggyback", "prism-signals-store-sqlite")
    install(core, *(wheels[n].file for n in names))
    return core


def test_every_module_of_core_imports_with_what_core_declares(alone: dict[str, Any]) -> None:
    assert len(alone["modules"]) > 20
    assert not Path(alone["where"]).is_relative_to(ROOT)


def test_core_alone_finds_only_itself(alone: dict[str, Any]) -> None:
    assert alone["problems"] == []
    assert alone["strategies"] == []
    assert set(alone["origins"]) <= {"prism-signals-core"}


def test_a_small_team_installs_only_what_it_needs(small: Path) -> None:
    found = ask(small, DISCOVER)
    assert found["problems"] == []
    assert found["strategies"] == ["piggyback"]
    assert "prism-signals-store-sqlite" in found["origins"]
    assert found["gateways"] == []


def test_nothing_heavy_came_along(small: Path) -> None:
    code = "import importlib.metadata as m, json; "
    code += "print(json.dumps({'names': [d.name for d in m.distributions()]}))"
    names = {n.lower().replace("_", "-") for n in ask(small, code)["names"]}
    assert not names & {"mcp", "click", "pip", "starlette", "cryptography", "pytest"}
