"""Signals and deliveries as people read them, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from prism_signals import Delivery, Entry, Signal, from_iso, headline, iso, ladder

from .plaintext import one_line, visible

BAR = "  | "
"""Stands before each line of peer text, so that no line of it can pose as one of ours."""


def entry_json(entry: Entry) -> dict[str, Any]:
    """A signal with all its keys, and its deliveries."""
    return {**entry.signal.as_dict(), "deliveries": [ladder(d) for d in entry.deliveries]}


def moment(value: datetime | str) -> str:
    """A moment to the second, in UTC."""
    when = from_iso(value) if isinstance(value, str) else value
    return when.strftime("%Y-%m-%d %H:%M:%SZ")


def entry_lines(entry: Entry, *, most: int | None = None) -> list[str]:
    """A signal of a thread or of the history: heading, id, text."""
    s = entry.signal
    head = _heading(s.from_identity, s.to_identity, s.signal_type, s.priority.value)
    redelivered = any(d.offers > 1 for d in entry.deliveries)
    facts = [moment(s.created_at), states(entry.deliveries), *(["redelivered"] * redelivered)]
    return [
        f"{head}  {'  '.join(facts)}",
        _ids(s.signal_id, s.in_reply_to),
        *body(headline(s.payload), most),
    ]


def incoming_lines(entry: dict[str, Any], *, most: int | None = None) -> list[str]:
    """A signal as `read_signals` gives it: heading, id, text."""
    head = _heading(entry["from"], entry["to"], entry["signal_type"], entry["priority"])
    facts = [moment(entry["received_at"]), str(entry["state"])]
    facts += ["redelivered"] if entry["redelivered"] else []
    text = headline(entry["payload"]) if "payload" in entry else str(entry["payload_preview"])
    return [
        f"{head}  {'  '.join(facts)}",
        _ids(entry["signal_id"], entry["in_reply_to"]),
        *body(text, most),
    ]


def states(deliveries: Sequence[Delivery]) -> str:
    """Where the deliveries stand, in a few words."""
    if not deliveries:
        return "for nobody"
    if len(deliveries) == 1:
        d = deliveries[0]
        by = f" ({one_line(d.delivery_method)})" if d.delivery_method else ""
        return f"{d.state.value}{by}"
    counted: dict[str, int] = {}
    for d in deliveries:
        counted[d.state.value] = counted.get(d.state.value, 0) + 1
    return ", ".join(f"{n} {state}" for state, n in counted.items())


def body(text: str, most: int | None = None) -> list[str]:
    """Peer text, each line behind a bar; what is cut is counted."""
    cut = len(text) - most if most is not None else 0
    lines = (text[:most] if cut > 0 else text).split("\n")
    lines += [f"… ({cut} more characters)"] if cut > 0 else []
    return [f"{BAR}{visible(line)}".rstrip() for line in lines]


def tur_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """A signal with the keys that EP-0118's readers know, beside ours."""
    payload = entry.get("payload", {})
    return {
        "id": entry["signal_id"],
        "timestamp": entry["received_at"],
        "sender": entry["from"],
        "recipient": entry["to"],
        "type": entry["signal_type"],
        "content": headline(payload),
        "in_reply_to": entry["in_reply_to"],
        "payload": payload,
    }


def signal_lines(signal: Signal) -> list[str]:
    """A signal alone: heading, id, when it was stored."""
    head = _heading(
        signal.from_identity, signal.to_identity, signal.signal_type, signal.priority.value
    )
    return [f"{head}  {moment(iso(signal.created_at))}", _ids(signal.signal_id, signal.in_reply_to)]


def _heading(sender: str, recipient: str, kind: str, priority: str) -> str:
    pressing = f"  {priority}" if priority != "normal" else ""
    return f"[{one_line(sender)} -> {one_line(recipient)}] {one_line(kind)}{pressing}"


def _ids(signal_id: str, in_reply_to: str | None) -> str:
    reply = f"  in reply to {in_reply_to}" if in_reply_to else ""
    return f"  id {signal_id}{reply}"
