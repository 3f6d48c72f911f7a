"""`prism doctor --loopback`: a signal to oneself, and the truth about how far it got."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prism_signals_cli.loopback import PROJECT

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Terminal

CLASSES = """
from prism_signals import HANDED_OVER, StrategyUnavailable, refused
class Shows:
    async def deliver(self, signal):
        with open("shown", "a") as f:
            f.write(f"{signal.signal_type}: {signal.payload['message']}\\n")
        return True
    def supports_push(self):
        return True
class HandsOver(Shows):
    async def deliver(self, signal):
        return HANDED_OVER
class Defers(Shows):
    async def deliver(self, signal):
        return False
class Refuses(Shows):
    async def deliver(self, signal):
        return refused("too blue")
class Raises(Shows):
    async def deliver(self, signal):
        raise RuntimeError("no luck")
class NeverBuilt(Shows):
    def __init__(self, needed):
        pass
"""


@pytest.fixture
def looped(prism: Terminal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the loopback through a route of one class, with or without the floor below it."""
    (stored / "loop_classes.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(str(stored))
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "codex")

    def run(name: str, *, floor: bool = True) -> dict[str, Any]:
        target = f"loop_classes:{name}"
        route = {"codex": target if floor else [target]}
        monkeypatch.setenv("PRISM_STRATEGY_MAP", json.dumps(route))
        said = prism("doctor", "--loopback", "--json")
        (found,) = [c for c in said.json["checks"] if c["check"] == "loopback"]
        assert said.status == (1 if found["verdict"] == "broken" else 0)
        return {**found["facts"], "verdict": found["verdict"], "detail": found["detail"]}

    return run


def test_a_strategy_that_confirms(looped: Any, stored: Path) -> None:
    found = looped("Shows")
    assert (found["verdict"], found["reached"], found["method"]) == ("ok", "confirmed", "Shows")
    assert 0 < found["delivered_ms"] <= found["confirmed_ms"]
    assert (stored / "shown").read_text() == "Loopback: prism doctor --loopback\n"
    assert found["detail"].startswith("stored -> delivered by Shows in ")


def test_a_strategy_that_hands_over_is_not_said_to_confirm(looped: Any) -> None:
    found = looped("HandsOver")
    assert (found["verdict"], found["reached"]) == ("ok", "delivered")
    assert found["confirmed_ms"] is None
    assert "not confirmed (HandsOver cannot tell" in found["detail"]


@pytest.mark.parametrize(
    ("name", "verdict", "trouble"),
    [
        ("Defers", "warning", None),
        ("Refuses", "warning", "refused: too blue"),
        ("Raises", "warning", "RuntimeError: no luck"),
        ("NeverBuilt", "broken", None),
    ],
)
def test_what_it_did_not_deliver_comes_from_the_floor(
    looped: Any, name: str, verdict: str, trouble: str | None
) -> None:
    pytest.importorskip("prism_signals_strategy_piggyback")
    found = looped(name)
    assert (found["verdict"], found["trouble"]) == (verdict, trouble)
    assert (found["reached"], found["method"]) == ("confirmed", "piggyback")
    assert found["pushed"] is False


def test_without_a_floor_it_got_no_further_than_the_store(looped: Any) -> None:
    found = looped("Refuses", floor=False)
    assert (found["verdict"], found["reached"], found["method"]) == ("broken", "stored", None)
    assert found["detail"] == "stored -> not delivered (refused: too blue)"


def test_the_floor_alone_is_enough(prism: Terminal) -> None:
    pytest.importorskip("prism_signals_strategy_piggyback")
    said = prism("doctor", "--loopback")
    assert said.status == 0
    assert "loopback: stored -> delivered by piggyback in " in said.out
    assert "-> confirmed by the verb after in " in said.out


def test_a_strategy_that_needs_a_client_says_so(
    prism: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("prism_signals_strategy_channels_push")
    pytest.importorskip("prism_signals_strategy_piggyback")
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_code")
    said = prism("doctor", "--loopback")
    assert said.status == 0
    assert (
        "channels_push: skipped, it needs a client's connection, which doctor has not" in said.out
    )
    assert "warning  loopback: stored -> delivered by piggyback" in said.out


def test_it_leaves_no_trace_outside_a_project_of_its_own(
    prism: Terminal, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("prism_signals_strategy_piggyback")
    monkeypatch.setenv("PRISM_AGENT_IDENTITY", "Donna")  # as inside an agent
    monkeypatch.setenv("PRISM_PROBE", "1")
    assert prism("doctor", "--loopback").status == 0
    with closing(sqlite3.connect(stored / "store.db")) as db:
        assert db.execute("SELECT slug FROM projects").fetchall() == [(PROJECT,)]
        assert db.execute("SELECT count(*) FROM sessions WHERE ended_at IS NULL").fetchone() == (0,)
        assert db.execute("SELECT DISTINCT state FROM signal_delivery").fetchall() == [("acked",)]
        assert db.execute("SELECT DISTINCT signal_type FROM signal_queue").fetchall() == [
            ("Loopback",)
        ]


def test_settings_that_cannot_be_used(prism: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_DELIVERY_WAIT", "soon")
    assert "BROKEN   loopback: not tried" in prism("doctor", "--loopback").out


def test_verbose_shows_what_a_strategy_raised(
    looped: Any, prism: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    looped("Raises")
    assert "no luck" not in prism("doctor", "--loopback").err
    assert "RuntimeError: no luck" in prism("doctor", "--loopback", "-v").err
