"""The hooks, what they return, and the strategies of this workspace."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, get_type_hints

import prism_signals
from prism_signals import Registry, hookspecs

from .markdown import code, first_line, prose, section, table
from .settings import OURS


def hooks() -> str:
    """A heading for each hook, with its argument list and what it returns."""
    return "\n\n".join(_hook(name, function) for name, function in specs().items())


def specs() -> dict[str, Any]:
    """Every hook by name, in the order of the source."""
    return {
        name: value
        for name, value in vars(hookspecs).items()
        if hasattr(value, f"{hookspecs.PROJECT}_spec")
    }


def fields(name: str) -> str:
    """The fields of a descriptor, as its docstring has them.

    What several descriptors have in common is told by that of the store.
    """
    kind = getattr(prism_signals, name)
    told = {**section(prism_signals.StorePlugin, "Attributes"), **section(kind, "Attributes")}
    rows = [
        (code(f.name), code(f.type), prose(told.get(f.name, ""))) for f in dataclasses.fields(kind)
    ]
    return table(("Field", "Value", "Meaning"), rows)


def strategies() -> str:
    """The strategies of this workspace, in the order of their rank."""
    ours = [f for f in Registry.discover().strategies if f.origin.distribution.startswith(OURS)]
    rows = [
        (
            code(f.plugin.name),
            f.origin.distribution,
            "every" if "*" in f.plugin.surfaces else ", ".join(map(code, f.plugin.surfaces)),
            str(f.plugin.rank),
            "yes" if f.plugin.wakes else "no",
            code(f.plugin.strategy.__name__) if f.plugin.strategy else "",
        )
        for f in sorted(ours, key=lambda f: f.plugin.rank)
    ]
    return table(("Strategy", "Distribution", "Surfaces", "Rank", "Always wakes", "Class"), rows)


def _hook(name: str, function: Any) -> str:
    (kind,) = get_type_hints(function)["return"].__args__
    arguments = inspect.signature(function).replace(return_annotation=inspect.Signature.empty)
    text = f"{first_line(function)} Gives a sequence of {code(kind.__name__)}: "
    text += _lower(first_line(kind))
    return f"## {code(f'{name}{arguments}')}\n\n{prose(text)}\n\n{fields(kind.__name__)}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
