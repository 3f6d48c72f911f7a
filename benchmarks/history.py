"""What "what is pending for me" costs when much has been delivered before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from prism_signals import (
    Claim,
    DeliveryState,
    ManualClock,
    Prism,
    Settlement,
    SystemClock,
    new_session_id,
)

from .bulk import multiply
from .figures import Aim, Figure, Row
from .home import temporary_home
from .plan import Plan
from .recorded import CONTENT, RECIPIENT, raw_connection
from .roles import Cue, role
from .samples import Sample, now

FLAT = 1.5
"""A ratio up to this is called flat: growth with history would be a factor of thousands."""
_LABELS = {
    "push": "lease of a push path, nothing pending",
    "verb": "lease of a verb, nothing pending",
    "pending": "pending of a push path, nothing pending",
    "raw": "raw: one row by primary key",
}


def measure(plan: Plan) -> Figure:
    """Look into an inbox with no history, then with more and more of it."""
    sizes = (0, plan.scaled(100_000, 3_000), plan.scaled(1_000_000, 12_000))
    times = plan.scaled(1500, 50)
    found: dict[int, dict[str, Sample]] = {}
    with temporary_home() as home:
        with role(past, home.environ("Lola")) as child:
            originals = child.play("make")
        for before, size in zip((0, *sizes), sizes, strict=False):
            if size:
                multiply(home, originals, size - before)
            with role(looker, home.environ(RECIPIENT), path=str(home.store)) as child:
                child.play(times // 4 + 1)
                found[size] = {k: Sample.of(v) for k, v in child.play(times).items()}
    empty, full = found[sizes[0]], found[sizes[-1]]
    return Figure(
        "history",
        "what is pending for me, beside old signals of the same recipient",
        [
            Row.of(f"{label} ({size:,} old)", found[size][kind])
            for kind, label in _LABELS.items()
            for size in sizes
        ],
        aims=[
            Aim(
                f"{kind} with {sizes[-1]:,} old / with none", full[kind].p50 / empty[kind].p50, FLAT
            )
            for kind in _LABELS
            if kind != "raw"
        ],
        notes=["old: a third acked, a third confirmed, a third handed over twice, unconfirmed"],
    )


async def past(cue: Cue) -> None:
    """Role: make one signal of each kind of the past, 40 days ago; gives their ids."""
    clock = ManualClock(SystemClock().now() - timedelta(days=40))
    async with Prism.open(clock=clock) as prism:
        outsider = prism.outside()
        claim = Claim(prism.scope(), RECIPIENT.casefold(), new_session_id())
        shown = Settlement(DeliveryState.DELIVERED, "channels_push", shown=True)
        async for _ in cue.awaited_rounds():
            ids: list[str] = []
            for kind in ("acked", "confirmed", "handed over"):
                sent = await outsider.signal(RECIPIENT, "inform", CONTENT)
                ids.append(sent["signal_id"])
                (lease,) = await prism.store.lease(claim)
                await prism.store.settle(lease, replace(shown, confirmed=kind != "handed over"))
            clock.advance(60)
            again = replace(claim, push=False, reoffer_after=timedelta(seconds=10))
            for lease in await prism.store.lease(again):
                await prism.store.settle(lease, shown)
            await prism.store.ack(prism.scope(), claim.recipient, ids[:1])
            cue.answer(ids)


async def looker(cue: Cue, path: str) -> None:
    """Role: look into an inbox where nothing waits; gives the times of each way to look."""
    async with Prism.open() as prism:
        claim = Claim(prism.scope(), RECIPIENT.casefold(), new_session_id())
        verb = replace(claim, push=False, limit=20, reoffer_after=timedelta(seconds=10))
        raw = raw_connection(Path(path))

        async def by_key() -> Any:
            return raw.execute("SELECT * FROM signal_queue WHERE id = 1").fetchone()

        looks: dict[str, Callable[[], Any]] = {
            "push": lambda: prism.store.lease(claim),
            "verb": lambda: prism.store.lease(verb),
            "pending": lambda: prism.store.pending(claim),
            "raw": by_key,
        }
        async for count in cue.awaited_rounds():
            times: dict[str, list[int]] = {kind: [] for kind in looks}
            for _ in range(count):
                for kind, look in looks.items():
                    before = now()
                    found = await look()
                    times[kind].append(now() - before)
                    if found and kind != "raw":
                        raise RuntimeError(f"{kind} found something in an empty inbox: {found}")
            cue.answer(times)
