"""Lessons about losing, doubling and lying: each test names the row of `lessons.md` it keeps away.

Sections 1 (F) and 3 (U) of that page collect what users of earlier systems met.
"""

from __future__ import annotations

import threading
from datetime import datetime

import pytest

from tests.client import Gateway, Stage, World, agent_entries

pytestmark = pytest.mark.timeout(90)

SOON = {"reoffer_after": "0.05"}
NO_LIMITS = {
    "sender_per_minute": "100000", "pair_per_minute": "100000", "pair_per_hour": "100000",
    "thread_per_minute": "100000",
}  # fmt: skip


def _until_offered_again(agent: Gateway, signal_id: str) -> dict[str, object]:
    """Use verbs until the signal comes with one of them."""
    for _ in range(200):
        for entry in agent_entries(agent.status()):
            if entry["signal_id"] == signal_id:
                return entry
    raise AssertionError("it was not offered again")


def test_u01_f19_f33_a_host_that_ignores_pushes(world: World) -> None:
    """U-01, F-19, F-33, F-34: a push the host dropped comes with a later verb, marked, once."""
    lola = world.agent("Lola", project="P")
    donna = world.agent("Donna", "claude_code", project="P", **SOON)
    sent = lola.tell("Donna", "dropped by the host")
    donna.event(sent)  # the frame left us; this host shows it to nobody
    rung = lola.track(sent)
    assert (rung["state"], rung["confirmed_at"], rung["acked_at"]) == ("delivered", None, None)
    entry = _until_offered_again(donna, sent)
    assert entry["redelivered"] is True
    for _ in range(20):
        assert agent_entries(donna.status()) == [], "never a third time"


def test_u01_not_before_its_time(stage: Stage) -> None:
    """DESIGN §7.7: an unconfirmed hand-over is offered again after 10 s, not with the next verb."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    donna.event(lola.tell("Donna", "one"))
    assert agent_entries(donna.status()) == []


def test_u01_acting_ends_it(world: World) -> None:
    """DESIGN §7.7: what the agent acted on is not offered again, however long ago it was shown."""
    lola = world.agent("Lola", project="P")
    donna = world.agent("Donna", "claude_code", project="P", **SOON)
    acked, answered = lola.tell("Donna", "to ack"), lola.tell("Donna", "to answer")
    for sent in (acked, answered):
        donna.event(sent)
    donna.ack(acked)
    donna.tell("Lola", "done", in_reply_to=answered)
    shown = [e["signal_id"] for _ in range(30) for e in agent_entries(donna.status())]
    assert acked not in shown
    assert shown.count(answered) <= 1
    assert lola.track(answered)["acked_at"]


def test_u02_pushes_that_are_dropped_silently(world: World) -> None:
    """U-02: this host drops two of three; all arrive in the end, none more than twice."""
    lola = world.agent("Lola", project="P", **NO_LIMITS)
    donna = world.agent("Donna", "claude_code", project="P", **SOON)
    sent = [lola.tell("Donna", f"number {n}") for n in range(12)]
    seen: dict[str, int] = dict.fromkeys(sent, 0)
    for n, signal_id in enumerate(sent):
        donna.event(signal_id)
        if n % 3 == 0:
            seen[signal_id] += 1
    for _ in range(100):
        for entry in agent_entries(donna.status()):
            assert entry["redelivered"] is True
            seen[entry["signal_id"]] += 1
    assert all(1 <= times <= 2 for times in seen.values()), seen


def test_f13_delivered_is_said_only_after_a_settle(stage: Stage) -> None:
    """F-13, DESIGN §7.5: channels deliver, piggyback queues, and nobody there delivers nothing."""
    lola = stage.enter("Lola")
    stage.enter("Donna", "claude_code"), stage.enter("Vera")
    by_name = {n: lola.signal(n, "Question", {"message": "?"}) for n in ("Donna", "Vera", "Texi")}
    assert {n: (a["delivered"], a["queued"], a["confirmed"]) for n, a in by_name.items()} == {
        "Donna": (True, False, False), "Vera": (False, True, False), "Texi": (False, True, False),
    }  # fmt: skip
    assert {n: a["recipient_state"].get("can_wake") for n, a in by_name.items()} == {
        "Donna": True, "Vera": False, "Texi": None,
    }  # fmt: skip


def test_f20_delivered_is_not_acted(stage: Stage) -> None:
    """F-20, DESIGN §2.4: accepted, delivered, confirmed and acked are four different moments."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    sent = lola.tell("Donna", "one")
    assert lola.track(sent)["state"] == "pending"
    donna.status()
    rung = lola.track(sent)
    assert (rung["state"], bool(rung["delivered_at"]), rung["confirmed_at"]) == (
        "delivered", True, None,
    )  # fmt: skip
    donna.status()  # the next verb is the evidence that the answer before was read
    rung = lola.track(sent)
    assert (bool(rung["confirmed_at"]), rung["acked_at"]) == (True, None)
    donna.ack(sent)
    rung = lola.track(sent)
    assert (rung["state"], bool(rung["acked_at"])) == ("acked", True)
    moments = [datetime.fromisoformat(rung[f"{r}_at"]) for r in ("delivered", "confirmed", "acked")]
    assert moments == sorted(moments)


