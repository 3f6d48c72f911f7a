"""`prism read-signals` and `prism ack-signals`."""

from __future__ import annotations

from typing import Any

import click

from prism_signals import Outsider, Prism

from ..listing import incoming_lines, tur_entry
from ..opening import run, speaker
from ..options import page_options, speaker_options
from ..plaintext import one_line, say, say_json

_PAGE, _MOST_PAGES = 100, 100
_ACKED = ("acked", "already_acked")
_WORDS = {
    "acked": "acked",
    "already_acked": "was acked before",
    "not_yours": "not addressed to you; unchanged",
    "unknown": "no such signal in this project",
    "ended": "expired, recalled or dead; unchanged",
}


@click.command("read-signals")
@click.option(
    "--unread-only/--all",
    default=True,
    show_default=True,
    help="Only what was not acted on, or everything.",
)
@click.option("--thread", "thread_id", metavar="ID", help="Only this thread.")
@click.option("--id", "signal_id", metavar="ID", help="Only this signal.")
@click.option("--query", metavar="TEXT", help="Only what contains this text.")
@page_options
@speaker_options
@click.pass_context
def read_signals(
    ctx: click.Context, /, name: str | None, pid: str | None, as_json: bool, **wanted: Any
) -> int:
    """Show the signals for a name, oldest first. Nothing is changed by it."""
    as_list = as_json and ctx.obj == "tur"

    async def act(prism: Prism) -> dict[str, Any]:
        who = await speaker(prism, name, pid)
        return await (_whole(who, wanted) if as_list else who.read_signals(**wanted))

    page = run(act)
    if as_list:
        say_json([tur_entry(e) for e in page["signals"]])
    elif as_json:
        say_json(page)
    else:
        for entry in page["signals"]:
            say(*incoming_lines(entry))
        say(*_closing(page, unread_only=wanted["unread_only"]))
    return 0


@click.command("ack-signals")
@click.argument("signal_ids", metavar="ID[,ID]…", nargs=-1, required=True)
@speaker_options
def ack_signals(
    signal_ids: tuple[str, ...], name: str | None, pid: str | None, as_json: bool
) -> int:
    """Say that the signals with these ids were acted on. Each id is answered for itself."""
    ids = [i.strip() for given in signal_ids for i in given.split(",") if i.strip()]

    async def act(prism: Prism) -> dict[str, Any]:
        return await (await speaker(prism, name, pid)).ack_signals(ids)

    answer = run(act)
    if as_json:
        say_json(answer)
    else:
        for r in answer["results"]:
            say(f"{one_line(r['signal_id'])}: {_WORDS.get(r['status'], r['status'])}")
        say(f"Acked {answer['acked']} of {len(answer['results'])}.")
    return 0 if all(r["status"] in _ACKED for r in answer["results"]) else 1


async def _whole(who: Outsider, wanted: dict[str, Any]) -> dict[str, Any]:
    """All pages in one, since EP-0123's readers know no pages; at most `_MOST_PAGES` of them."""
    page = await who.read_signals(**{**wanted, "limit": _PAGE})
    found = list(page["signals"])
    for _ in range(_MOST_PAGES - 1):
        if page["next"] is None:
            break
        page = await who.read_signals(**{**wanted, "limit": _PAGE, "cursor": page["next"]})
        found += page["signals"]
    return {"signals": found, "next": page["next"]}


def _closing(page: dict[str, Any], *, unread_only: bool) -> list[str]:
    if page["next"]:
        return [f"More: --cursor {one_line(page['next'])}"]
    if not page["signals"]:
        return ["No unread signals." if unread_only else "No signals."]
    return []
