"""Broken third-party plugins are named with the fix, and stop nobody from working."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client import World, agent_entries

GOOD = """
from contextlib import asynccontextmanager
from pathlib import Path
from prism_signals import SignalDeliveryStrategy, StrategyPlugin, hookimpl

class Writes(SignalDeliveryStrategy):
    async def deliver(self, signal):
        with Path("{name}.txt").open("a") as f:
            f.write(f"{{signal.from_identity}}: {{signal.payload['message']}}\\n")
        return True

    def supports_push(self):
        return True

@asynccontextmanager
async def open_it(settings, context):
    yield Writes()

@hookimpl
def prism_strategies():
    return [StrategyPlugin("{name}", ("their_editor",), open_it, strategy=Writes)]
"""
BROKEN = {
    "writes-too-dist": (
        GOOD.format(name="writes"),
        ["'writes'", "writes-dist", "Uninstall one of"],
    ),
    "unimportable-dist": ("import nothing_of_that_name", ["cannot be imported", "Reinstall"]),
    "misspelt-dist": (
        GOOD.format(name="misspelt").replace("def prism_strategies", "def prism_strategy"),
        ["does not fit the hooks", "prism_strategy'", "The hooks are: prism_strategies"],
    ),
    "newer-dist": (
        GOOD.format(name="newer").replace("strategy=Writes", "strategy=Writes, api_version=99"),
        ["written for plugin contract 99", "Upgrade prism-signals-core"],
    ),
    "older-dist": (
        GOOD.format(name="older").replace("strategy=Writes", "strategy=Writes, api_version=0"),
        ["written for plugin contract 0", "Upgrade older-dist"],
    ),
    "async-dist": (
        GOOD.format(name="asynchronous").replace("\ndef prism", "\nasync def prism"),
        ["is async", "make it a plain def"],
    ),
    "exiting-dist": ("raise SystemExit('no licence')", ["SystemExit: no licence", "uninstall it"]),
    "undecorated-dist": (
        GOOD.format(name="undecorated").replace("@hookimpl", ""),
        ["lacks the decorator", "Add it"],
    ),
    "wrong-dist": (
        GOOD.format(name="wrong").replace('("their_editor",)', '"their_editor"'),
        ["the surfaces of wrong", "tuple of texts", "Report it to wrong-dist"],
    ),
    "raising-dist": (
        GOOD.format(name="raising").replace("    return [", "    1 / 0\n    return ["),
        ["prism_strategies raised ZeroDivisionError", "Report it to raising-dist"],
    ),
}
"""Each distribution's source, and the words by which it is reported."""
TRACED = {"unimportable-dist": "ModuleNotFoundError", "raising-dist": "ZeroDivisionError"}


def install(site: Path, distribution: str, source: str) -> None:
    """Lay out an installed distribution as an installer would."""
    entry = distribution.removesuffix("-dist").replace("-", "_")
    (site / f"{entry}_module.py").write_text(source, "utf-8")
    info = site / f"{entry}_dist-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text(f"[prism_signals]\n{entry} = {entry}_module\n")


@pytest.fixture(scope="module")
def crowd() -> Iterator[World]:
    """A world in which a good strategy is installed, and every broken one beside it."""
    with World(project="P", agent_surface="their_editor") as world:
        site = world.folder / "site"
        site.mkdir()
        install(site, "writes-dist", GOOD.format(name="writes"))
        for distribution, (source, _) in BROKEN.items():
            install(site, distribution, source)
        world.set_variable("PYTHONPATH", str(site))
        world.set_variable("XDG_CACHE_HOME", str(world.folder / "cache"))
        yield world


def reported(problems: list[dict[str, Any]], distribution: str) -> dict[str, Any]:
    """The one problem of a distribution."""
    (found,) = [p for p in problems if p["distribution"] == distribution]
    return found


@pytest.fixture(scope="module")
def doctor(crowd: World) -> list[dict[str, Any]]:
    """What `prism doctor -v` says of plugins that are broken."""
    done = crowd.run("doctor", "-v", "--json")
    assert done.returncode == 1, done.stderr
    checks = [c for c in json.loads(done.stdout)["checks"] if c["check"] == "plugins"]
    return [{**c, **c["facts"]} for c in checks if c["verdict"] == "broken"]


@pytest.fixture(scope="module")
def strategies(crowd: World) -> dict[str, Any]:
    """What `prism strategies -v` says."""
    done = crowd.run("strategies", "-v", "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("distribution", BROKEN)
def test_each_is_named_with_the_fix(
    doctor: list[dict[str, Any]], strategies: dict[str, Any], distribution: str
) -> None:
    for found in (reported(doctor, distribution), reported(strategies["problems"], distribution)):
        assert found["version"] == "2.1"
        for words in (distribution, *BROKEN[distribution][1]):
            assert words in found["summary"]
        assert TRACED.get(distribution, "") in found.get("trace", "")


def test_nobody_else_is_reported(doctor: list[dict[str, Any]], strategies: dict[str, Any]) -> None:
    assert {p["distribution"] for p in doctor} == set(BROKEN)
    assert {p["distribution"] for p in strategies["problems"]} == set(BROKEN)


def test_tracebacks_are_shown_when_asked_for(crowd: World) -> None:
    for command in ("doctor", "strategies"):
        assert "Traceback" not in crowd.run(command).stdout
        assert "No module named 'nothing_of_that_name'" in crowd.run(command, "-v").stdout


def test_what_works_is_listed_and_in_the_route(strategies: dict[str, Any]) -> None:
    assert strategies["route"] == ["writes", "piggyback"]
    (mine,) = [s for s in strategies["strategies"] if s["name"] == "writes"]
    assert (mine["distribution"], mine["version"]) == ("writes-dist", "2.1")
    assert (mine["state"], mine["reason"]) == ("candidate", "it serves their_editor")


def test_signals_go_through_the_strategy_that_works(crowd: World) -> None:
    lola, donna = crowd.agent("Lola"), crowd.agent("Donna", "their_editor")
    sent = lola.signal("Donna", "Question", {"message": "still here?"})
    assert (sent["delivered"], sent["confirmed"]) == (True, True)
    assert lola.track(sent["signal_id"])["delivery_method"] == "writes"
    assert "Lola: still here?" in (crowd.folder / "writes.txt").read_text("utf-8")
    back = donna.tell("Lola", "yes", in_reply_to=sent["signal_id"])
    assert [e["signal_id"] for e in agent_entries(lola.status())] == [back]


def test_the_loopback_goes_through_it_too_and_nobody_hears_of_it(crowd: World) -> None:
    donna = crowd.agent("Vera", "claude_desktop")
    said = json.loads(crowd.run("doctor", "--loopback", "--json").stdout)
    (found,) = [c for c in said["checks"] if c["check"] == "loopback"]
    assert (found["verdict"], found["facts"]["method"]) == ("ok", "writes")
    assert found["facts"]["reached"] == "confirmed"
    answer = donna.status()
    assert "doctor" not in json.dumps(answer)
