"""The arguments of the verbs, from the schemas that the MCP server shows."""

from __future__ import annotations

from prism_signals_gateway_mcp.arguments import Kind, Parameter
from prism_signals_gateway_mcp.verbs import VERBS, Verb

from .markdown import code, prose, table

_ENDS = ".!?"


def arguments(name: str) -> str:
    """What a verb tells the model, and its arguments.

    Raises:
        KeyError: There is no such verb.
    """
    verb = {v.name: v for v in VERBS}[name]
    told = f"> {prose(verb.purpose)}"
    if not verb.parameters:
        return f"{told}\n\nIt takes no argument."
    rows = [_row(p) for p in verb.parameters]
    return f"{told}\n\n{table(('Argument', 'Value', 'Required', 'Meaning'), rows)}{_hint(verb)}"


def _row(p: Parameter) -> tuple[str, ...]:
    kind = " or ".join(code(c) for c in p.choices) or p.kind.value
    return (code(p.name), kind, "yes" if p.required else "no", _about(p))


def _about(p: Parameter) -> str:
    about = prose(p.about)
    return about if not about or about[-1] in _ENDS else f"{about}."


def _hint(verb: Verb) -> str:
    objects = [p for p in verb.parameters if p.kind is Kind.OBJECT]
    return "\n\nThe payload of each type: [signal types](types.md)." if objects else ""
