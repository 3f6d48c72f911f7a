from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prism_signals import OUTSIDE_SESSION

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Terminal


def test_outside_an_agent_a_name_is_needed(prism: Terminal) -> None:
    for args in (
        ("signal", "Donna", "x"),
        ("read-signals",),
        ("ack-signals", "x"),
        ("recall", "x"),
    ):
        said = prism(*args, "--json")
        assert (said.status, said.error["code"]) == (3, "no_identity")
        assert "--as NAME" in said.error["message"]


def test_a_terminal_registers_no_presence_and_says_so(prism: Terminal) -> None:
    signal_id = prism.sent("Donna", "x")
    signal = prism("status", signal_id, "--json").json["signal"]
    assert signal["from_session"] == OUTSIDE_SESSION
    assert prism("status", "--json").json["peers"] == []


def test_inside_an_agent_its_own_name_is_used(
    prism: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:  # U-15
    monkeypatch.setenv("PRISM_AGENT_IDENTITY", "Lola")
    for args in ((), ("--as", "lola")):
        said = prism("signal", "Donna", "x", "--json", *args)
        signal = prism("status", said.json["signal_id"], "--json").json["signal"]
        assert signal["from_identity"] == "Lola"


@pytest.mark.parametrize(
    "args",
    [
        ("signal", "Donna", "x"),
        ("read-signals",),
        ("ack-signals", "x"),
        ("recall", "x"),
        ("status",),
    ],
)
def test_inside_an_agent_another_name_is_refused(
    prism: Terminal, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:  # U-17
    monkeypatch.setenv("PRISM_AGENT_IDENTITY", "Lola")
    said = prism(*args, "--as", "Boss", "--json")
    assert (said.status, said.error["code"]) == (3, "identity_mismatch")
    assert prism("history", "--json").json["signals"] == []


def test_inside_an_agent_another_project_is_refused(
    prism: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRISM_AGENT_IDENTITY", "Lola")
    said = prism("signal", "Donna", "x", "--project", "PID-OTHER", "--json")
    assert (said.status, said.error["code"]) == (3, "foreign_project")


def test_the_settings_file_may_name_the_speaker(prism: Terminal, stored: Path) -> None:
    (stored / "prism.toml").write_text('agent_identity = "Texi"\n')
    assert prism("signal", "Donna", "x").status == 0
    assert prism("signal", "Donna", "y", "--as", "Lola").status == 0
    senders = [s["from_identity"] for s in prism("history", "--json").json["signals"]]
    assert senders == ["Lola", "Texi"]


def test_without_a_project_nothing_is_done(
    prism: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRISM_PROJECT")
    said = prism("history", "--json")
    assert (said.status, said.error["code"]) == (2, "invalid_project")
    assert prism("history", "--project", "PID-1").status == 0


@pytest.mark.parametrize("command", ["history", "status", "watch"])
def test_inside_an_agent_looking_keeps_to_its_project(
    prism: Terminal, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:  # F-39
    monkeypatch.setenv("PRISM_AGENT_IDENTITY", "Lola")
    said = prism(command, "--project", "PID-OTHER", "--json")
    assert (said.status, said.error["code"]) == (3, "foreign_project")
