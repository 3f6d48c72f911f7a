"""What can be told about routes and strategies before any of them is opened."""

from __future__ import annotations

from prism_signals import PrismError, Registry, Route, Settings, StrategyPlugin, plan


def planned_route(
    registry: Registry, settings: Settings, surface: str | None
) -> tuple[Route | None, PrismError | None]:
    """The route of a surface, or why it has none."""
    try:
        return plan(registry, surface, settings.strategy_map), None
    except PrismError as e:
        return None, e


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
