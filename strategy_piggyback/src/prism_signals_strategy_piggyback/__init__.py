"""Attaches waiting signals to the answers of Prism verbs: the floor under every surface."""

from __future__ import annotations

from collections.abc import Sequence

from prism_signals import StrategyPlugin, hookimpl

from .strategy import PiggybackStrategy, open_piggyback

__all__ = ["PiggybackStrategy", "prism_strategies"]


@hookimpl
def prism_strategies() -> Sequence[StrategyPlugin]:
    """The strategy `piggyback`, for every surface, tried last."""
    return [
        StrategyPlugin(
            name="piggyback",
            surfaces=("*",),
            rank=1000,
            open=open_piggyback,
            strategy=PiggybackStrategy,
        )
    ]
