"""What `prism doctor` checks without opening anything, one function each."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel

from prism_signals import (
    Found,
    PrismError,
    Registry,
    Settings,
    plugin_prefix,
    unknown_variables,
)

from .findings import Finding, Verdict, broken, fault
from .plugged import shadowed
from .routes import SKIPPED, places, planned_route

_OWN = "PRISM_CONFIG"


def versions() -> Finding:
    """Which versions are at work."""
    facts = {
        "prism-signals-core": version("prism-signals-core"),
        "prism-signals-cli": version("prism-signals-cli"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
    return Finding(
        "versions", Verdict.OK, ", ".join(f"{k} {v}" for k, v in facts.items()), facts=facts
    )


def settings() -> tuple[Settings | None, Finding]:
    """Whether the settings can be used."""
    try:
        found = Settings.load()
    except PrismError as e:
        return None, broken("settings", e)
    who = found.agent_identity or "nobody"
    detail = (
        f"identity {who}, surface {found.agent_surface or 'unset'}, "
        f"project {found.project or 'unset'}, tenant {found.tenant}"
    )
    return found, Finding("settings", Verdict.OK, detail)


def variables(registry: Registry) -> Finding:
    """Whether some `PRISM_*` variable is read by nothing."""
    models: dict[str, type[BaseModel] | None] = {
        f.plugin.name: f.plugin.settings for f in registry.strategies
    }
    models |= {f.plugin.name: f.plugin.settings for f in registry.gateways}
    unknown = unknown_variables(os.environ, models)
    if not unknown:
        return Finding("variables", Verdict.OK, "every PRISM_* variable is known")
    known = [_OWN, *(f"PRISM_{f.upper()}" for f in Settings.model_fields)]
    for name, model in models.items():
        if model is not None:
            known += [f"{plugin_prefix(name)}{f.upper()}" for f in model.model_fields]
    near = {v: m[0] for v in unknown if (m := get_close_matches(v, known, 1, 0.8))}
    return Finding(
        "variables",
        Verdict.WARNING,
        f"nothing reads {', '.join(unknown)}",
        "Check the spelling, or install the plugin that it is for.",
        {"unknown": unknown, "near": near},
        tuple(f"{wrong}: did you mean {right}?" for wrong, right in near.items()),
    )


def plugins(registry: Registry) -> list[Finding]:
    """What was found, from which distribution, and what of it is broken."""
    findings = [_installed(registry)]
    findings += [
        Finding(
            "plugins",
            Verdict.BROKEN,
            p.summary,
            facts=dict(fault(p, verbose=False)),
            trace=p.trace.rstrip(),
        )
        for p in registry.problems
    ]
    findings += [
        Finding(
            "plugins",
            Verdict.WARNING,
            f"a plugin's command {name!r} cannot be reached: "
            "prism has its own command of that name",
        )
        for name in shadowed(registry)
    ]
    return findings


def _installed(registry: Registry) -> Finding:
    kinds: dict[str, Sequence[Found[Any]]] = {
        "stores": registry.stores,
        "directories": registry.directories,
        "buses": registry.buses,
        "strategies": registry.strategies,
        "gateways": registry.gateways,
        "commands": registry.commands,
    }
    names = {kind: [f.plugin.name for f in found] for kind, found in kinds.items()}
    detail = "; ".join(f"{kind}: {', '.join(named) or 'none'}" for kind, named in names.items())
    brought: dict[tuple[str, str], list[str]] = {}
    for kind, found in kinds.items():
        for f in found:
            source = (f.origin.distribution, f.origin.version)
            brought.setdefault(source, []).append(f"{kind}: {_told(f.plugin)}")
    distributions = [
        {"name": name, "version": v, "brings": brings}
        for (name, v), brings in sorted(brought.items())
    ]
    lines = [f"{name} {v}: {'; '.join(brings)}" for (name, v), brings in sorted(brought.items())]
    facts = {**names, "distributions": distributions}
    return Finding("plugins", Verdict.OK, detail, facts=facts, lines=tuple(lines))


def route(registry: Registry, settings: Settings) -> list[Finding]:
    """Which strategies the configured surface gets, and why the others are left out."""
    surface = settings.agent_surface
    planned, trouble = planned_route(registry, settings, surface)
    rows = places(registry, settings, surface, planned)
    facts = {"surface": surface, "route": [r.as_json() for r in rows]}
    lines = tuple(f"{r.strategy}: {r.state}, {r.reason}" for r in rows)
    if planned is None:
        assert trouble is not None  # noqa: S101 - one of the two is always given
        return [Finding("route", Verdict.BROKEN, trouble.message, "", facts, lines)]
    unusable = [
        c.name
        for c in planned.candidates
        if any(r.strategy == c.name and r.state == SKIPPED for r in rows)
    ]
    way = " -> ".join(c.name for c in planned.candidates if c.name not in unusable)
    detail = f"of {surface or 'an unset surface'}: {way or 'none that can be used'}"
    verdict = Verdict.OK if not unusable else Verdict.WARNING if way else Verdict.BROKEN
    findings = [Finding("route", verdict, detail, "", facts, lines)]
    return findings + [Finding("route", Verdict.WARNING, w) for w in planned.warnings]


def _told(plugin: Any) -> str:
    surfaces = getattr(plugin, "surfaces", None)
    if surfaces is None:
        return str(plugin.name)
    if "*" in surfaces:
        return f"{plugin.name} for every surface"
    return f"{plugin.name} for {', '.join(surfaces) or 'no surface by itself'}"
