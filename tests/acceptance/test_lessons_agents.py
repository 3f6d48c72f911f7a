"""Lessons about names, doorbells, loops and backlogs; each test names its row of `lessons.md`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.client import (
    Gateway,
    Refused,
    Stage,
    World,
    agent_entries,
    system_entries,
    until,
)

pytestmark = pytest.mark.timeout(120)

EVERY_TYPE: dict[str, dict[str, Any]] = {
    "ReviewRequested": {"spec_id": "S", "instructions": "look at it"},
    "ReviewCompleted": {"spec_id": "S", "summary": "looked", "gaps": [], "recommendation": "go"},
    "Acknowledgment": {"message": "thanks"},
    "TaskAssigned": {"description": "do it", "todo_number": 7, "priority": "normal"},
    "StatusUpdate": {"description": "half done", "artifacts": ["a.md"]},
    "SpecStatusChanged": {"spec_id": "S", "status": "draft"},
    "Question": {"message": "is it?"},
    "Answer": {"message": "it is"},
    "Loopback": {"message": "echo"},
    "inform": {"content": "by the way"},
    "query": {"content": "which one?"},
    "delegate": {"content": "take over"},
    "ack": {"content": "seen"},
    "warn": {"content": "careful"},
    "urgent": {"content": "now"},
}


def test_f10_names_are_compared_without_case(stage: Stage) -> None:
    """F-10, T-19: registered as `Donna`, reached as `donna`, `DONNA` and in compatibility forms."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    sent = [lola.tell(name, name) for name in ("donna", "DONNA", "\uff24onna")]
    assert [e["signal_id"] for e in agent_entries(donna.status())] == sent
    assert donna.start(agent_identity="dONNA")["context"]["identity"] == "Donna"


def test_dotted_names_reach_their_parent(stage: Stage) -> None:
    """DESIGN §4: `donna.critic` reaches Donna only while that sub-name has never registered."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    early = lola.tell("donna.critic", "for whoever is Donna")
    assert [e["signal_id"] for e in agent_entries(donna.status())] == [early]
    critic = stage.enter("Donna.critic")
    own = lola.tell("donna.critic", "for the critic")
    assert agent_entries(donna.status()) == []
    assert [e["signal_id"] for e in agent_entries(critic.status())] == [own]


def test_u08_the_sender_learns_who_is_there(stage: Stage) -> None:
    """U-08: live, away with when it was last seen, or never seen with the names that are near."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    ask = {"message": "?"}
    live = lola.signal("Donna", "Question", ask)["recipient_state"]
    assert live == {"state": "live", "can_wake": False}
    donna.wrap()
    away = lola.signal("Donna", "Question", ask)["recipient_state"]
    assert away["state"] == "away"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", away["last_seen"])
    answer = lola.signal("Dona", "Question", ask)
    assert answer["recipient_state"] == {"state": "unknown", "near": ["Donna"]}
    assert answer["queued"] is True, "never seen is still queued"
    late = stage.enter("Dona")
    assert lola.track(answer["signal_id"])["state"] == "delivered"
    assert agent_entries(late.status()) == []


def test_f17_every_type_renders(stage: Stage) -> None:
    """F-17: each type an agent can send has its own headline; none shows as unknown."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    with pytest.raises(Refused) as refused:
        lola.signal("Donna", "?", {})
    assert sorted(refused.value.error["known"]) == sorted(EVERY_TYPE)
    for kind, payload in EVERY_TYPE.items():
        sent = lola.signal("Donna", kind, payload)["signal_id"]
        content = donna.event(sent)["content"]
        assert content.startswith(f'📨 Signal from Lola ({kind}): "')
        assert "nknown" not in content


def test_f17_system_signals_have_their_own_lane(stage: Stage) -> None:
    """F-17: twenty arrivals are not twenty mails: one per peer, capped, and gone when unread."""
    donna = stage.enter("Donna", "claude_code")
    visitor = stage.seat()
    for n in range(25):
        visitor.start(agent_identity=f"Visitor{n}")
        visitor.wrap()
    told = [e for _ in range(4) for e in system_entries(donna.status())]
    assert 0 < len(told) <= 20
    assert donna.events == []
    assert donna.status()["counts"]["pending"] == 0


def test_f18_the_doorbell_names_two_verbs(stage: Stage) -> None:
    """F-18: what is pushed names the verb to read and the verb to reply, and nothing else."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    content = donna.event(lola.tell("Donna", "one"))["content"]
    assert set(re.findall(r"prism_\w+", content)) == {"prism_read_signals", "prism_signal"}


def test_f36_u15_the_environment_decides_who_one_is(world: World) -> None:
    """F-36, U-15: a file that says otherwise does not, and a restart keeps the identity."""
    config = world.folder / "prism.toml"
    config.write_text('agent_identity = "Frank"\nproject = "Q"\n', "utf-8")
    lola = world.agent("Lola", project="P")
    for _ in range(2):
        donna = world.gateway("claude_desktop", agent_identity="Donna", project="P")
        context = donna.start()["context"]
        assert (context["identity"], context["pid"]) == ("Donna", "P")
        sent = donna.tell("Lola", "who am I?")
        assert [e["from"] for e in agent_entries(lola.status()) if e["signal_id"] == sent] == [
            "Donna"
        ]
        donna.close()


