"""SPEC-034 §3 driven by clients that are not this project's code: the official TypeScript ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.client import PRISM, World

pytestmark = pytest.mark.timeout(120)

SCRIPTS = Path(__file__).parent / "node"
LIMIT = 90  # seconds


def _node() -> tuple[str, str]:
    node, modules = os.environ.get("TESTS_NODE"), os.environ.get("TESTS_NODE_MODULES")
    if node and modules:
        return node, modules
    reason = os.environ.get("TESTS_NODE_MISSING", "TESTS_NODE and TESTS_NODE_MODULES are not set")
    if os.environ.get("TESTS_REQUIRE_SERVICES"):
        pytest.fail(f"the official MCP client must be there: {reason}", pytrace=False)
    pytest.skip(f"no official MCP client: {reason}. `python3 dev.py test` installs it.")


def _run(script: str, world: World) -> dict[str, Any]:
    node, modules = _node()
    beside = world.folder / "node"  # an ES module finds packages beside itself only
    shutil.copytree(SCRIPTS, beside, ignore=shutil.ignore_patterns("node_modules"))
    (beside / "node_modules").symlink_to(modules)
    done = subprocess.run(
        [node, str(beside / script), PRISM],
        env=world.environ(),
        cwd=world.folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] == "ok"
    return dict(told)


def _is_in_store(world: World, asked: str) -> bool:
    rows = world.rows("SELECT in_reply_to, signal_id FROM signal_queue")
    return len([r for r in rows if asked in (r["signal_id"], r["in_reply_to"])]) == 3


def test_section_3_by_the_legacy_client(world: World) -> None:
    """§3 and §14.10 with `@modelcontextprotocol/sdk` 1.x, which opens with `initialize`."""
    told = _run("legacy.mjs", world)
    assert set(told["verbs"]) >= {"prism_start", "prism_signal", "prism_read_signals"}
    assert _is_in_store(world, told["asked"])


def test_section_3_by_the_dual_era_client(world: World) -> None:
    """The same with `@modelcontextprotocol/client` 2.x: each surface gets the era it needs.

    A channel needs the legacy era, so that Donna's gateway refuses `server/discover`; Lola's serves
    the newest revision.
    """
    told = _run("modern.mjs", world)
    assert told["versions"] == ["2026-07-28", "2025-11-25"]
    assert _is_in_store(world, told["asked"])
