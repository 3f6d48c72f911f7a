"""`prism strategies`."""

from __future__ import annotations

from typing import Any

import click

from prism_signals import Found, PrismError, Registry, Settings, StrategyPlugin

from ..options import json_option
from ..plaintext import one_line, say, say_json
from ..routes import planned_route, pushes


@click.command()
@click.option(
    "--surface",
    metavar="NAME",
    help="Show the route of this surface. Default: PRISM_AGENT_SURFACE.",
)
@json_option
def strategies(surface: str | None, as_json: bool) -> int:
    """Show the installed strategies, and which of them serve this surface, in order."""
    settings = Settings.load()
    registry = Registry.discover()
    wanted = surface or settings.agent_surface
    route, trouble = planned_route(registry, settings, wanted)
    names = [c.name for c in route.candidates] if route else []
    rows = [_row(f, names) for f in registry.strategies]
    if as_json:
        say_json(
            {
                "surface": wanted,
                "route": names,
                "strategies": rows,
                "warnings": list(route.warnings) if route else [],
                "error": trouble.as_json() if trouble else None,
                "problems": [p.summary for p in registry.problems],
            }
        )
    else:
        say(*_lines(wanted, names, rows))
        for text in _remarks(route.warnings if route else (), trouble, registry):
            say(f"! {one_line(text)}")
    return 0


def _row(found: Found[StrategyPlugin], route: list[str]) -> dict[str, Any]:
    plugin, origin = found.plugin, found.origin
    return {
        "name": plugin.name,
        "distribution": origin.distribution,
        "version": origin.version,
        "surfaces": list(plugin.surfaces),
        "pushes": pushes(plugin),
        "wakes": plugin.wakes,
        "rank": plugin.rank,
        "place": route.index(plugin.name) + 1 if plugin.name in route else None,
    }


def _lines(surface: str | None, route: list[str], rows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for r in rows:
        pushing = {True: "pushes", False: "waits for a verb", None: "pushes or not: told when open"}
        named = ", ".join(r["surfaces"]) or "no surface by itself"
        surfaces = "every surface" if "*" in r["surfaces"] else one_line(named)
        lines.append(f"{one_line(r['name'])}  ({one_line(r['distribution'])} {r['version']})")
        lines.append(f"  {pushing[r['pushes']]}; for {surfaces}")
    lines = lines or ["No strategy is installed."]
    way = " -> ".join(one_line(n) for n in route) or "none"
    return [*lines, f"Route of {one_line(surface or 'an unset surface')}: {way}"]


def _remarks(
    warnings: tuple[str, ...], trouble: PrismError | None, registry: Registry
) -> list[str]:
    found = [*warnings, *([trouble.message] if trouble else [])]
    return found + [p.summary for p in registry.problems]
