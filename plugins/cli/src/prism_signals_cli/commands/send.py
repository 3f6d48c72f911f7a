"""`prism signal` and `prism recall`."""

from __future__ import annotations

from typing import Any

import click

from prism_signals import BROADCAST, Prism

from ..content import payload_of
from ..listing import moment
from ..opening import run, speaker
from ..options import speaker_options
from ..plaintext import one_line, say, say_json

_SINGLE = "inform"


@click.command()
@click.argument("to")
@click.argument("content", required=False)
@click.option(
    "--type",
    "-t",
    "kind",
    default=_SINGLE,
    show_default=True,
    metavar="TYPE",
    help="The signal type, for example Question, StatusUpdate, delegate.",
)
@click.option("--payload", metavar="JSON", help="The whole payload, for types with several fields.")
@click.option("--reply-to", metavar="ID", help="The signal that this one answers.")
@click.option(
    "--priority",
    type=click.Choice(["ambient", "normal", "urgent"]),
    help="Default: that of the type.",
)
@click.option(
    "--expires-in", type=float, metavar="SECONDS", help="Undelivered after this time, it expires."
)
@click.option(
    "--idempotency-key",
    metavar="KEY",
    help="Sending again with this key within a day stores nothing new.",
)
@speaker_options
def signal(to: str, as_json: bool, **given: Any) -> int:
    """Send a signal to the agent TO ('*' is everyone on the project).

    CONTENT is the text; it goes into the type's text field. '-' reads it from stdin.
    """
    answer = run(lambda prism: _send(prism, to, **given))
    if as_json:
        say_json(answer)
    else:
        say(*_sent_lines(to, given["kind"], answer))
    return 0


@click.command()
@click.argument("signal_id", metavar="ID")
@speaker_options
def recall(signal_id: str, name: str | None, pid: str | None, as_json: bool) -> int:
    """Take back your own signal ID where it was not shown yet."""

    async def act(prism: Prism) -> dict[str, Any]:
        return await (await speaker(prism, name, pid)).recall(signal_id)

    answer = run(act)
    if as_json:
        say_json(answer)
    else:
        say(f"{answer['signal_id']}: {answer['status']}.", *_hint(answer))
    return 0 if answer["status"] in ("recalled", "partly") else 1


async def _send(
    prism: Prism,
    to: str,
    *,
    content: str | None,
    kind: str,
    payload: str | None,
    reply_to: str | None,
    priority: str | None,
    expires_in: float | None,
    idempotency_key: str | None,
    name: str | None,
    pid: str | None,
) -> dict[str, Any]:
    who = await speaker(prism, name, pid)
    carried = payload_of(prism.types.sendable(kind), content, payload)
    return await who.signal(
        to,
        kind,
        carried,
        reply_to,
        priority=priority,
        expires_in=expires_in,
        idempotency_key=idempotency_key,
    )


def _sent_lines(to: str, kind: str, answer: dict[str, Any]) -> list[str]:
    again = " before, under the same key" if answer.get("duplicate") else ""
    return [
        f"Stored{again}: {one_line(kind)} for {one_line(to)}.",
        f"  id {answer['signal_id']}",
        f"  {_broadcast(answer) if to == BROADCAST else _progress(one_line(to), answer)}",
    ]


def _progress(to: str, answer: dict[str, Any]) -> str:
    if answer["delivered"]:
        shown = "the model has it" if answer["confirmed"] else "its surface took it"
        return f"Delivered to {to}: {shown}."
    state = answer.get("recipient_state", {})
    match state.get("state"):
        case "live":
            can = "and can be woken" if state.get("can_wake") else "and sees it with its next verb"
            return f"Queued: {to} is live {can}."
        case "away":
            seen = f" (last seen {moment(state['last_seen'])})" if state.get("last_seen") else ""
            return f"Queued: {to} is away{seen}; it waits for the next start."
        case "unknown":
            near = ", ".join(one_line(n) for n in state.get("near", ()))
            similar = f" Similar names: {near}." if near else ""
            return f"Queued: nobody called {to} was ever seen in this project.{similar}"
        case _:
            return "Queued: who is here cannot be told now."


def _broadcast(answer: dict[str, Any]) -> str:
    recipients = answer.get("recipients", [])
    if not recipients:
        return "For nobody: no other agent is or was on this project."
    named = ", ".join(f"{one_line(r['name'])} ({r['state']})" for r in recipients)
    return f"Queued for {len(recipients)}: {named}."


def _hint(answer: dict[str, Any]) -> list[str]:
    return [f"  {answer['hint']}"] if "hint" in answer else []
