"""kill -9 at each step of a signal's life; how it is hit exactly is told in `plugin/prism_fuse`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client import Closed, Gateway, World, agent_entries, until

from .fuses import Account, fused, light, lost

pytestmark = pytest.mark.timeout(90)

LEASE_ENDS = 20.0
"""Seconds until what a dead process had leased is certainly offered again."""


@pytest.fixture
def world() -> Iterator[World]:
    """A store, and a folder for fuses."""
    with World() as world:
        world.set_variable("FUSES", str(world.folder / "fuses"))
        yield world
        assert world.is_whole()


def _shown_by_verbs(agent: Gateway, signal_id: str) -> bool:
    """Use verbs until the signal comes with one; gives whether it was marked."""
    return bool(
        until(
            lambda: [e for e in agent_entries(agent.status()) if e["signal_id"] == signal_id],
            f"{signal_id} with a verb",
            LEASE_ENDS,
        )[0]["redelivered"]
    )


def _only_signal(world: World) -> str:
    rows = world.rows("SELECT signal_id FROM signal_queue WHERE lane = 'agent'")
    assert len(rows) == 1
    return str(rows[0]["signal_id"])


def test_sender_killed_after_persist_before_bell(world: World) -> None:
    """Stored and never rung: the receiver's slow poll finds it, and it is shown once."""
    donna = fused(world, "Donna", "claude_code")
    lola = fused(world, "Lola", "claude_desktop")
    light(world, lola, "accepted")
    with pytest.raises(Closed):
        lola.tell("Donna", "stored")
    sent = _only_signal(world)
    donna.event(sent, within=5)
    assert agent_entries(donna.status()) == []
    assert [e["meta"]["signal_id"] for e in donna.events] == [sent]


@pytest.mark.parametrize(
    ("step", "shown_before"),
    [("leased", False), ("attempted", True)],
)
def test_receiver_killed_between_lease_and_settle(
    world: World, step: str, shown_before: bool
) -> None:
    """Lesson U-03, both windows: leased and not shown; shown and not settled.

    Nobody can tell them apart afterwards, so that the next life is shown it, marked.
    """
    lola = fused(world, "Lola", "claude_desktop")
    first = fused(world, "Donna", "claude_code")
    account = Account()
    light(world, first, step)
    sent = lola.tell("Donna", "in between")
    first.wait_for_end()
    account.add(first)
    assert (sent in account.shown) is shown_before
    assert lola.track(sent)["state"] == "leased"
    second = fused(world, "Donna", "claude_code")
    second.event(sent, within=LEASE_ENDS)
    account.add(second)
    assert account.shown[sent] == ([False, True] if shown_before else [True])
    until(lambda: lola.track(sent)["state"] == "delivered", "the settlement")


@pytest.mark.parametrize("step", ["answering", "attempted"])
def test_receiver_killed_while_an_answer_is_built(world: World, step: str) -> None:
    """Claimed for a verb's answer that nobody ever got: it comes again, marked."""
    lola = fused(world, "Lola", "claude_desktop")
    first = fused(world, "Donna", "claude_desktop")
    sent = lola.tell("Donna", "in between")
    light(world, first, step)
    with pytest.raises(Closed):
        first.status()
    second = fused(world, "Donna", "claude_desktop")
    assert _shown_by_verbs(second, sent) is True


@pytest.mark.parametrize(
    ("signal_type", "field"), [("Question", "message"), ("StatusUpdate", "description")]
)
def test_receiver_killed_between_settle_and_answer(
    world: World, signal_type: str, field: str
) -> None:
    """Both were settled into an answer; no model was shown it, its client died as well."""
    lola = fused(world, "Lola", "claude_desktop")
    first = fused(world, "Donna", "claude_desktop")
    sent = [lola.signal("Donna", signal_type, {field: str(n)})["signal_id"] for n in range(2)]
    first.begin_verb("prism_status")
    until(
        lambda: [lola.track(s)["state"] for s in sent] == ["delivered", "delivered"],
        "both settled",
    )
    first.kill()
    second = fused(world, "Donna", "claude_desktop", start=False)
    marks: dict[str, bool] = {}

    def both() -> bool:
        for entry in agent_entries(second.status()):
            assert entry["signal_id"] not in marks
            marks[entry["signal_id"]] = entry["redelivered"]
        return set(marks) == set(sent)

    until(both, "both signals", LEASE_ENDS)
    assert list(marks.values()) == [True, True]


def test_receiver_killed_with_many_waiting(world: World) -> None:
    """Killed at the fifth of twenty: the rest is pushed to the next life at once, in order."""
    lola = fused(world, "Lola", "claude_desktop", delivery_wait="0")
    first = fused(world, "Donna", "claude_code")
    account = Account()
    light(world, first, "attempted", harmless=4)
    sent = [lola.tell("Donna", str(n)) for n in range(20)]
    first.wait_for_end()
    account.add(first)
    assert list(account.shown) == sent[:5]
    second = fused(world, "Donna", "claude_code")
    account_of_second = Account()

    def all_there() -> bool:
        second.status()
        account_of_second.shown.clear()
        account_of_second.add(second)
        return set(account_of_second.shown) >= set(sent[4:])

    until(all_there, "the other fifteen and the fifth", LEASE_ENDS)
    account.add(second)
    assert not account.doubled()
    assert not lost(world, sent, account)
    unmarked = [s for s, marks in account_of_second.shown.items() if not marks[0]]
    assert unmarked == sent[5:]


def test_sender_killed_while_it_waits_for_the_settle(world: World) -> None:
    """Its call never came back; the signal is there, and once."""
    donna = fused(world, "Donna", "claude_code")
    world.freeze(donna)
    lola = fused(world, "Lola", "claude_desktop", delivery_wait="30")
    number = lola.begin_verb("prism_signal", **lola.draft("Donna", "Question", {"message": "?"}))
    stored = "SELECT signal_id FROM signal_queue WHERE lane = 'agent'"
    until(lambda: world.rows(stored), "the signal in the store")
    lola.kill()
    with pytest.raises(Closed):
        lola.finish_verb(number)
    donna.thaw()
    donna.event(_only_signal(world))
    assert len(donna.events) == 1
