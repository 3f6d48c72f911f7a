"""What prism_read_signals gives: bounded, nothing that was taken back, and true about the rest."""

from __future__ import annotations

import json

import pytest

from core.tests.unit.world import PID, World
from prism_signals import UnknownSignal

pytestmark = pytest.mark.anyio


async def test_a_page_is_as_large_as_an_answer_at_most(world: World) -> None:
    """A client cuts what is too long, and what it cut would count as read."""
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sizes = [100, 60_000, 3000, 3000, 3000, 3000, 3000, 100]
        sent = [
            (await lola.signal(PID, "Donna", "inform", {"content": "x" * n}))["signal_id"]
            for n in sizes
        ]
        seen: list[str] = []
        cursor: str | None = None
        pages = 0
        while cursor is not None or not pages:
            page = await donna.read_signals(cursor=cursor, unread_only=False)
            entries = [e for e in page["signals"] if e["from"] == "Lola"]
            assert len(json.dumps(page["signals"])) < 16_384 + 1024
            assert [e["signal_id"] for e in entries if "payload_preview" in e] == (
                [sent[1]] if sent[1] in [e["signal_id"] for e in entries] else []
            )
            seen += [e["signal_id"] for e in entries]
            cursor = page["next"]
            pages += 1
        assert seen == sent
        assert pages > 1
        await donna.status()
        track = [(await lola.status(signal_id=s))["deliveries"][0] for s in sent]
        assert [t["delivery_method"] for t in track] == ["read"] * len(sent)
        assert [t["confirmed_at"] is None for t in track] == [n == 60_000 for n in sizes]
        whole = await donna.read_signals(signal_id=sent[1])
        assert whole["signals"][0]["payload"] == {"content": "x" * 60_000}
        await donna.status()
        assert (await lola.status(signal_id=sent[1]))["deliveries"][0]["confirmed_at"]


async def test_what_was_taken_back_is_not_read(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "oops"})
        assert (await lola.recall(sent["signal_id"]))["status"] == "recalled"
        page = await donna.read_signals(unread_only=False)
        assert "Lola" not in [e["from"] for e in page["signals"]]
        with pytest.raises(UnknownSignal, match="taken back"):
            await donna.read_signals(signal_id=sent["signal_id"])
