"""The folder that `prism new-strategy` writes is a strategy: it is installed, judged, and used."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client import ROOT, World

pytestmark = pytest.mark.timeout(180)

NAMES = ["x", "logbook", "a_name_of_the_longest_kind_yet"]
PATIENCE = 150.0


def run(folder: Path, world: World, *command: str) -> str:
    """Run a Python module in a folder; gives what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=world.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def made() -> Iterator[World]:
    """A world in which each of these is written, and `logbook` is installed from its wheel."""
    with World(project="P") as world:
        for name in NAMES:
            done = world.run("new-strategy", name)
            assert done.returncode == 0, done.stderr
        site = world.folder / "site"
        run(
            world.folder, world, "pip", "install", "-q", "--no-deps", "--no-build-isolation",
            "--disable-pip-version-check", "--target", str(site), "./strategy_logbook",
        )  # fmt: skip
        world.set_variable("PYTHONPATH", str(site))
        world.set_variable("XDG_CACHE_HOME", str(world.folder / "cache"))
        yield world


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_its_own_style(made: World, name: str) -> None:
    folder = made.folder / f"strategy_{name}"
    run(folder, made, "ruff", "check", "--no-cache", ".")
    run(folder, made, "ruff", "format", "--no-cache", "--check", ".")


def test_its_types_are_strict(made: World) -> None:
    assert "no issues found in 6 source files" in run(
        made.folder / "strategy_logbook", made, "mypy"
    )


def test_its_own_tests_and_the_kit_pass(made: World) -> None:
    told = run(made.folder / "strategy_logbook", made, "pytest", "-q", "-rs")
    last = told.strip().splitlines()[-1]
    assert " passed" in last
    assert "failed" not in last
    # Without a far end that hangs, rejects or has secrets, and with nothing else left out.
    reasons = {line.partition(": ")[2] for line in told.splitlines() if "SKIPPED" in line}
    assert all("the harness declares no" in r for r in reasons), reasons


def test_signals_go_through_it(made: World) -> None:
    shown = made.folder / "shown"
    settings = {"agent_surface": "logbook", "logbook_path": str(shown)}
    donna = made.gateway(None, agent_identity="Donna", **settings)
    donna.start()
    lola = made.agent("Lola")
    sent = lola.signal("Donna", "Question", {"message": "Is it done?"})
    assert sent["delivered"] is True
    assert lola.track(sent["signal_id"])["delivery_method"] == "logbook"
    assert '📨 Signal from Lola (Question): "Is it done?"' in shown.read_text("utf-8")
    assert sent["signal_id"] in shown.read_text("utf-8")


def test_doctor_knows_it(made: World) -> None:
    settings = {"agent_surface": "logbook", "logbook_path": str(made.folder / "looped")}
    checks = json.loads(made.run("doctor", "--loopback", "--json", **settings).stdout)["checks"]
    (loopback,) = [c for c in checks if c["check"] == "loopback"]
    assert (loopback["verdict"], loopback["facts"]["method"]) == ("ok", "logbook")
    without = made.run("doctor", "--loopback", agent_surface="logbook")
    assert without.returncode == 0
    assert "logbook: skipped, No file is named. Set PRISM_LOGBOOK_PATH." in without.stdout
    (variables,) = [c for c in checks if c["check"] == "variables"]
    assert variables["verdict"] == "ok"


def test_it_asks_for_the_ranges_that_the_workspace_asks_for(made: World) -> None:
    config = tomllib.loads((made.folder / "strategy_logbook/pyproject.toml").read_text("utf-8"))
    asked = [*config["project"]["dependencies"], *config["build-system"]["requires"]]
    asked += config["project"]["optional-dependencies"]["dev"]
    ours = (ROOT / "pyproject.toml").read_text("utf-8")
    for member in ("core", "plugins/cli", "plugins/testkit"):
        ours += (ROOT / member / "pyproject.toml").read_text("utf-8")
    assert [r for r in asked if not r.startswith("prism-") and f'"{r}"' not in ours] == []
    own = [r for r in asked if r.startswith("prism-")]
    assert sorted(own) == ["prism-signals-core>=0.1,<0.2", "prism-signals-testkit>=0.1,<0.2"]
