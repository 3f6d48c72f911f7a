"""`prism watch`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio
import click

from prism_signals import Entry, Outsider, Prism, SignalId

from ..listing import entry_json, entry_lines
from ..opening import onlooker, run
from ..options import place_options
from ..plaintext import complain, one_line, say, say_json

_WINDOW = 100
_PAGES = 10
# Senders' clocks differ a little, and a signal shows up only when its sender's commit ends.
_SKEW = timedelta(seconds=60)
_PREVIEW = 400


@click.command()
@click.option("--to", "recipient", metavar="NAME", help="Only what is for this name.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="End after N signals.")
@place_options
def watch(recipient: str | None, count: int | None, pid: str | None, as_json: bool) -> int:
    """Follow the new signals of a project until Ctrl-C. Nothing is changed by it.

    With --json each signal is one line.
    """
    try:
        run(lambda prism: _follow(prism, recipient, count, pid, as_json=as_json))
    except KeyboardInterrupt:
        return 0
    return 0


@dataclass(slots=True)
class News:
    """Finds what is new in a project by looking at its newest signals.

    Attributes:
        who: Looks.
        recipient: Only what is for this name.
        since: What was stored earlier is never new.
        seen: What was found since then, and when it was stored.
    """

    who: Outsider
    recipient: str | None
    since: datetime
    seen: dict[SignalId, datetime] = field(default_factory=dict)

    async def fresh(self) -> list[Entry]:
        """What came since the last call, oldest first; at most a few pages of it."""
        found: list[Entry] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self.who.history(recipient=self.recipient, cursor=cursor, limit=_WINDOW)
            new = [e for e in page.entries if self._is_new(e)]
            found += new
            cursor = page.next
            if cursor is None or not new:
                break
        self.seen |= {e.signal.signal_id: e.signal.created_at for e in found}
        if found:
            newest = max(e.signal.created_at for e in found)
            self.since = max(self.since, newest - _SKEW)
            self.seen = {i: at for i, at in self.seen.items() if at >= self.since}
        return found[::-1]

    def _is_new(self, entry: Entry) -> bool:
        signal = entry.signal
        return signal.created_at >= self.since and signal.signal_id not in self.seen


async def _follow(
    prism: Prism, recipient: str | None, count: int | None, pid: str | None, *, as_json: bool
) -> None:
    who = onlooker(prism, pid)
    news = News(who, recipient, prism.clock.now() - _SKEW)
    await news.fresh()  # what is there already is not new
    # Also with --json: whoever started this process learns from it that nothing is missed from now.
    complain(f"Watching {one_line(recipient or who.scope.pid)}. Ctrl-C ends it.")
    left = count
    while left is None or left > 0:
        for entry in (await news.fresh())[:left]:
            _show(entry, as_json=as_json)
            left = None if left is None else left - 1
        if left != 0:
            await anyio.sleep(prism.bus.poll_interval.total_seconds())


def _show(entry: Entry, *, as_json: bool) -> None:
    if as_json:
        say_json(entry_json(entry))
    else:
        say(*entry_lines(entry, most=_PREVIEW))
