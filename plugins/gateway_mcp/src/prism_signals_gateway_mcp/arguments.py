"""The arguments of a verb: one declaration gives both the JSON schema and the check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any

from prism_signals import InvalidArgument


class Kind(Enum):
    """What an argument may be."""

    STRING = "a string"
    BOOLEAN = "true or false"
    INTEGER = "a whole number"
    NUMBER = "a number"
    STRINGS = "an array of strings"
    OBJECT = "an object"
    """Checked by the verb itself, which knows what the object must look like."""


_SCHEMAS: dict[Kind, dict[str, Any]] = {
    Kind.STRING: {"type": "string"},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.STRINGS: {"type": "array", "items": {"type": "string"}},
    Kind.OBJECT: {"type": "object"},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """Declares one argument.

    Attributes:
        name: As the caller writes it.
        kind: What it may be.
        about: For the model, where the name doesn't say it.
        required: It must be given; an optional one may also be null, which is the same as absent.
        choices: The only values it may have.
    """

    name: str
    kind: Kind = Kind.STRING
    about: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        schema = dict(_SCHEMAS[self.kind])
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.about:
            schema["description"] = self.about
        return schema

    def check(self, value: Any) -> Any:
        """The value as the verb gets it.

        Raises:
            InvalidArgument: It is something else than declared.
        """
        if self.kind is Kind.NUMBER and isinstance(value, (int, float)):
            fits = not isinstance(value, bool)
        elif self.kind is Kind.INTEGER and isinstance(value, float) and value.is_integer():
            return int(value)  # JSON does not tell 20 from 20.0
        else:
            fits = _is(self.kind, value)
        if not fits:
            raise InvalidArgument(
                f"The argument {self.name!r} must be {self.kind.value}, not {_shape(value)}.",
                argument=self.name,
            )
        if self.choices and value not in self.choices:
            raise InvalidArgument(
                f"The argument {self.name!r} must be one of {', '.join(self.choices)}.",
                argument=self.name,
            )
        return value


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a whole set of arguments."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {p.name: p.schema() for p in parameters},
        "additionalProperties": False,
    }
    required = [p.name for p in parameters if p.required]
    return {**schema, "required": required} if required else schema


def check(verb: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check what a caller gave against what a verb takes.

    Raises:
        InvalidArgument: One is unknown, missing or of another kind; the message names it.
    """
    known = {p.name: p for p in parameters}
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidArgument(
                f"{verb} has no argument {ascii(name)[:80]}.{hint} "
                f"It takes: {', '.join(known) or 'none'}.",
                argument=name[:80],
            )
    checked: dict[str, Any] = {}
    for p in parameters:
        value = given.get(p.name)
        if value is None and not p.required:
            continue
        if p.name not in given:
            raise InvalidArgument(
                f"The argument {p.name!r} of {verb} is missing; it must be {p.kind.value}.",
                argument=p.name,
            )
        checked[p.name] = p.check(value)
    return checked


def _is(kind: Kind, value: Any) -> bool:
    if kind is Kind.STRING:
        return isinstance(value, str)
    if kind is Kind.BOOLEAN:
        return isinstance(value, bool)
    if kind is Kind.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is Kind.STRINGS:
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    return kind is Kind.OBJECT


def _shape(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array of something else" if isinstance(value, list) else "an object"
