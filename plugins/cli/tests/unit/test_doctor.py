from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prism_signals_cli.backends import Watch

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Said, Terminal


def _checks(said: Said) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for check in said.json["checks"]:
        found.setdefault(check["check"], []).append(check)
    return found


def test_a_healthy_installation(
    prism: Terminal, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_code")
    said = prism("doctor", "--json")
    assert said.status == 0, said.out
    checks = _checks(said)
    assert said.json["ok"] is True
    assert set(checks) == {
        "versions", "settings", "variables", "plugins", "route", "store", "directory", "doorbell",
        "clock", "leftovers",
    }  # fmt: skip
    store = checks["store"][0]
    assert store["detail"].startswith(f"reachable and writable, {stored / 'store.db'}, schema ")
    assert store["facts"]["location"] == str(stored / "store.db")
    assert store["facts"]["schema_version"] >= 1
    assert checks["directory"][0]["facts"]["sessions"] == 0
    assert checks["leftovers"][0]["facts"]["sessions"] == []
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
    assert variables["facts"]["near"] == {"PRISM_AGENT_IDENTIY": "PRISM_AGENT_IDENTITY"}
    assert "did you mean PRISM_AGENT_IDENTITY?" in bare("doctor").out


def test_the_route_says_why(bare: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prism_signals_strategy_channels_push")
    pytest.importorskip("prism_signals_strategy_piggyback")
    monkeypatch.setenv("PRISM_STORE_URL", "memory:")
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_desktop")
    (route, *_) = _checks(bare("doctor", "--json"))["route"]
    states = {r["strategy"]: (r["state"], r["reason"]) for r in route["facts"]["route"]}
    assert states["piggyback"] == ("floor", "it serves every surface")
    assert states["channels_push"] == ("skipped", "it serves claude_code")
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_code")
    monkeypatch.setenv("PRISM_STRATEGY_MAP", '{"claude_code": ["piggyback"]}')
    (route, *_) = _checks(bare("doctor", "--json"))["route"]
    states = {r["strategy"]: (r["state"], r["reason"]) for r in route["facts"]["route"]}
    assert states["channels_push"] == ("skipped", "PRISM_STRATEGY_MAP leaves it out")


def test_a_strategy_whose_settings_cannot_be_used(
    bare: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("prism_signals_strategy_channels_push")
    pytest.importorskip("prism_signals_strategy_piggyback")
    monkeypatch.setenv("PRISM_STORE_URL", "memory:")
    monkeypatch.setenv("PRISM_AGENT_SURFACE", "claude_code")
    monkeypatch.setenv("PRISM_CHANNELS_PUSH_MAX_CHARS", "few")
    said = bare("doctor", "--json")
    (route,) = _checks(said)["route"]
    assert (route["verdict"], route["detail"]) == ("warning", "of claude_code: piggyback")
    (first, _) = route["facts"]["route"]
    assert (first["strategy"], first["state"]) == ("channels_push", "skipped")
    assert "PRISM_CHANNELS_PUSH_MAX_CHARS" in first["reason"]
    assert "skipped here: These settings cannot be used" in bare("strategies").out


def test_clocks_that_disagree_are_told(prism: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    prism.sent("Donna", "from the future")
    (clock,) = _checks(prism("doctor", "--json"))["clock"]
    assert clock["verdict"] == "ok"
    assert clock["facts"]["newest_ahead_s"] <= 0
    assert abs(clock["facts"]["file_system_ahead_s"]) < 2
    (store,) = Path().glob("store.db")
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE signal_queue SET created_at = '2199-01-01T00:00:00.000000Z'")
    (clock,) = _checks(prism("doctor", "--json"))["clock"]
    assert clock["verdict"] == "warning"
    assert "in the future" in clock["detail"]
    assert "NTP" in clock["hint"]


def test_a_wall_clock_that_is_set_while_it_looks() -> None:
    assert abs(Watch().jumped()) < 1
    assert Watch(wall=Watch().wall - 60).jumped() == pytest.approx(60, abs=1)


def test_where_a_store_is_that_cannot_be_opened(
    bare: Terminal, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stored / "file").touch()
    monkeypatch.setenv("PRISM_STORE_URL", f"sqlite://{stored / 'file' / 'x.db'}?deadline=1")
    (store,) = _checks(bare("doctor", "--json"))["store"]
    assert store["facts"]["urls"]["store"] == f"sqlite://{stored / 'file' / 'x.db'}?…"
    assert "trace" not in store
    (store,) = _checks(bare("doctor", "--json", "-v"))["store"]
    assert "StoreUnavailable" in store["trace"]


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
