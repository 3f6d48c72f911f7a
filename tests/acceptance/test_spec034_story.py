"""SPEC-034 §3, the test that defines "done": Lola asks, Donna answers, nobody relays."""

from __future__ import annotations

import re
from typing import Any

from tests.client import Gateway, Stage, agent_entries

TASK = {
    "spec_id": "SPEC-033",
    "instructions": "Summarize SPEC-033 (Prism Platform Architecture), review it, and provide "
    "feedback on gaps or concerns. Reply via signal when complete.",
}
REVIEW = {
    "spec_id": "SPEC-033",
    "summary": "Five-layer reference model covering...",
    "gaps": [
        "§5 deployment matrix missing Windows native path",
        "§6 doesn't address offline agents",
    ],
    "recommendation": "Accept with amendments",
}
THANKS = {
    "message": "Thanks Donna. Received your review. Frank or I will get back to you with "
    "decisions on the gaps."
}


def _asks(lola: Gateway, donna: Gateway) -> str:
    """Step 1, and the first half of step 2."""
    sent = lola.signal("Donna", "ReviewRequested", TASK)
    assert sent["delivered"] is True
    assert sent["queued"] is False
    assert sent["resolved_to_session"] == donna.status()["session"]
    assert sent["recipient_state"] == {"state": "live", "can_wake": True}
    content = donna.event(sent["signal_id"])["content"]
    shown = f'📨 Signal from Lola (ReviewRequested): "{TASK["instructions"]}"'
    assert content.splitlines()[0] == shown
    return str(sent["signal_id"])


def _answers(donna: Gateway, lola: Gateway, asked: str) -> dict[str, Any]:
    """The second half of step 2, and step 3 up to Lola's reading."""
    sent = donna.signal("Lola", "ReviewCompleted", REVIEW, in_reply_to=asked)
    assert sent["delivered"] is False, "nobody has read it yet"
    assert sent["queued"] is True
    (entry,) = agent_entries(lola.status())
    assert entry["signal_id"] == sent["signal_id"]
    return entry


def test_the_whole_of_section_3(stage: Stage) -> None:
    """§3 steps 1 to 4; §14 criteria 5, 6, 7 and 10; two strategies in one flow."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    asked = _asks(lola, donna)
    entry = _answers(donna, lola, asked)
    received_at = entry.pop("received_at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", received_at)
    assert entry == {
        "signal_id": entry["signal_id"],
        "from": "Donna",
        "signal_type": "ReviewCompleted",
        "in_reply_to": asked,
        "payload": REVIEW,
        "redelivered": False,
    }
    thanks = lola.signal("Donna", "Acknowledgment", THANKS, in_reply_to=asked)
    content = donna.event(thanks["signal_id"])["content"]
    assert content.splitlines()[0] == f'📨 Signal from Lola (Acknowledgment): "{THANKS["message"]}"'
    _is_one_settled_thread(lola, donna, asked, entry["signal_id"], thanks["signal_id"])


def _is_one_settled_thread(
    lola: Gateway, donna: Gateway, asked: str, answered: str, thanked: str
) -> None:
    request, review = lola.track(asked), lola.track(answered)
    assert request["delivery_method"] == "channels_push"
    assert review["delivery_method"] == "piggyback"
    assert request["acked_at"], "Donna's reply is the evidence that she acted"
    assert review["acked_at"], "Lola's acknowledgment closes the loop"
    seen = {s["signal_id"] for s in donna.read(thread_id=asked, unread_only=False)}
    seen |= {s["signal_id"] for s in lola.read(thread_id=asked, unread_only=False)}
    assert seen == {asked, answered, thanked}


def test_nothing_is_shown_twice_in_an_ordinary_conversation(stage: Stage) -> None:
    """DESIGN §2.3: in the ordinary case one signal reaches one model once."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    asked = _asks(lola, donna)
    _answers(donna, lola, asked)
    for agent in (lola, donna):
        assert agent_entries(agent.status()) == []
        assert agent_entries(agent.start()) == []
    assert [e["meta"]["signal_id"] for e in donna.events] == [asked]
