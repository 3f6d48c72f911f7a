"""Start-up is paid at every turn of an agent, so discovery loads nothing heavy."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

import pytest

from devtools.layout import distributions

LIMIT = 0.5
RUNS = 7
HEAVY = (
    "_pytest", "asyncio", "click", "cryptography", "httpx", "httpx2", "jsonschema", "mcp",
    "mcp_types", "pytest", "rich", "sqlite3", "starlette", "trio", "uvicorn",
)  # fmt: skip
PROBE = """\
import sys, time
started = time.perf_counter()
from prism_signals import Registry
registry = Registry.discover()
seconds = time.perf_counter() - started
import json
print(json.dumps({
    "seconds": seconds,
    "modules": sorted(sys.modules),
    "problems": [p.summary for p in registry.problems],
    "strategies": [f.plugin.name for f in registry.strategies],
    "stores": [f.plugin.name for f in registry.stores],
    "gateways": [f.plugin.name for f in registry.gateways],
}))
"""


def discover() -> dict[str, object]:
    """Discover in a fresh process and tell what happened."""
    command = [sys.executable, "-c", PROBE]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    found: dict[str, object] = json.loads(answer.stdout)
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return discover()


def test_the_workspace_is_found_whole(found: dict[str, object]) -> None:
    assert found["problems"] == []
    assert found["gateways"] == ["mcp"]
    assert {"channels_push", "piggyback"} <= set(listed(found, "strategies"))
    assert "sqlite" in {name.removeprefix("store_") for name in listed(found, "stores")}


def test_discovery_loads_nothing_heavy(found: dict[str, object]) -> None:
    top = {name.split(".")[0] for name in listed(found, "modules")}
    assert sorted(top & set(HEAVY)) == []


def test_discovery_does_not_load_the_composition_root(found: dict[str, object]) -> None:
    """A plugin that needs `Prism` for an annotation imports it below `TYPE_CHECKING`."""
    assert "prism_signals.app" not in listed(found, "modules")


def test_discovery_is_quick() -> None:
    seconds = [float(str(discover()["seconds"])) for _ in range(RUNS)]
    assert statistics.median(seconds) < LIMIT, [round(s, 3) for s in seconds]


def test_entry_points_follow_the_folders() -> None:
    for d in distributions():
        if d.package in (None, "prism_signals"):
            continue
        plug = d.folder.name.removeprefix("strategy_")
        declared = d.config["project"].get("entry-points", {}).get("prism_signals", {})
        assert set(declared) <= {plug}, f"{d.name} declares {declared}"
        assert declared.get(plug, d.package) in (d.package, f"{d.package}.hooks")
        assert d.name == f"prism-signals-{d.folder.name.replace('_', '-')}"
        assert d.package == f"prism_signals_{d.folder.name}"


def listed(found: dict[str, object], key: str) -> list[str]:
    """A list of the probe's answer."""
    value = found[key]
    assert isinstance(value, list)
    return value
