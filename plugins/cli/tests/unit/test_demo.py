"""The demo, which needs the whole product; each part that is missing is a reason to skip."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from prism_signals_cli.demo.surroundings import Surroundings, kept

_WHOLE_PRODUCT = (
    "prism_signals_store_sqlite",
    "prism_signals_gateway_mcp",
    "prism_signals_strategy_channels_push",
    "prism_signals_strategy_piggyback",
)
_missing = [name for name in _WHOLE_PRODUCT if find_spec(name) is None]
whole_product = pytest.mark.skipif(bool(_missing), reason=f"not installed: {_missing}")


@whole_product
@pytest.mark.timeout(60)
def test_lola_asks_and_donna_answers(process: Any) -> None:
    inherited = {
        "PRISM_AGENT_IDENTITY": "Somebody",
        "PRISM_PROJECT": "PID-OTHER",
        "PRISM_PROBE": "1",
        "PRISM_STORE_URL": "nothing://",
        "PRISM_STRATEGY_MAP": "nonsense",
    }
    done = process("demo", "--json", environment=inherited)
    result = json.loads(done.stdout)
    assert result["verdict"] == "ok", done.stderr
    assert done.returncode == 0
    assert [a["identity"] for a in result["agents"]] == ["Lola", "Donna"]
    assert result["agents"][0]["role"] == "master"
    told = [(s["sender"], s["recipient"], s["signal_type"], s["strategy"]) for s in result["steps"]]
    assert told == [
        ("Lola", "Donna", "ReviewRequested", "channels_push"),
        ("Donna", "Lola", "ReviewCompleted", "piggyback"),
        ("Lola", "Donna", "Acknowledgment", "channels_push"),
    ]
    assert all(s["shown_ms"] > 0 and s["answered_ms"] > 0 for s in result["steps"])
    root, review, thanks = result["thread"]["signals"]
    assert review["in_reply_to"] == thanks["in_reply_to"] == root["signal_id"]


@whole_product
@pytest.mark.timeout(60)
def test_people_see_each_step_and_the_tree(process: Any) -> None:
    done = process("demo")
    text = done.stdout.decode()
    assert done.returncode == 0, text
    for wanted in ("Step 1:", "Step 2-3:", "Step 3-4:", "simulated client", "└─ ", "Verdict: ok"):
        assert wanted in text
    assert "Claude received" not in text


@whole_product
@pytest.mark.timeout(60)
def test_a_failure_is_told_and_has_its_exit_status(process: Any, stored: Path) -> None:
    # A package of the same name that breaks on import stands in for a broken installation.
    broken = stored / "prism_signals_strategy_channels_push"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
    done = process("demo", "--json", environment={"PYTHONPATH": str(stored)})
    result = json.loads(done.stdout)
    assert done.returncode == 1
    assert "channels_push" in result["verdict"]


def test_only_what_a_process_needs_is_inherited() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "PRISM_PROJECT": "x",
        "PRISM_PROBE": "1",
        "CLAUDE_CODE_MESSAGING_SOCKET": "/s",
        "CODEX_HOME": "/c",
        "SECRET_TOKEN": "t",
    }
    assert kept(given) == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C"}


def test_each_agent_gets_the_demos_own_settings(tmp_path: Path) -> None:
    env = Surroundings(tmp_path).agent("Lola", "claude_desktop")
    mine = {k: v for k, v in env.items() if k.startswith("PRISM_")}
    assert mine == {
        "PRISM_AGENT_IDENTITY": "Lola",
        "PRISM_AGENT_SURFACE": "claude_desktop",
        "PRISM_PROJECT": "PID-PGR01",
        "PRISM_STORE_URL": f"sqlite://{tmp_path / 'demo.db'}",
        "PRISM_CONFIG": str(tmp_path / "prism.toml"),
    }
