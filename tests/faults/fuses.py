"""Processes with a fuse, and the account of what their models were shown."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.client import Gateway, World, agent_entries
from tests.client.gateway import CHANNEL

PLUGIN = Path(__file__).parent / "plugin"
NO_LIMITS = {
    "sender_per_minute": "1000000", "pair_per_minute": "1000000", "pair_per_hour": "1000000",
    "thread_per_minute": "1000000",
}  # fmt: skip
QUICK = {"delivery_deadline": "0.2", "reoffer_after": "0.2", **NO_LIMITS}
"""Leases end 5 s after a delivery's deadline."""


def fused(world: World, name: str, surface: str, *, start: bool = True, **settings: str) -> Gateway:
    """An agent whose process carries the plugin with the fuses."""
    (world.folder / "fuses").mkdir(exist_ok=True)
    gateway = world.gateway(
        surface, agent_identity=name, project="P", python_path=[PLUGIN], **{**QUICK, **settings}
    )
    if start:
        gateway.start()
    return gateway


def light(
    world: World,
    gateway: Gateway,
    step: str,
    *,
    harmless: int = 0,
    raises: signal.Signals = signal.SIGKILL,
) -> None:
    """Let that process raise a POSIX signal the next time it comes to that step."""
    fuse = world.folder / "fuses" / f"{gateway.pid}-{step}"
    fuse.write_text(f"{raises.value} {harmless}", "ascii")


def shows(gateway: Gateway) -> list[tuple[str, bool]]:
    """Everything its model was shown, in order: the signal's id and whether it was marked."""
    seen: list[tuple[str, bool]] = []
    for frame in list(gateway.frames):
        if frame.get("method") == CHANNEL:
            meta = frame["params"]["meta"]
            seen.append((meta["signal_id"], "redelivered" in meta))
        elif "result" in frame:
            seen += [(e["signal_id"], e["redelivered"]) for e in _carried(frame["result"])]
    return seen


def _carried(result: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for block in result.get("content", []):
        yield from agent_entries(json.loads(block["text"]))


@dataclass(slots=True)
class Account:
    """What was shown to an identity over all of its lives.

    Attributes:
        shown: Per signal, in order, whether each showing was marked as redelivered.
    """

    shown: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, gateway: Gateway) -> None:
        """Take down what one life has seen, when it is over."""
        for signal_id, marked in shows(gateway):
            self.shown.setdefault(signal_id, []).append(marked)

    def doubled(self) -> dict[str, list[bool]]:
        """What was shown again without a mark."""
        return {s: marks for s, marks in self.shown.items() if not all(marks[1:])}


def lost(world: World, accepted: Iterable[str], account: Account) -> set[str]:
    """Accepted, and neither shown nor delivered nor pending."""
    states = {
        r["signal_id"]: r["state"]
        for r in world.rows("SELECT signal_id, state FROM signal_delivery")
    }
    kept = {"pending", "leased", "delivered", "acked"}
    return {s for s in accepted if s not in account.shown and states.get(s) not in kept}