def test_f30_an_id_can_be_asked_about_at_once(stage: Stage) -> None:
    """F-30: also for a recipient that was never seen, `prism_status` knows the id it was given."""
    lola = stage.enter("Lola")
    for to in ("Nobody", "Donna.critic", "*"):
        sent = lola.signal(to, "inform", {"content": "c"})["signal_id"]
        assert lola.status(signal_id=sent)["signal"]["signal_id"] == sent


def test_f43_undelivered_survive_wrap(stage: Stage) -> None:
    """F-43: wrapped with a signal pending; the next start brings it once, by one way."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    donna.wrap()
    sent = lola.tell("Donna", "while away")
    donna.forget()
    answer = donna.start(agent_identity="Donna")
    shown = [e["signal_id"] for e in agent_entries(answer)]
    shown += [e["signal_id"] for e in agent_entries(donna.status())]
    shown += [e["meta"]["signal_id"] for e in donna.events]
    assert shown == [sent]


def test_u04_nothing_is_pushed_during_the_handshake(world: World) -> None:
    """U-04: a signal during `initialize` is delivered after `initialized`, and not swallowed."""
    lola = world.agent("Lola", project="P")
    donna = world.spawn("claude_code", agent_identity="Donna", project="P", register_after="0")
    donna.greet()
    sent = lola.tell("Donna", "too early")
    donna.request("tools/list")
    assert donna.events == []
    donna.notify("notifications/initialized")
    assert [e["signal_id"] for e in agent_entries(donna.start())] == [sent]
    newer = lola.tell("Donna", "in time")
    donna.event(newer)


def test_u05_two_sessions_of_one_identity(world: World) -> None:
    """U-05, DESIGN S11: leases; of two that ask at the same moment exactly one shows it."""
    lola = world.agent("Lola", project="P", **NO_LIMITS)
    twins = [world.agent("Donna", project="P") for _ in range(2)]
    sent = [lola.tell("Donna", f"number {n}") for n in range(40)]
    together = threading.Barrier(2)
    shown: list[list[str]] = [[], []]

    def ask(n: int) -> None:
        together.wait(10)
        for _ in range(10):
            shown[n] += [e["signal_id"] for e in agent_entries(twins[n].status())]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(shown[0] + shown[1]) == sorted(sent)


@pytest.mark.parametrize(
    ("signal_type", "payload", "again"),
    [
        ("Question", {"message": "do it"}, True),
        ("StatusUpdate", {"description": "it is done"}, False),
    ],
)
def test_u06_work_shown_to_a_session_that_died(
    world: World, signal_type: str, payload: dict[str, str], again: bool
) -> None:
    """U-06, F-06: what asks for action reaches the next session, marked; the rest is final.

    The next session starts at once: a dead one does not hold the name until it times out.
    """
    lola = world.agent("Lola", project="P")
    first = world.agent("Donna", project="P")
    sent = lola.signal("Donna", signal_type, payload)["signal_id"]
    (entry,) = agent_entries(first.status())
    assert (entry["signal_id"], entry["redelivered"]) == (sent, False)
    first.status()  # it has read that answer
    first.kill()
    second = world.gateway("claude_desktop", agent_identity="Donna", project="P")
    shown = [*agent_entries(second.start()), *agent_entries(second.status())]
    expected = [(sent, True)] if again else []
    assert [(e["signal_id"], e["redelivered"]) for e in shown] == expected


def test_u06_at_most_three_offers_then_dead(world: World) -> None:
    """DESIGN §4: offered again at most twice, then dead with reason `unacted`."""
    lola = world.agent("Lola", project="P")
    sent = lola.tell("Donna", "nobody does it")
    for _ in range(3):
        donna = world.agent("Donna", project="P")
        donna.close()
    last = world.agent("Donna", project="P")
    assert agent_entries(last.status()) == []
    rung = lola.track(sent)
    assert (rung["state"], rung["last_error"]) == ("dead", "unacted")


def test_u12_shown_at_start_is_not_shown_at_every_turn(world: World) -> None:
    """U-12: one row in start-up context, turn and turn again: it is shown once."""
    lola = world.agent("Lola", project="P")
    sent = lola.tell("Donna", "one")
    donna = world.gateway("claude_code", agent_identity="Donna", project="P", **SOON)
    shown = [e["signal_id"] for e in agent_entries(donna.start())]
    shown += [e["signal_id"] for _ in range(30) for e in agent_entries(donna.status())]
    shown += [e["meta"]["signal_id"] for e in donna.events]
    assert shown == [sent], "the next verb confirmed what the start had brought"


def test_u27_the_same_call_twice_is_one_signal(stage: Stage) -> None:
    """U-27: a call may be repeated with its key; other content under that key is refused."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    first = lola.signal("Donna", "Question", {"message": "once"}, idempotency_key="k")
    again = lola.signal("Donna", "Question", {"message": "once"}, idempotency_key="k")
    assert again["signal_id"] == first["signal_id"]
    assert again["duplicate"] is True
    with pytest.raises(Exception, match="idempotency_conflict"):
        lola.signal("Donna", "Question", {"message": "twice"}, idempotency_key="k")
    assert [e["signal_id"] for e in agent_entries(donna.status())] == [first["signal_id"]]