def test_u10_u11_what_wakes_whom(stage: Stage) -> None:
    """U-10, U-11: requests wake an idle agent; acknowledgements and an empty inbox do not."""
    donna = stage.seat("claude_code")
    lola = stage.enter("Lola")
    donna.start(agent_identity="Donna")
    donna.wrap()
    quiet = lola.signal("Donna", "Acknowledgment", {"message": "thanks"})["signal_id"]
    donna.forget()
    donna.start(agent_identity="Donna")
    assert donna.events == [], "started with nothing but what the answer brought"
    lola.ack(donna.tell("Lola", "read it"))
    asked = lola.tell("Donna", "one")
    donna.event(asked)
    donna.ack(asked, quiet)
    donna.status()
    assert [e["meta"]["signal_id"] for e in donna.events] == [asked]


def test_u11_an_acknowledgment_alone_does_not_wake(world: World) -> None:
    """U-11: pushed to an agent that has done nothing yet, it waits for the agent's next verb."""
    donna = world.gateway("claude_code", agent_identity="Donna", project="P", register_after="0")
    lola = world.agent("Lola", project="P")
    until(lambda: len(lola.status()["peers"]) == 2, "Donna's session")
    quiet = [
        lola.signal("Donna", "Acknowledgment", {"message": "thanks"})["signal_id"],
        lola.signal("Donna", "inform", {"content": "fyi"})["signal_id"],
    ]
    loud = lola.tell("Donna", "please")
    donna.event(loud)
    assert not {e["meta"]["signal_id"] for e in donna.events} & set(quiet)
    shown = [e["signal_id"] for e in agent_entries(donna.status())]
    assert [s for s in shown if s in quiet] == quiet


def test_u17_tokens_are_never_in_a_text(world: World) -> None:
    """U-17: who sends is decided by the session; and no text a model sees holds its token."""
    lola = world.agent("Lola", project="P")
    donna = world.agent("Donna", "claude_code", project="P")
    sent = lola.tell("Donna", "hello")
    donna.event(sent)
    donna.status(signal_id=sent)
    donna.read(unread_only=False)
    with pytest.raises(Refused):
        donna.signal("Lola", "Question", {"message": "?"}, from_session="x")
    secrets = {r["token_hash"] for r in world.rows("SELECT token_hash FROM sessions")}
    everything = "".join([*lola.texts, *donna.texts])
    assert "token" not in everything.lower()
    assert not [s for s in secrets if s in everything]


def test_u19_a_chain_of_replies_ends(stage: Stage) -> None:
    """U-19: two agents that answer each other for ever are stopped, and told to ask the human."""
    agents = [stage.enter("Lola"), stage.enter("Donna")]
    last = agents[0].tell("Donna", "0")
    for n in range(1, 17):
        last = agents[n % 2].tell(("Lola", "Donna")[(n + 1) % 2], str(n), in_reply_to=last)
    with pytest.raises(Refused) as refused:
        agents[1].tell("Lola", "17", in_reply_to=last)
    assert refused.value.code == "too_many_hops"
    assert "new thread" in refused.value.message
    agents[1].tell("Lola", "a new thread")


def _flood(sender: Gateway, to: str, times: int) -> list[Refused]:
    numbers = [
        sender.begin_verb("prism_signal", **sender.draft(to, "inform", {"content": str(n)}))
        for n in range(times)
    ]
    refused = []
    for number in numbers:
        try:
            sender.finish_verb(number)
        except Refused as e:
            refused.append(e)
    return refused


def test_f42_u20_a_flood_is_limited(stage: Stage) -> None:
    """F-42, U-20: of 1,000 sends few pass; the sender is told why and until when; others go on."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    refused = _flood(lola, "Donna", 1000)
    assert 970 <= len(refused) <= 980
    assert {r.code for r in refused} == {"rate_limited"}
    assert all(0 < r.error["retry_after"] <= 60 for r in refused)
    assert lola.status()["identity"] == "Lola", "asking is exempt"
    assert stage.enter("Vera").tell("Donna", "not silenced")
    assert donna.tell("Vera", "nor is she")
    assert donna.status()["counts"]["unread"] <= 31


def test_u21_u22_a_backlog_comes_in_pages(world: World) -> None:
    """U-21, U-22: 1,065 wait: bounded answers, oldest first, none lost or swept unseen."""
    limits = {f"{k}_per_minute": "9999" for k in ("sender", "pair", "thread")}
    lola = world.agent("Lola", project="P", pair_per_hour="9999", **limits)
    draft = lola.draft("Donna", "inform", {"content": "x" * 100})
    numbers = [lola.begin_verb("prism_signal", **draft) for _ in range(1064)]
    sent = [lola.finish_verb(n, within=60)["signal_id"] for n in numbers]
    large = lola.signal("Donna", "inform", {"content": "y" * 20_000})["signal_id"]
    donna = world.gateway("claude_desktop", agent_identity="Donna", project="P")
    answer = donna.start()
    shown = agent_entries(answer)
    assert [e["signal_id"] for e in shown] == sent[: len(shown)]
    assert len(shown) == 20
    assert answer["more"] == len(sent) + 1 - len(shown)
    seen = [e["signal_id"] for e in shown]
    while page := agent_entries(donna.status()):
        seen += [e["signal_id"] for e in page]
        assert len(donna.texts[-1].encode()) < 24 * 1024
    assert seen == [*sent, large]
    (whole,) = donna.read(signal_id=large)
    assert whole["payload"] == {"content": "y" * 20_000}
