"""`prism status`."""

from __future__ import annotations

from typing import Any

import click

from prism_signals import Outsider, Prism, Signal, headline

from ..listing import body, moment, signal_lines
from ..opening import known_name, onlooker, run, speaker
from ..options import speaker_options
from ..plaintext import one_line, say, say_json

_RUNGS = ("delivered_at", "confirmed_at", "acked_at")


@click.command()
@click.argument("signal_id", metavar="[ID]", required=False)
@speaker_options
def status(signal_id: str | None, name: str | None, pid: str | None, as_json: bool) -> int:
    """Show who is here and who is master; with ID, how far that signal got.

    With a name (--as, or inside an agent) it also counts what waits for that name.
    """
    answer = run(lambda prism: _ask(prism, signal_id, name, pid))
    if as_json:
        say_json(answer)
    else:
        say(*(project_lines(answer) if signal_id is None else _signal_lines(answer)))
    return 0


async def _ask(
    prism: Prism, signal_id: str | None, name: str | None, pid: str | None
) -> dict[str, Any]:
    me = known_name(prism, name)
    who: Outsider = await speaker(prism, name, pid) if me else onlooker(prism, pid)
    answer = await who.status(signal_id=signal_id)
    if signal_id is not None:
        return answer
    if me is None:
        answer.pop("counts", None)
    return {"identity": who.name.display if me else None, **answer}


def project_lines(answer: dict[str, Any]) -> list[str]:
    """Who is here and what waits, as people read it."""
    lines = [f"Project {one_line(answer['pid'])}, tenant {one_line(answer['tenant'])}"]
    peers = answer["peers"]
    if peers is None:
        lines.append(f"Who is here cannot be told now: {one_line(str(answer.get('directory')))}")
    else:
        lines.append(f"Master: {one_line(answer['master'] or 'nobody')}")
        lines.append("Here now:" if peers else "Nobody is here now.")
        lines += [_peer(p) for p in peers]
    counts = answer.get("counts")
    if counts:
        counted = ", ".join(f"{n} {what}" for what, n in counts.items())
        lines.append(f"For {one_line(answer['identity'])}: {counted}")
    return lines


def _peer(peer: dict[str, Any]) -> str:
    route = ", ".join(one_line(s) for s in peer["route"]) or "nothing yet"
    acted = peer["last_verb_at"]
    last = f"last verb {moment(acted)}" if acted else "no verb yet"
    who = f"{one_line(peer['identity'])} on {one_line(peer['surface'])}"
    return f"  {who}, reached by {route}, {last}"


def _signal_lines(answer: dict[str, Any]) -> list[str]:
    sent = Signal.from_dict(answer["signal"])
    lines = [*signal_lines(sent), *body(headline(sent.payload), 400)]
    for d in answer["deliveries"]:
        rungs = [f"{r.removesuffix('_at')} {moment(d[r])}" for r in _RUNGS if d[r]]
        by = f" by {one_line(d['delivery_method'])}" if d["delivery_method"] else ""
        lines.append(f"To {one_line(d['recipient'])}: {d['state']}{by}")
        lines += [f"  {rung}" for rung in rungs]
        if d["last_error"]:
            lines.append(f"  last trouble: {one_line(d['last_error'])}")
    return lines
