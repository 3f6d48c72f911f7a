"""Every setting: of the core, of the plugins, and of the SQLite URL."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from prism_signals import Registry, Settings
from prism_signals_store_sqlite.url import Options

from .markdown import code, section, sentence, table

PREFIX = "PRISM_"
OURS = "prism-signals"
_HEAD = ("Variable", "In `prism.toml`", "Value", "Default", "Meaning")
_KINDS = {
    "str": "text",
    "SecretStr": "URL; never printed",
    "bool": "`true` or `false`",
    "int": "whole number",
    "float": "number",
    "dict[str, str | list[str]]": "JSON object",
    "list[str]": "JSON list of texts",
}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def core() -> str:
    """The settings that every process reads."""
    return table(_HEAD, _rows(Settings, PREFIX, ""))


def of_plugins() -> str:
    """The settings of the plugins in this workspace, a table for each."""
    return "\n\n".join(
        f"### {code(name)}, from {distribution}\n\n"
        + table(_HEAD, _rows(model, plugin_prefix(name), f"[{name}] "))
        for distribution, name, model in models()
    )


def models() -> list[tuple[str, str, type[BaseModel]]]:
    """The plugins of this workspace that have settings: distribution, name, model."""
    registry = Registry.discover()
    found = [(f.origin, f.plugin.name, f.plugin.settings) for f in registry.gateways]
    found += [(f.origin, f.plugin.name, f.plugin.settings) for f in registry.strategies]
    return [
        (origin.distribution, name, model)
        for origin, name, model in found
        if model is not None and origin.distribution.startswith(OURS)
    ]


def plugin_prefix(name: str) -> str:
    """How the variables of a plugin begin."""
    return f"{PREFIX}{name.upper()}_"


def sqlite_options() -> str:
    """The options of the store's URL."""
    told = section(Options, "Attributes")
    rows = [
        (code(f.name), _shown(f.default), told[f.name])
        for f in dataclasses.fields(Options)
        if f.name != "path"
    ]
    return table(("Option", "Default", "Meaning"), rows)


def _rows(model: type[BaseModel], prefix: str, table_name: str) -> list[tuple[str, ...]]:
    return [
        (
            code(f"{prefix}{name.upper()}"),
            code(f"{table_name}{name}"),
            _value(field),
            _default(field),
            sentence(field.description or ""),
        )
        for name, field in model.model_fields.items()
    ]


def _value(field: FieldInfo) -> str:
    annotation = field.annotation
    name = getattr(annotation, "__name__", "") if isinstance(annotation, type) else ""
    text = str(annotation).replace("pydantic.types.", "").removesuffix(" | None")
    plain = text if not name or "[" in text else name
    choices = [code(str(m)) for m in annotation] if hasattr(annotation, "__members__") else []  # type: ignore[union-attr]
    shown = " or ".join(choices) or _KINDS[plain]
    bounds = [
        f"{words} {getattr(rule, short):g}"
        for rule in field.metadata
        for short, words in _BOUNDS.items()
        if hasattr(rule, short)
    ]
    return ", ".join([shown, *bounds])


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return _shown(value)


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, timedelta):
        return code(f"{value.total_seconds():g}")
    if isinstance(value, (dict, list)):
        return "empty" if not value else code(value)
    return code(f"{value:g}" if isinstance(value, float) else value)
