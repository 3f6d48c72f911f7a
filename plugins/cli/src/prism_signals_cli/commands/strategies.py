"""`prism strategies`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from prism_signals import Found, PrismError, Registry, Settings, StrategyPlugin

from ..findings import fault
from ..options import json_option, verbose_option
from ..plaintext import one_line, say, say_json
from ..routes import Place, places, planned_route, pushes


@click.command()
@click.option(
    "--surface",
    metavar="NAME",
    help="Show the route of this surface. Default: PRISM_AGENT_SURFACE.",
)
@verbose_option
@json_option
def strategies(surface: str | None, verbose: bool, as_json: bool) -> int:
    """Show the installed strategies, and which of them serve this surface, in order."""
    settings = Settings.load()
    registry = Registry.discover()
    wanted = surface or settings.agent_surface
    route, trouble = planned_route(registry, settings, wanted)
    standing = {p.strategy: p for p in places(registry, settings, wanted, route)}
    names = [c.name for c in route.candidates] if route else []
    rows = [_row(f, names, standing[f.plugin.name]) for f in registry.strategies]
    bare = [standing[n] for n in names if not standing[n].distribution]
    warnings = list(route.warnings) if route else []
    if as_json:
        say_json(
            {
                "surface": wanted,
                "route": names,
                "strategies": rows,
                "classes": [p.as_json() for p in bare],
                "warnings": warnings,
                "error": trouble.as_json() if trouble else None,
                "problems": [fault(p, verbose=verbose) for p in registry.problems],
            }
        )
    else:
        say(*_lines(wanted, names, rows, bare), *_remarks(warnings, trouble, registry, verbose))
    return 0


def _row(found: Found[StrategyPlugin], route: list[str], place: Place) -> dict[str, Any]:
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
        "state": place.state,
        "reason": place.reason,
    }


def _lines(
    surface: str | None, route: list[str], rows: list[dict[str, Any]], bare: list[Place]
) -> list[str]:
    lines = []
    for r in rows:
        pushing = {True: "pushes", False: "waits for a verb", None: "pushes or not: told when open"}
        named = ", ".join(r["surfaces"]) or "no surface by itself"
        surfaces = "every surface" if "*" in r["surfaces"] else one_line(named)
        lines.append(f"{one_line(r['name'])}  ({one_line(r['distribution'])} {r['version']})")
        lines.append(f"  {pushing[r['pushes']]}; for {surfaces}")
        lines.append(f"  {r['state']} here: {one_line(r['reason'])}")
    for p in bare:
        lines += [f"{one_line(p.strategy)}  (a class)", f"  {p.state} here: {one_line(p.reason)}"]
    lines = lines or ["No strategy is installed."]
    way = " -> ".join(one_line(n) for n in route) or "none"
    return [*lines, f"Route of {one_line(surface or 'an unset surface')}: {way}"]


def _remarks(
    warnings: list[str], trouble: PrismError | None, registry: Registry, verbose: bool
) -> Iterator[str]:
    for text in [*warnings, *([trouble.message] if trouble else [])]:
        yield f"! {one_line(text)}"
    for problem in registry.problems:
        yield f"! {one_line(problem.summary)}"
        if verbose:
            yield from (f"  {one_line(line)}" for line in problem.trace.rstrip().splitlines())
