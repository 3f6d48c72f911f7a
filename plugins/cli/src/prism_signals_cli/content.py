"""What the command line says a signal carries, as a payload."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from prism_signals import InvalidArgument, InvalidPayload, SignalType

STDIN = "-"
_MOST = 1 << 22  # far above any size limit that makes sense, and it keeps a runaway pipe out


def payload_of(kind: SignalType, content: str | None, payload: str | None) -> dict[str, Any]:
    """The payload from a text or from JSON, whichever was given; `-` reads it from stdin.

    Raises:
        click.UsageError: Both or none were given, or the type needs more than a text.
        InvalidPayload: The JSON cannot be read.
    """
    if (content is None) == (payload is None):
        raise click.UsageError("Give either CONTENT or --payload JSON ('-' reads it from stdin).")
    if payload is not None:
        return _json_object(read_stdin() if payload == STDIN else payload)
    text = read_stdin() if content == STDIN else str(content)
    field = text_field(kind)
    if field is None:
        fields = ", ".join(kind.payload.model_fields) if kind.payload else ""
        raise click.UsageError(
            f"A {kind.name} carries more than one text: give --payload JSON with {fields}."
        )
    return {field: text}


def text_field(kind: SignalType) -> str | None:
    """The field that a bare text goes into: the only one a type requires, if it holds a text."""
    if kind.payload is None:
        return "content"
    required = {n: f for n, f in kind.payload.model_fields.items() if f.is_required()}
    if len(required) != 1:
        return None
    name, field = next(iter(required.items()))
    return (field.alias or name) if field.annotation is str else None


def read_stdin() -> str:
    """All of stdin as text, without the line break that ends it.

    Raises:
        InvalidArgument: It is not UTF-8, or far too long.
    """
    data = sys.stdin.buffer.read(_MOST + 1)
    if len(data) > _MOST:
        raise InvalidArgument(f"stdin holds more than {_MOST} bytes. Send where the text is.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument("stdin is not UTF-8 text. Convert it, or send where it is.") from None
    return text.removesuffix("\n").removesuffix("\r")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InvalidPayload(f"--payload is not JSON: {e}.", field="payload") from None
    if not isinstance(value, dict):
        raise InvalidPayload(
            '--payload must be a JSON object, like {"content": "…"}.', field="payload"
        )
    return value
