from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Said, Terminal


def _checks(said: Said) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for check in said.json["checks"]:
        found.setdefault(check["check"], []).append(check)
    return found


def test_a_healthy_installation(prism: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_code")
    said = prism("doctor", "--json")
    assert said.status == 0, said.out
    checks = _checks(said)
    assert said.json["ok"] is True
    assert set(checks) >= {
        "settings",
        "variables",
        "plugins",
        "route",
        "store",
        "directory",
        "doorbell",
    }
    assert checks["store"][0]["detail"] == "reachable and writable"
    assert "heard in" in checks["doorbell"][0]["detail"]
    assert checks["doorbell"][0]["facts"]["round_trip_ms"] > 0


def test_it_leaves_no_trace(prism: Terminal) -> None:
    prism("doctor")
    assert prism("status", "--json").json["peers"] == []
    assert prism("history", "--project", "prism-doctor", "--json").json["signals"] == []


def test_a_store_that_cannot_be_used_is_broken(
    prism: Terminal, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stored / "file").touch()
    monkeypatch.setenv("PRISM_STORE_URL", f"sqlite://{stored / 'file' / 'store.db'}")
    said = prism("doctor", "--json")
    assert said.status == 1
    assert said.json["ok"] is False
    assert _checks(said)["store"][0]["verdict"] == "broken"
    assert "Something is broken" in prism("doctor").out
    assert prism("history").status in (5, 6)


def test_a_store_that_nothing_serves(bare: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STORE_URL", "nothing://secret@host")
    said = bare("doctor", "--json")
    assert said.status == 1
    assert "secret" not in said.out
    assert bare("history", "--json").status == 6


def test_a_setting_that_cannot_be_used(bare: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_DELIVERY_WAIT", "soon")
    said = bare("doctor", "--json")
    assert said.status == 1
    assert "PRISM_DELIVERY_WAIT" in _checks(said)["settings"][0]["detail"]
    refused = bare("strategies", "--json")
    assert (refused.status, refused.error["code"]) == (6, "invalid_setting")


def test_unknown_variables_are_named(bare: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STORE_URL", "memory:")
    monkeypatch.setenv("PRISM_AGENT_IDENTIY", "Lola")
    said = bare("doctor", "--json")
    assert said.status == 0
    (variables,) = _checks(said)["variables"]
    assert variables["verdict"] == "warning"
    assert variables["facts"]["unknown"] == ["PRISM_AGENT_IDENTIY"]


def test_the_route_says_why(bare: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prism_signals_strategy_channels_push")
    pytest.importorskip("prism_signals_strategy_piggyback")
    monkeypatch.setenv("PRISM_STORE_URL", "memory:")
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_desktop")
    (route, *_) = _checks(bare("doctor", "--json"))["route"]
    states = {r["strategy"]: (r["state"], r["reason"]) for r in route["facts"]["route"]}
    assert states["piggyback"] == ("floor", "it serves every surface")
    assert states["channels_push"] == ("skipped", "it serves claude_code")


def test_a_route_to_nowhere_is_broken(bare: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STORE_URL", "memory:")
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "moon")
    monkeypatch.setenv("PRISM_STRATEGY_MAP", '{"moon": "rocket"}')
    said = bare("doctor", "--json")
    assert said.status == 1
    (route,) = _checks(said)["route"]
    assert "prism-signals-strategy-rocket" in route["detail"]


def test_strategies_are_listed_with_their_distribution(bare: Terminal) -> None:
    pytest.importorskip("prism_signals_strategy_channels_push")
    pytest.importorskip("prism_signals_strategy_piggyback")
    said = bare("strategies", "--surface", "claude_code", "--json").json
    assert said["route"] == ["channels_push", "piggyback"]
    rows = {s["name"]: s for s in said["strategies"]}
    assert rows["channels_push"]["pushes"] is True
    assert rows["piggyback"]["pushes"] is False
    assert rows["piggyback"]["distribution"] == "prism-signals-strategy-piggyback"
    assert rows["piggyback"]["version"]
    assert (
        "Route of claude_code: channels_push -> piggyback"
        in bare("strategies", "--surface", "claude_code").out
    )
