"""Signal types: what each means, which payload it carries, and the registry of those known here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import InvalidPayload, PayloadTooLarge, SystemTypeRefused, UnknownSignalType
from .signal import Lane, Priority

HEADLINES = ("instructions", "summary", "message", "description", "content")
"""Payload fields whose text stands for the whole when a signal is rendered, best first."""
DEEPEST = 32
"""A payload may be nested this deep."""


class Payload(BaseModel):
    """Base of payload models: named fields are checked, further ones are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class SignalType:
    """Declares one type of signal.

    Attributes:
        name: As it stands in `signal_type`.
        purpose: One line for people and models.
        payload: Model of its payload; None accepts any JSON object.
        expects_action: The recipient should do something; only these are offered again when a
            session ends without acting.
        wakes: It may start a turn in an idle session.
        default_priority: Where the sender names none.
        always_escalates: Escalation-eligible at any priority; others only never or when `urgent`.
        escalates_when_urgent: Escalation-eligible while its priority is `urgent`.
        ttl: Undelivered after this time it expires; None keeps it until it is delivered.
        lane: `system` types cannot be sent by agents.
    """

    name: str
    purpose: str
    payload: type[BaseModel] | None = None
    expects_action: bool = False
    wakes: bool = True
    default_priority: Priority = Priority.NORMAL
    always_escalates: bool = False
    escalates_when_urgent: bool = False
    ttl: timedelta | None = None
    lane: Lane = Lane.AGENT

    def escalates(self, priority: Priority) -> bool:
        """Whether a signal of this type and priority may interrupt (EP-0123 §3.2)."""
        return self.always_escalates or (self.escalates_when_urgent and priority is Priority.URGENT)


class TypeRegistry:
    """The signal types known here."""

    def __init__(self, types: Iterable[SignalType]) -> None:
        self._types: dict[str, SignalType] = {}
        for t in types:
            if t.name in self._types:
                raise ValueError(f"signal type {t.name!r} is declared twice")
            self._types[t.name] = t

    def __iter__(self) -> Iterator[SignalType]:
        return iter(self._types.values())

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def get(self, name: str) -> SignalType:
        """The type of that name.

        Raises:
            UnknownSignalType: Nobody declares it; the message lists the known ones.
        """
        found = self._types.get(name) if isinstance(name, str) else None
        if found is None:
            known = [t.name for t in self if t.lane is Lane.AGENT]
            near = get_close_matches(str(name), known, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UnknownSignalType(
                f"The signal type {ascii(name)[:80]} is not known.{hint} Known types: "
                f"{', '.join(known)}. A plugin adds types through the hook prism_signal_types, "
                "the setting PRISM_SIGNAL_TYPES adds types without a payload model.",
                known=known,
            )
        return found

    def sendable(self, name: str) -> SignalType:
        """The type of that name, if an agent may send it.

        Raises:
            UnknownSignalType: Nobody declares it.
            SystemTypeRefused: Only the controller emits it.
        """
        found = self.get(name)
        if found.lane is Lane.SYSTEM:
            raise SystemTypeRefused(
                f"{name} is a system signal: the controller emits it when sessions come, go or "
                "change mastership. To inform a peer, send StatusUpdate or inform."
            )
        return found


def check_payload(kind: SignalType, payload: Any, *, max_bytes: int) -> dict[str, Any]:
    """Check a payload against its type and the size limit, and give it back as plain JSON data.

    Raises:
        InvalidPayload: It is no JSON object, is nested too deep, holds a number JSON cannot carry,
            or breaks the type's model; the message names the field.
        PayloadTooLarge: Its JSON form has more than `max_bytes` bytes.
    """
    if not isinstance(payload, dict):
        raise InvalidPayload(
            f"The payload of {kind.name} must be a JSON object, not "
            f"{_json_name(payload)}. Example: {example(kind)}.",
            field="payload",
        )
    _check_json(payload, "payload", 1)
    try:
        size = len(json.dumps(payload, ensure_ascii=False).encode())
    except (TypeError, ValueError) as e:  # lone surrogates, keys that are no strings
        raise InvalidPayload(f"The payload of {kind.name} is not JSON: {e}.") from None
    if size > max_bytes:
        raise PayloadTooLarge(
            f"The payload has {size} bytes, the limit is {max_bytes}. Put the long part into a "
            "file or another shared place and send where it is.",
            size=size,
            limit=max_bytes,
        )
    if kind.payload is not None:
        try:
            kind.payload.model_validate(payload)
        except ValidationError as e:
            raise _payload_error(kind, e) from None
    return payload


def headline(payload: Mapping[str, Any]) -> str:
    """The text that stands for a payload: its headline field, else its compact JSON."""
    for key in HEADLINES:
        value = payload.get(key)
        if isinstance(value, str) and value:
            return value
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def example(kind: SignalType) -> str:
    """A payload's shape in one line, for error messages and the reference."""
    if kind.payload is None:
        return "{…}"
    fields = [
        name if f.is_required() else f"{name}?" for name, f in kind.payload.model_fields.items()
    ]
    return "{" + ", ".join(fields) + "}"


def _payload_error(kind: SignalType, error: ValidationError) -> InvalidPayload:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(p) for p in first["loc"])
    what = "is missing" if first["type"] == "missing" else first["msg"]
    return InvalidPayload(
        f"The payload of {kind.name} does not fit: field {where!r}: {what}. "
        f"Expected {example(kind)}.",
        field=where,
    )


def _check_json(value: Any, where: str, depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidPayload(
            f"The payload is nested deeper than {DEEPEST} levels. Flatten it.", field="payload"
        )
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidPayload(f"A key in {where} is not a string.", field=where)
            _check_json(item, where if depth > 1 else key, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_json(item, where, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidPayload(
            f"The field {where!r} is not a finite number; JSON has no NaN or Infinity. "
            "Send null or a string.",
            field=where,
        )
    elif value is not None and not isinstance(value, (str, int, float, bool)):
        raise InvalidPayload(
            f"The field {where!r} is {type(value).__name__}, which JSON cannot carry.", field=where
        )


def _json_name(value: Any) -> str:
    names = {type(None): "null", str: "a string", list: "an array", bool: "a boolean"}
    return names.get(type(value), "a number" if isinstance(value, (int, float)) else "that")
