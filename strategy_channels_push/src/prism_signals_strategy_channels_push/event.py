"""The channel event of a signal: what the model reads, and the attributes beside it. Pure."""

from __future__ import annotations

import re
from typing import Any

from prism_signals import Signal, provenance, render_text

METHOD = "notifications/claude/channel"

# What reads like `<`, `/` to a person or a model (Unicode TS 39 confusables and the wide forms).
_OPENS = "<\u02c2\u1438\u16b2\u2039\u2329\u276e\u27e8\u29fc\u3008\ufe64\uff1c\U0001d236"
_SLASHES = "/\u1735\u2041\u2044\u2215\u2571\u27cb\u29f8\u29f6\uff0f"
# Where such a sign opens a tag: before a name, `!` or `?`, or before a slash, with space between.
# A backslash counts as well: the rendering has escaped an invisible character there.
_TAG = re.compile(rf"[{_OPENS}](?=\s*[{_SLASHES}\\]|[^\W\d_]|[!?$])")


def channel_event(signal: Signal, *, redelivered: bool, max_chars: int) -> dict[str, Any]:
    """The notification's params.

    Claude Code shows them as `<channel source="…" signal_id="…" …>content</channel>`.

    Args:
        signal: What to show.
        redelivered: It was or may have been shown before.
        max_chars: The most characters of the peer's text.
    """
    content = render_text(signal, redelivered=redelivered, max_chars=max_chars)
    return {"content": without_tags(content), "meta": _meta(signal, redelivered)}


def without_tags(text: str) -> str:
    r"""The text without anything that could open or close a tag.

    The sign that would is written as JSON escapes it (`\u003c`). Peer text stands in a JSON string,
    so it keeps its meaning; code such as `a < b` stays as it is.
    """
    return _TAG.sub(lambda m: "".join(f"\\u{unit:04x}" for unit in _units(m[0])), text)


def _units(char: str) -> list[int]:
    code = char.encode("utf-16-be")
    return [int.from_bytes(code[i : i + 2]) for i in range(0, len(code), 2)]


def _meta(signal: Signal, redelivered: bool) -> dict[str, str]:
    """Attributes, all set by us; the key `source` is the client's own.

    Keys match `[a-zA-Z_][a-zA-Z0-9_]*`, or the client drops them.
    """
    meta = {
        "signal_id": signal.signal_id,
        "from_agent": signal.from_identity,
        "signal_type": signal.signal_type,
        "thread_id": signal.thread_id,
        "priority": signal.priority.value,
        "provenance": provenance(signal),
    }
    if signal.in_reply_to is not None:
        meta["in_reply_to"] = signal.in_reply_to
    if redelivered:
        meta["redelivered"] = "true"
    return {
        key: "".join(c if c.isprintable() else "\ufffd" for c in value)
        for key, value in meta.items()
    }
