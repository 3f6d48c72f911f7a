"""A receiver that stands still: nothing is lost, late settlements change nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.client import World, agent_entries, until

from .fuses import Account, fused, light, shows

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
def world() -> Iterator[World]:
    """A store, and a folder for fuses."""
    with World() as world:
        world.set_variable("FUSES", str(world.folder / "fuses"))
        yield world
        assert world.is_whole()


def test_frozen_while_the_sender_dies(world: World) -> None:
    """Thirty signals for a receiver that stands still, and a sender that is killed then."""
    donna = fused(world, "Donna", "claude_code")
    lola = fused(world, "Lola", "claude_desktop", delivery_wait="0")
    world.freeze(donna)
    sent = [lola.tell("Donna", str(n)) for n in range(30)]
    lola.kill()
    donna.thaw()
    donna.event(sent[-1])
    assert shows(donna) == [(s, False) for s in sent]


def test_frozen_with_a_lease_that_runs_out(world: World) -> None:
    """Stopped between lease and showing; its twin shows it meanwhile, marked.

    When it goes on, its settlement is late and changes nothing: one delivery, at most two showings,
    one of them unmarked.
    """
    lola = fused(world, "Lola", "claude_desktop")
    frozen = fused(world, "Donna", "claude_code")
    light(world, frozen, "leased", raises=signal.SIGSTOP)
    sent = lola.tell("Donna", "held up")
    until(lambda: lola.track(sent)["state"] == "leased", "the lease")
    twin = fused(world, "Donna", "claude_desktop")
    until(lambda: agent_entries(twin.status()), "the signal at the twin", within=20)
    twin.ack(sent)
    before = lola.track(sent)
    frozen.thaw()
    frozen.status()
    account = Account()
    for agent in (twin, frozen):
        account.add(agent)
    assert account.shown[sent].count(False) <= 1
    assert len(account.shown[sent]) <= 2
    assert lola.track(sent) == before


def test_a_host_that_reads_nothing(world: World) -> None:
    """The client reads its pipe no more: the push is taken back, and comes when it reads."""
    lola = fused(world, "Lola", "claude_desktop")
    donna = fused(world, "Donna", "claude_code", mcp_write_within="0.1")
    with donna.unread():
        sent = [lola.tell("Donna", "x" * 30_000) for _ in range(8)]
        until(lambda: lola.track(sent[-1])["last_error"] or True, "an attempt")
    seen: list[str] = []

    def all_seen() -> bool:
        donna.status()
        seen[:] = [s for s, _ in shows(donna)]
        return set(seen) == set(sent)

    until(all_seen, "all of them", within=30)
    account = Account()
    account.add(donna)
    assert not account.doubled()
