"""A strategy that raises, hangs or crashes leaves its neighbours and the signal alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import Gateway, World, agent_entries, until

from .fuses import NO_LIMITS, Account

pytestmark = pytest.mark.timeout(60)

STRATEGIES = Path(__file__).parent / "strategies"
AT_ONCE = 5.0
BREAKERS = [
    "Raising",
    "Hanging",
    "Stubborn",
    "Exiting",
    "Nonsense",
    "Silent",
    "Cancelling",
    "Grouping",
    "Unbuildable",
    "Unsure",
]
"""Classes in `strategies/broken.py`."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A sender, and the agent whose route begins with a broken strategy."""

    world: World
    lola: Gateway
    donna: Gateway
    name: str
    breaker: str

    def tell(self, text: str) -> str:
        """Send a signal through the broken route."""
        return self.lola.tell(self.name, text)


@pytest.fixture(scope="module")
def sender() -> Iterator[tuple[World, Gateway]]:
    """One sender for all of them."""
    with World(project="P", **NO_LIMITS) as world:
        yield world, world.agent("Lola")


@pytest.fixture(params=BREAKERS)
def pair(request: pytest.FixtureRequest, sender: tuple[World, Gateway]) -> Pair:
    """An agent for each way to be broken."""
    world, lola = sender
    name = f"Donna-{request.param}"
    route = json.dumps({"claude_code": [f"broken:{request.param}", "channels_push", "piggyback"]})
    donna = world.agent(
        name,
        "claude_code",
        strategy_map=route,
        python_path=[STRATEGIES],
        delivery_deadline="0.2",
        heartbeat="0.1",
    )
    return Pair(world, lola, donna, name, request.param)


def test_its_neighbours_and_the_signals_are_left_alone(pair: Pair) -> None:
    """The next verb brings the first signal; after three faults the next strategy pushes the rest.

    The verbs work all the while, the heartbeat goes on, and the status says who is broken.
    """
    _comes_with_a_verb(pair)
    _is_pushed_by_the_neighbour(pair)
    _says_so(pair)
    account = Account()
    account.add(pair.donna)
    assert not account.doubled()
    # The one that cannot be cancelled cannot be waited for: then the process ends without it.
    assert pair.donna.close(AT_ONCE) == (1 if pair.breaker == "Stubborn" else 0)


def _comes_with_a_verb(pair: Pair) -> None:
    sent = pair.tell("first")

    def shown() -> list[str]:
        carried = [e["signal_id"] for e in agent_entries(pair.donna.status())]
        return carried + [e["meta"]["signal_id"] for e in pair.donna.events]

    assert until(shown, "the signal", AT_ONCE) == [sent]
    pair.donna.ack(sent)
    assert pair.lola.track(sent)["state"] == "acked"


def _is_pushed_by_the_neighbour(pair: Pair) -> None:
    for sent in [pair.tell(str(n)) for n in range(4)]:
        pair.donna.event(sent)
        until(lambda sent=sent: pair.lola.track(sent)["delivered_at"], "the settle")  # type: ignore[misc]
        assert pair.lola.track(sent)["delivery_method"] == "channels_push"


def _says_so(pair: Pair) -> None:
    beat = "SELECT heartbeat_at FROM sessions WHERE identity = ?"
    before = pair.world.rows(beat, pair.name)
    until(lambda: pair.world.rows(beat, pair.name) != before, "a heartbeat")
    route = pair.donna.status()["route"]
    assert [r["strategy"] for r in route] == [pair.breaker, "channels_push", "piggyback"]
    assert [r["state"] for r in route][1:] == ["taken", "floor"]
