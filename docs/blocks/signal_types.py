"""The signal types."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic.fields import FieldInfo

from prism_signals import Lane, Priority, Registry, SignalType

from .markdown import code, sentence, table

_KINDS = {"str": "text", "list[str]": "texts", "int | str | None": "number or text"}


def of_agents() -> str:
    """The types that agents send."""
    rows = [
        (
            code(t.name),
            sentence(t.purpose),
            _payload(t),
            _yes(t.expects_action),
            _yes(t.wakes),
            _escalates(t),
            code(t.default_priority),
            _ttl(t),
        )
        for t in _types(Lane.AGENT)
    ]
    head = (
        "Type",
        "Purpose",
        "Payload",
        "Expects action",
        "Wakes",
        "Escalates",
        "Priority",
        "Expires",
    )
    return table(head, rows)


def of_the_controller() -> str:
    """The types that only the controller emits."""
    rows = [
        (code(t.name), sentence(t.purpose), _payload(t), _yes(t.wakes), _ttl(t))
        for t in _types(Lane.SYSTEM)
    ]
    return table(("Type", "Purpose", "Payload", "Wakes", "Expires"), rows)


def _types(lane: Lane) -> Iterable[SignalType]:
    return (t for t in Registry.of().types() if t.lane is lane)


def _payload(kind: SignalType) -> str:
    if kind.payload is None:
        return "any JSON object"
    return "<br>".join(_field(n, f) for n, f in kind.payload.model_fields.items())


def _field(name: str, field: FieldInfo) -> str:
    annotation = field.annotation
    text = annotation.__name__ if annotation is str else str(annotation)
    return f"{code(name)}: {_KINDS[text]}{'' if field.is_required() else ', optional'}"


def _escalates(kind: SignalType) -> str:
    if kind.escalates(Priority.NORMAL):
        return "always"
    return "when `urgent`" if kind.escalates(Priority.URGENT) else "no"


def _ttl(kind: SignalType) -> str:
    return f"after {kind.ttl.total_seconds() / 60:g} minutes" if kind.ttl else "never"


def _yes(claim: bool) -> str:
    return "yes" if claim else "no"
