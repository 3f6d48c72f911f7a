"""When a session begins, what it leaves, and who is master."""

from __future__ import annotations

import json

import pytest

from tests.client import Refused, Stage, World, agent_entries, system_entries, until

AT_ONCE = "0.05"


def _live(world: World) -> list[str]:
    if not world.store.exists():
        return []
    rows = world.rows("SELECT identity FROM sessions WHERE ended_at IS NULL ORDER BY identity")
    return [r["identity"] for r in rows]


def test_a_configured_session_registers_by_itself(world: World) -> None:
    """Issue A.4, DESIGN §7: a peer reaches an agent that has called nothing yet."""
    donna = world.gateway(
        "claude_code", agent_identity="Donna", project="P", register_after=AT_ONCE
    )
    lola = world.agent("Lola", project="P")
    until(lambda: "Donna" in _live(world), "Donna's session")
    sent = lola.signal("Donna", "Question", {"message": "hello"})
    assert sent["delivered"] is True
    assert sent["recipient_state"]["state"] == "live"
    assert "hello" in donna.event(sent["signal_id"])["content"]


def test_what_waited_before_stays_queued_until_start(world: World) -> None:
    """DESIGN §7: until `prism_start` older signals stay queued, and newer ones are pushed."""
    lola = world.agent("Lola", project="P")
    older = lola.tell("Donna", "older")
    donna = world.gateway(
        "claude_code", agent_identity="Donna", project="P", register_after=AT_ONCE
    )
    until(lambda: "Donna" in _live(world), "Donna's session")
    newer = lola.tell("Donna", "newer")
    donna.event(newer)
    assert [e["meta"]["signal_id"] for e in donna.events] == [newer]
    assert lola.track(older)["state"] == "pending"
    assert [e["signal_id"] for e in agent_entries(donna.start())] == [older]


def test_start_is_idempotent(stage: Stage) -> None:
    """Issue A.4: calling it again keeps the session, and nobody is told of another peer."""
    donna, lola = stage.enter("Donna"), stage.enter("Lola")
    donna.status()
    contexts = [lola.start()["context"] for _ in range(3)]
    assert contexts[0] == contexts[1] == contexts[2]
    assert contexts[0]["identity"] == "Lola"
    assert system_entries(donna.status()) == []


def test_start_answers_who_leads(stage: Stage) -> None:
    """§10.3, DESIGN §11: `controller_status` names role, master and peers."""
    stage.enter("Donna", "claude_code")
    lola = stage.enter("Lola", "claude_desktop")
    told = lola.start()["controller_status"]
    assert (told["role"], told["master"]) == ("master", "Lola")
    assert sorted(p["identity"] for p in told["peers"]) == ["Donna", "Lola"]


def test_a_connection_closed_early_leaves_no_trace(world: World) -> None:
    """DESIGN §7: opened, looked at and closed by a client that only wanted the list of tools."""
    visitor = world.gateway("claude_code", agent_identity="Donna", project="P")
    visitor.request("tools/list")
    assert visitor.close() == 0
    lola = world.agent("Lola", project="P")
    assert lola.signal("Donna", "Question", {"message": "?"})["recipient_state"]["state"] == (
        "unknown"
    )
    assert _live(world) == ["Lola"]


def test_a_probe_leaves_no_trace(world: World) -> None:
    """DESIGN §7: with `PRISM_PROBE=1` it serves, and opens no session whatever is called."""
    lola = world.agent("Lola", project="P")
    probe = world.gateway(
        "claude_code", agent_identity="Donna", project="P", register_after="0", probe="1"
    )
    before = world.content()
    with pytest.raises(Refused) as refused:
        probe.start()
    assert refused.value.code == "not_allowed"
    assert "PRISM_PROBE" in refused.value.message
    assert probe.request("tools/list")["tools"]
    assert probe.close() == 0
    assert world.content() == before
    assert _live(world) == ["Lola"]
    assert system_entries(lola.status()) == []


def test_wrap_ends_the_session_and_only_start_revives(stage: Stage) -> None:
    """§8.2, DESIGN §7 and §11: what comes afterwards waits; other verbs say what to do."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    session = donna.status()["session"]
    assert donna.wrap()["released"] is True
    sent = lola.signal("Donna", "Question", {"message": "later"})
    assert (sent["delivered"], sent["queued"]) == (False, True)
    assert sent["recipient_state"]["state"] == "away"
    with pytest.raises(Refused) as refused:
        donna.status()
    assert refused.value.code == "session_released"
    assert "prism_start" in refused.value.message
    answer = donna.start(agent_identity="Donna")
    assert answer["context"]["session"] != session
    assert [e["signal_id"] for e in agent_entries(answer)] == [sent["signal_id"]]


def test_a_declared_master_preempts(world: World) -> None:
    """§10.1, DESIGN §7: declared, then `claude_desktop`, then first come; the loser is told."""
    donna = world.agent("Donna", "claude_code", project="P")
    lola = world.agent("Lola", "claude_desktop", project="P")
    vera = world.agent("Vera", "claude_code", project="P", master="1")
    assert {a.status()["master"] for a in (donna, vera)} == {"Vera"}
    told = [e for e in system_entries(lola.status()) if e["signal_type"] == "MasterPreempted"]
    assert [e["payload"]["preempted_by"] for e in told] == ["Vera"]
    vera.wrap()
    assert lola.status()["master"] == "Lola"


@pytest.mark.parametrize("surface", ["emacs", None])
def test_an_unknown_surface_falls_to_piggyback(world: World, surface: str | None) -> None:
    """§7.4, DESIGN §11: "always works, lowest common denominator", with a warning."""
    donna = world.agent("Donna", surface, project="P")
    status = donna.status()
    assert [(r["strategy"], r["state"]) for r in status["route"]] == [("piggyback", "floor")]
    (warning,) = status["warnings"]
    assert (surface or "PRISM_AGENT_SURFACE") in warning
    lola = world.agent("Lola", project="P")
    sent = lola.tell("Donna", "still works")
    assert [e["signal_id"] for e in agent_entries(donna.status())] == [sent]


def test_the_strategy_map_overrides_a_surface(world: World) -> None:
    """§7.4: `PRISM_STRATEGY_MAP` is configuration; here Claude Code gets piggyback alone."""
    only = json.dumps({"claude_code": ["piggyback"]})
    donna = world.agent("Donna", "claude_code", project="P", strategy_map=only)
    assert [r["strategy"] for r in donna.status()["route"]] == ["piggyback"]
    lola = world.agent("Lola", project="P")
    sent = lola.signal("Donna", "Question", {"message": "?"})
    assert (sent["delivered"], sent["recipient_state"]["can_wake"]) == (False, False)
    assert [e["signal_id"] for e in agent_entries(donna.status())] == [sent["signal_id"]]
    assert donna.events == []


def test_a_strategy_map_that_names_nothing_is_a_start_up_error(world: World) -> None:
    """DESIGN §11: an error that names the package to install, and no half-working server."""
    wrong = json.dumps({"codex": "app_server_inject"})
    done = world.run("mcp", agent_surface="codex", strategy_map=wrong)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "prism-signals-strategy-app-server-inject" in done.stderr
    assert "Traceback" not in done.stderr
