"""What `prism doctor` checks, one function each; none of them leaves a trace."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import version
from typing import Any

import anyio

from prism_signals import (
    Bell,
    BellKind,
    Prism,
    PrismError,
    Registry,
    Scope,
    Settings,
    new_session_id,
    new_signal_id,
    unknown_variables,
)

from .failures import cause
from .plugged import shadowed
from .routes import planned_route, pushes

Told = tuple[str, dict[str, Any]]
"""What a check tells people, and what it tells programs."""

_PATIENCE = 5.0
_NOWHERE = "prism-doctor"  # a project of its own, in which nothing is ever stored


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: What was checked.
        verdict: How it ended.
        detail: What is the case.
        hint: What to do, where something is to be done.
        facts: The same for programs.
    """

    check: str
    verdict: Verdict
    detail: str
    hint: str = ""
    facts: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """As a JSON-ready dict."""
        return {k: v for k, v in asdict(self).items() if v not in (None, "")}


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
    models = {f.plugin.name: f.plugin.settings for f in registry.strategies}
    models |= {f.plugin.name: f.plugin.settings for f in registry.gateways}
    unknown = unknown_variables(os.environ, models)
    if not unknown:
        return Finding("variables", Verdict.OK, "every PRISM_* variable is known")
    return Finding(
        "variables",
        Verdict.WARNING,
        f"nothing reads {', '.join(unknown)}",
        "Check the spelling, or install the plugin that it is for.",
        {"unknown": unknown},
    )


def plugins(registry: Registry) -> list[Finding]:
    """What was found, and what of it is broken."""
    facts = {
        "stores": [f.plugin.name for f in registry.stores],
        "directories": [f.plugin.name for f in registry.directories],
        "buses": [f.plugin.name for f in registry.buses],
        "strategies": [f.plugin.name for f in registry.strategies],
        "gateways": [f.plugin.name for f in registry.gateways],
        "commands": [f.plugin.name for f in registry.commands],
    }
    detail = "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in facts.items())
    findings = [Finding("plugins", Verdict.OK, detail, facts=dict(facts))]
    findings += [
        Finding("plugins", Verdict.BROKEN, p.summary, facts={"distribution": p.origin.distribution})
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


def route(registry: Registry, settings: Settings) -> list[Finding]:
    """Which strategies the configured surface gets, and why the others are left out."""
    surface = settings.agent_surface
    planned, trouble = planned_route(registry, settings, surface)
    if planned is None:
        assert trouble is not None  # noqa: S101 - one of the two is always given
        return [broken("route", trouble)]
    taken = [c.name for c in planned.candidates]
    mapped = surface is not None and surface in settings.strategy_map
    rows = []
    for plugin in planned.candidates:
        why = (
            "PRISM_STRATEGY_MAP names it"
            if mapped and not plugin.serves(surface)
            else ("it serves every surface" if "*" in plugin.surfaces else f"it serves {surface}")
        )
        state = "floor" if pushes(plugin) is False else "candidate"
        rows.append({"strategy": plugin.name, "state": state, "reason": why})
    for f in registry.strategies:
        if f.plugin.name not in taken:
            why = (
                "PRISM_STRATEGY_MAP leaves it out"
                if f.plugin.serves(surface)
                else (f"it serves {', '.join(f.plugin.surfaces) or 'no surface by itself'}")
            )
            rows.append({"strategy": f.plugin.name, "state": "skipped", "reason": why})
    told = "; ".join(f"{r['strategy']}: {r['state']}, {r['reason']}" for r in rows)
    findings = [Finding("route", Verdict.OK, told, facts={"surface": surface, "route": rows})]
    return findings + [Finding("route", Verdict.WARNING, w) for w in planned.warnings]


async def store(prism: Prism) -> Finding:
    """Whether the store can be read and written."""
    where = Scope(prism.settings.tenant, _NOWHERE)

    async def probe() -> Told:
        # Confirming a signal that does not exist takes the way of every write and changes nothing.
        await prism.store.confirm(where, _NOWHERE, [new_signal_id()])
        await prism.store.counts(where, _NOWHERE)
        return "reachable and writable", {}

    return await _timed("store", probe)


async def directory(prism: Prism) -> Finding:
    """Whether the directory answers."""
    pid = prism.settings.project or _NOWHERE

    async def probe() -> Told:
        live = await prism.directory.sessions(prism.scope(pid))
        return f"reachable, {len(live)} live sessions in {pid}", {"sessions": len(live)}

    return await _timed("directory", probe)


async def doorbell(prism: Prism) -> Finding:
    """Whether a ring is heard, and how fast."""
    where, session = Scope(prism.settings.tenant, _NOWHERE), new_session_id()

    async def probe() -> Told:
        async with prism.bus.listen(where, session) as bells:
            started = time.perf_counter()
            await prism.bus.ring(Bell(BellKind.SIGNAL, where, (session,), new_signal_id()))
            async for _ in bells:
                break
            heard = (time.perf_counter() - started) * 1000
        return f"rung and heard in {heard:.2f} ms", {"round_trip_ms": round(heard, 3)}

    return await _timed("doorbell", probe)


async def _timed(check: str, probe: Callable[[], Awaitable[Told]]) -> Finding:
    started = time.perf_counter()
    try:
        with anyio.fail_after(_PATIENCE):
            detail, facts = await probe()
    except Exception as e:  # noqa: BLE001 - whatever a backend raises is what is to be told
        return broken(check, e)
    took = round((time.perf_counter() - started) * 1000, 2)
    return Finding(check, Verdict.OK, detail, facts={**facts, "ms": took})


def broken(check: str, error: BaseException) -> Finding:
    """A check that ended with an error."""
    root = cause(error)
    if isinstance(root, PrismError):
        return Finding(check, Verdict.BROKEN, root.message, facts=root.as_json())
    if isinstance(root, TimeoutError):
        return Finding(
            check,
            Verdict.BROKEN,
            f"no answer within {_PATIENCE:.0f} s",
            "Check that what its URL names is running and reachable from here.",
        )
    return Finding(
        check,
        Verdict.BROKEN,
        f"unexpected {type(root).__name__}: {root}",
        "This is a bug of the plugin that serves it; please report it.",
    )
