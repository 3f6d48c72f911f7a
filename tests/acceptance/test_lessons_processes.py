"""Lessons about processes: starting, stopping, freezing, and being many under one name."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from tests.client import PRISM, Stage, World, agent_entries, alive, system_entries, until

pytestmark = pytest.mark.timeout(90)

TWO_SECONDS = 2.0
_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
child.wait()
"""


def _ended(world: World, identity: str) -> list[str]:
    rows = world.rows(
        "SELECT ended_reason FROM sessions WHERE identity = ? AND ended_at IS NOT NULL", identity
    )
    return [r["ended_reason"] for r in rows]


def test_f25_u13_it_ends_with_its_client(world: World) -> None:
    """F-25, U-13: stdin ends, and within two seconds it is gone and its session released."""
    donna = world.agent("Donna", "claude_code", project="P")
    began = time.monotonic()
    assert donna.close(within=TWO_SECONDS) == 0
    assert time.monotonic() - began < TWO_SECONDS
    assert _ended(world, "Donna") == ["released"]


def test_issue_a4_it_ends_on_sigterm(world: World) -> None:
    """Issue A.4: on SIGTERM as well, and peers are told at once."""
    lola = world.agent("Lola", project="P")
    donna = world.agent("Donna", "claude_code", project="P")
    donna.process.send_signal(signal.SIGTERM)
    assert donna.wait_for_end(TWO_SECONDS) == 0
    left = [e for e in system_entries(lola.status()) if e["signal_type"] == "PeerLeft"]
    assert [e["payload"]["reason"] for e in left] == ["released"]


def test_u13_it_does_not_outlive_its_parent(world: World) -> None:
    """U-13: the client is killed outright; no ghost stays to receive half the broadcasts."""
    env = world.environ(agent_surface="claude_code", agent_identity="Donna", project="P")
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, PRISM], env=env, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert alive(child)
        parent.kill()
    until(lambda: not alive(child), "its end", within=20)


def test_f06_a_killed_agent_restarts_at_once(world: World) -> None:
    """F-06: the dead session's name is free immediately, and peers hear that it was replaced."""
    lola = world.agent("Lola", project="P")
    first = world.agent("Donna", "claude_code", project="P")
    dead = first.status()["session"]
    first.kill()
    second = world.agent("Donna", "claude_code", project="P")
    peers = [p["session_id"] for p in lola.status()["peers"] if p["identity"] == "Donna"]
    assert peers == [second.status()["session"]]
    assert dead not in peers
    assert _ended(world, "Donna") == ["replaced"]
    second.event(lola.tell("Donna", "welcome back"))


def test_f03_two_of_one_name_do_not_fight(world: World) -> None:
    """F-03: two live sessions under one name, five heartbeats long: nobody registers again."""
    quick = {"heartbeat": "0.1"}
    twins = [world.agent("Donna", "claude_code", project="P", **quick) for _ in range(2)]
    sessions = {t.status()["session"] for t in twins}
    for _ in range(5):
        before = {r["session_id"]: r["heartbeat_at"] for r in world.rows("SELECT * FROM sessions")}
        until(
            lambda before=before: all(  # type: ignore[misc]
                r["heartbeat_at"] != before[r["session_id"]]
                for r in world.rows("SELECT * FROM sessions")
            ),
            "a heartbeat of both",
        )
    rows = world.rows("SELECT session_id, ended_at FROM sessions")
    assert {(r["session_id"], r["ended_at"]) for r in rows} == {(s, None) for s in sessions}
    joined = "SELECT 1 FROM signal_queue WHERE signal_type = 'PeerJoined'"
    assert len(world.rows(joined)) <= len(twins)


def test_f08_exactly_one_master(stage: Stage) -> None:
    """F-08, DESIGN §7: six agents with equal claims start at the same moment; one is master."""
    seats = [stage.seat() for _ in range(6)]
    together = threading.Barrier(len(seats))
    roles: list[str] = []

    def start(n: int) -> None:
        together.wait(20)
        roles.append(seats[n].start(agent_identity=f"Texi{n}")["controller_status"]["role"])

    threads = [threading.Thread(target=start, args=(n,)) for n in range(len(seats))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert Counter(roles) == {"master": 1, "peer": 5}
    assert len({s.status()["master"] for s in seats}) == 1
    told = [e for s in seats for e in system_entries(s.status())]
    assert "MasterPreempted" not in {e["signal_type"] for e in told}


def test_f22_a_suspended_agent(world: World) -> None:
    """F-22: stopped and resumed: what came meanwhile arrives in one ordered drain, nothing lost."""
    lola = world.agent("Lola", project="P", delivery_wait="0")
    donna = world.agent("Donna", "claude_code", project="P")
    world.freeze(donna)
    sent = [lola.tell("Donna", f"number {n}") for n in range(10)]
    states = [lola.track(s)["state"] for s in sent]
    assert states == ["pending"] * 10
    donna.thaw()
    for signal_id in sent:
        donna.event(signal_id)
    assert [e["meta"]["signal_id"] for e in donna.events] == sent
    assert all("redelivered" not in e["meta"] for e in donna.events)
    assert agent_entries(donna.status()) == []


def test_f22_a_suspended_agent_does_not_hold_up_its_sender(world: World) -> None:
    """F-22, DESIGN §7.5: the sender waits half a second for it and not longer, and is told so."""
    lola = world.agent("Lola", project="P")
    donna = world.agent("Donna", "claude_code", project="P")
    world.freeze(donna)
    began = time.monotonic()
    sent = lola.signal("Donna", "Question", {"message": "?"})
    assert time.monotonic() - began < TWO_SECONDS
    assert (sent["delivered"], sent["queued"]) == (False, True)
    donna.thaw()
    donna.event(sent["signal_id"])
