"""What can be told about routes and strategies before any of them is opened."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from prism_signals import (
    Origin,
    PrismError,
    Registry,
    Route,
    Settings,
    StrategyPlugin,
    load_plugin_settings,
    plan,
)

CANDIDATE, FLOOR, SKIPPED = "candidate", "floor", "skipped"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a strategy stands in a route, and why.

    Attributes:
        strategy: Its name.
        state: `candidate`, `floor` or `skipped`.
        reason: Why.
        distribution: Which one brings it; empty for a class that `PRISM_STRATEGY_MAP` names.
        version: That distribution's version.
    """

    strategy: str
    state: str
    reason: str
    distribution: str = ""
    version: str = ""

    def as_json(self) -> dict[str, Any]:
        """As a JSON-ready dict."""
        return asdict(self)


def planned_route(
    registry: Registry, settings: Settings, surface: str | None
) -> tuple[Route | None, PrismError | None]:
    """The route of a surface, or why it has none."""
    try:
        return plan(registry, surface, settings.strategy_map), None
    except PrismError as e:
        return None, e


def places(
    registry: Registry, settings: Settings, surface: str | None, route: Route | None
) -> list[Place]:
    """Every strategy: first the route in its order, then those that were left out."""
    origins = {f.plugin.name: f.origin for f in registry.strategies}
    candidates = route.candidates if route else ()
    mapped = surface is not None and surface in settings.strategy_map
    found = [_candidate(c, surface, origins.get(c.name), mapped=mapped) for c in candidates]
    taken = {c.name for c in candidates}
    for f in registry.strategies:
        if f.plugin.name not in taken:
            why = "PRISM_STRATEGY_MAP leaves it out" if mapped else _serves(f.plugin, surface)
            found.append(_place(f.plugin, SKIPPED, why, f.origin))
    return found


def pushes(plugin: StrategyPlugin) -> bool | None:
    """Whether a strategy pushes; None where that is known only once it is open.

    The contract makes `supports_push` constant, so it is asked of an instance without state; one
    that needs its state to answer raises, and then nothing is claimed.
    """
    if plugin.strategy is None:
        return None
    try:
        return bool(plugin.strategy.supports_push(object.__new__(plugin.strategy)))
    except Exception:  # noqa: BLE001 - whatever a strategy without its state runs into
        return None


def _candidate(
    plugin: StrategyPlugin, surface: str | None, origin: Origin | None, *, mapped: bool
) -> Place:
    if plugin.settings is not None:
        try:
            load_plugin_settings(plugin.name, plugin.settings)
        except PrismError as e:
            return _place(plugin, SKIPPED, e.message, origin)
    named = mapped and not plugin.serves(surface)
    why = "PRISM_STRATEGY_MAP names it" if named else _serves(plugin, surface)
    if plugin.handshake is not None:
        why += "; opened only on a client's connection that agreed to it at the handshake"
    return _place(plugin, FLOOR if pushes(plugin) is False else CANDIDATE, why, origin)


def _serves(plugin: StrategyPlugin, surface: str | None) -> str:
    if "*" in plugin.surfaces:
        return "it serves every surface"
    if plugin.serves(surface):
        return f"it serves {surface}"
    return f"it serves {', '.join(plugin.surfaces) or 'no surface by itself'}"


def _place(plugin: StrategyPlugin, state: str, why: str, origin: Origin | None) -> Place:
    if origin is None:
        return Place(plugin.name, state, why)
    return Place(plugin.name, state, why, origin.distribution, origin.version)
