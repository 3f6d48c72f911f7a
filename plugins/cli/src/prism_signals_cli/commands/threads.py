"""`prism thread` and `prism history`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from prism_signals import Entry, Page, Prism

from ..listing import entry_json, entry_lines
from ..opening import onlooker, run
from ..options import page_options, place_options
from ..plaintext import draws_lines, one_line, say, say_json
from ..tree import tree_lines

_PREVIEW = 400


@click.command()
@click.argument("signal_id", metavar="ID")
@click.option("--full", is_flag=True, help="Show long texts whole.")
@place_options
def thread(signal_id: str, full: bool, pid: str | None, as_json: bool) -> int:
    """Show the conversation that the signal ID belongs to, as a tree."""

    async def act(prism: Prism) -> Sequence[Entry]:
        return await onlooker(prism, pid).thread(signal_id)

    entries = run(act)
    if as_json:
        root = entries[0].signal.thread_id if entries else None
        say_json({"thread_id": root, "signals": [entry_json(e) for e in entries]})
    else:
        say(*tree_lines(entries, most=None if full else _PREVIEW, drawn=draws_lines()))
    return 0


@click.command()
@click.option("--involving", metavar="NAME", help="Sent by this name or delivered to it.")
@click.option("--from", "sender", metavar="NAME", help="Sent by this name.")
@click.option("--to", "recipient", metavar="NAME", help="Delivered to this name.")
@click.option("--query", "text", metavar="TEXT", help="Only what contains this text.")
@click.option("--archived", is_flag=True, help="Look into the archive too.")
@page_options
@place_options
def history(pid: str | None, as_json: bool, **wanted: Any) -> int:
    """Show everyone's signals of a project, newest first."""

    async def act(prism: Prism) -> Page:
        return await onlooker(prism, pid).history(**wanted)

    page = run(act)
    if as_json:
        say_json({"signals": [entry_json(e) for e in page.entries], "next": page.next})
    else:
        for entry in page.entries:
            say(*entry_lines(entry, most=_PREVIEW))
        if page.next:
            say(f"Older: --cursor {one_line(page.next)}")
        elif not page.entries:
            say("No signals.")
    return 0
