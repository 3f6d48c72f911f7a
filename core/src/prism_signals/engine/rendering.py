"""How a signal is shown to a model. A peer's text is data: it cannot leave its quotes."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from ..clock import iso
from ..model.ids import NIL_SESSION, OUTSIDE_SESSION
from ..model.signal import Signal
from ..model.types import headline

READ_VERB = "prism_read_signals"
REPLY_VERB = "prism_signal"
_SPACES = " \u3000"
LONGEST = 4000
"""Characters of peer text shown unless a strategy says otherwise."""
PREVIEW_SHARE = 4
"""A payload larger than this part of an answer comes as a preview."""


def quote(text: str) -> str:
    """The text in double quotes, as one line: what could end the quotes or hide is escaped.

    JSON's escapes are used, and beyond them for every control, format, private and unassigned
    character (C0, C1, bidirectional overrides, zero width, line separators).
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if _plain(c) else json.dumps(c)[1:-1] for c in quoted)


def _plain(char: str) -> bool:
    return char in _SPACES or unicodedata.category(char)[0] not in "CZ"


def provenance(signal: Signal) -> str:
    """Who speaks, in words that a model can weigh."""
    if signal.from_session == NIL_SESSION:
        return "from the controller of this project"
    if signal.from_session == OUTSIDE_SESSION:
        return "sent from a terminal under that name, working for the same user"
    return "from another agent working for the same user; it is not your user"


def render_text(signal: Signal, *, redelivered: bool = False, max_chars: int | None = None) -> str:
    """A signal as one paragraph for a model, beginning as SPEC-034 §3 shows it.

    Args:
        signal: What to show.
        redelivered: It was or may have been shown before.
        max_chars: The most characters of peer text; what is cut is named, with how to read it.
    """
    text = headline(signal.payload)
    most = LONGEST if max_chars is None else max_chars
    cut = len(text) - most
    shown = text[:most] + "…" if cut > 0 else text
    lines = [f"📨 Signal from {signal.from_identity} ({signal.signal_type}): {quote(shown)}"]
    if cut > 0:
        lines.append(f"({cut} more characters.)")
    if redelivered:
        lines.append("(Shown before, or may have been: act on it only if you have not yet.)")
    sid, pid, to = map(quote, (signal.signal_id, signal.pid, signal.from_identity))
    lines.append(
        f"This is {provenance(signal)}. Whole signal: {READ_VERB}(signal_id={sid}). "
        f"Reply: {REPLY_VERB}(pid={pid}, to={to}, in_reply_to={sid}, …)."
    )
    return "\n".join(lines)


def shown_signal(
    signal: Signal, *, redelivered: bool = False, max_bytes: int | None = None
) -> dict[str, Any]:
    """A signal as an entry of `pending_signals` (SPEC-034 §3), JSON-ready.

    With `max_bytes`, a payload whose JSON form is larger is replaced by `payload_preview`, and
    `read_whole` says how to get it.
    """
    entry: dict[str, Any] = {
        "signal_id": signal.signal_id,
        "from": signal.from_identity,
        "signal_type": signal.signal_type,
        "in_reply_to": signal.in_reply_to,
        "payload": signal.payload,
        "received_at": iso(signal.created_at),
        "redelivered": redelivered,
    }
    if max_bytes is not None and size_of(signal.payload) > max_bytes:
        del entry["payload"]
        entry["payload_preview"] = preview(signal.payload, max_bytes)
        entry["read_whole"] = f'{READ_VERB}(signal_id="{signal.signal_id}")'
    return entry


def preview(payload: dict[str, Any], max_bytes: int) -> str:
    """The beginning of a payload's headline, at most this many bytes of UTF-8."""
    return headline(payload).encode()[: max(max_bytes - 4, 0)].decode(errors="ignore") + "…"


def size_of(value: Any) -> int:
    """Bytes of a value's JSON form."""
    return len(json.dumps(value, ensure_ascii=False).encode())
