"""`prism doctor --loopback`: a signal to oneself, through a hosted session's real route."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import anyio

from prism_signals import (
    Agent,
    Delivery,
    DeliveryState,
    Entry,
    Prism,
    PrismError,
    Registry,
    Settings,
    SignalId,
)

from .findings import Finding, Verdict, broken

PROJECT = "prism-doctor-loopback"
"""Nobody else is in this project, so nobody hears of the session that comes and goes."""
_MARGIN = 5.0
_FIRST_LOOK, _LONGEST_LOOK = 0.005, 0.25  # seconds
_NO_CLIENT = (
    "it needs a client's connection, which doctor has not; inside the agent, prism_status tells "
    "whether it is open"
)


@dataclass(frozen=True, slots=True)
class Travel:
    """How far the signal got.

    Attributes:
        signal_id: Which one.
        route: Each strategy of the route: taken, floor, skipped or crashed, and why.
        pushed: Its delivery after the strategies that push were asked.
        last: Its delivery after two verbs of the agent.
        sent_at: When it was stored.
        clientless: Strategies of the route that need a client's connection.
    """

    signal_id: str
    route: Sequence[Mapping[str, str]]
    pushed: Delivery
    last: Delivery
    sent_at: datetime
    clientless: frozenset[str]


async def loopback(registry: Registry) -> Finding:
    """Host a session in this process, send it a `Loopback` signal, and say how far that got."""
    name = f"doctor-{secrets.token_hex(4)}"  # doctors who run side by side do not meet
    try:
        settings = Settings.load(
            agent_identity=name, project=PROJECT, probe=False, master=False, delivery_wait=0
        )
        with anyio.fail_after(2 * (settings.delivery_deadline + _MARGIN)):
            async with Prism.open(settings, registry=registry) as prism, prism.host() as agent:
                return _told(await _travel(prism, agent, name))
    except TimeoutError:
        return Finding(
            "loopback",
            Verdict.BROKEN,
            "it did not end in time",
            "A strategy hangs, or the store is very slow; -v tells more.",
        )
    except Exception as e:  # noqa: BLE001 - as in the checks
        return replace(broken("loopback", e), hint="The signal could not be sent; see above.")


async def _travel(prism: Prism, agent: Agent, name: str) -> Travel:
    await agent.start()
    me = prism.outside(name, session_id=agent.session.session_id) if agent.session else None
    if me is None:
        raise PrismError("The session of this doctor ended at once. Run it again with -v.")
    sent = await me.signal(name, "Loopback", {"message": "prism doctor --loopback"})
    signal_id = SignalId(sent["signal_id"])
    try:
        pushed = await _after_push(prism, agent, signal_id)
        status = await agent.status()  # a verb: its answer takes what was not pushed
        await agent.status()  # the next one confirms what that answer carried
        last = await _entry(prism, signal_id)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_MARGIN):
            await me.ack_signals([signal_id])
    needs = {c.name for c in agent.route.candidates if c.handshake is not None}
    return Travel(
        signal_id,
        status["route"],
        pushed,
        last.deliveries[0],
        last.signal.created_at,
        frozenset(needs),
    )


async def _after_push(prism: Prism, agent: Agent, signal_id: SignalId) -> Delivery:
    """Its delivery as soon as a strategy that pushes has answered, or the deadline is over."""
    delivery = (await _entry(prism, signal_id)).deliveries[0]
    session = agent.session
    if session is None or not session.registration.can_push:
        return delivery
    pause = _FIRST_LOOK
    with anyio.move_on_after(prism.settings.delivery_deadline + 1):
        while not _answered(delivery):
            await anyio.sleep(pause)  # a bell would say when, but the hosted session hears it
            pause = min(pause * 2, _LONGEST_LOOK)
            delivery = (await _entry(prism, signal_id)).deliveries[0]
    return delivery


def _answered(d: Delivery) -> bool:
    postponed = d.state is DeliveryState.PENDING and (d.next_attempt_at or d.last_error)
    return bool(d.delivered_at or d.attempts or postponed or d.state is DeliveryState.DEAD)


async def _entry(prism: Prism, signal_id: SignalId) -> Entry:
    entry = await prism.store.find(prism.scope(), signal_id)
    if entry is None:
        raise PrismError("The signal was stored and is not found. The store loses signals.")
    return entry


def _told(travel: Travel) -> Finding:
    d = travel.last
    rungs = ["stored"]
    facts: dict[str, Any] = {
        "signal_id": travel.signal_id,
        "project": PROJECT,
        "route": [dict(r) for r in travel.route],
        "stored": True,
        "delivered_ms": _after(travel.sent_at, d.delivered_at),
        "confirmed_ms": _after(travel.sent_at, d.confirmed_at),
        "method": d.delivery_method,
        "pushed": travel.pushed.delivered_at is not None,
        "trouble": travel.pushed.last_error or d.last_error,
        "reached": "stored",
    }
    if d.delivered_at is None:
        rungs.append(f"not delivered ({facts['trouble'] or 'no strategy took it'})")
    else:
        facts["reached"] = "confirmed" if d.confirmed_at else "delivered"
        rungs.append(f"delivered by {d.delivery_method} in {facts['delivered_ms']} ms")
        rungs.append(_confirmation(d, facts))
    lines = [*(_row(r, travel.clientless) for r in travel.route), *_remarks(travel, facts)]
    return Finding(
        "loopback", _verdict(travel), " -> ".join(rungs), facts=facts, lines=tuple(lines)
    )


def _confirmation(d: Delivery, facts: Mapping[str, Any]) -> str:
    if d.confirmed_at is None:
        return f"not confirmed ({d.delivery_method} cannot tell whether the model saw it)"
    how = "" if facts["pushed"] else " by the verb after"
    return f"confirmed{how} in {facts['confirmed_ms']} ms"


def _remarks(travel: Travel, facts: Mapping[str, Any]) -> list[str]:
    asked = [r["strategy"] for r in travel.route if r["state"] == "taken"]
    if facts["pushed"] or not asked:
        return []
    why = facts["trouble"] or "it answered that it was not shown"
    return [f"{', '.join(asked)} did not deliver it: {why}"]


def _verdict(travel: Travel) -> Verdict:
    if travel.last.delivered_at is None or any(r["state"] == "crashed" for r in travel.route):
        return Verdict.BROKEN
    pushes = [r for r in travel.route if r["state"] in ("taken", "skipped")]
    return Verdict.OK if not pushes or travel.pushed.delivered_at else Verdict.WARNING


def _row(row: Mapping[str, str], clientless: frozenset[str]) -> str:
    why = row["reason"]
    if row["state"] == "skipped" and row["strategy"] in clientless:
        why = f"{_NO_CLIENT} ({why})"
    return f"{row['strategy']}: {row['state']}{f', {why}' if why else ''}"


def _after(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round((end - start).total_seconds() * 1000, 1)
