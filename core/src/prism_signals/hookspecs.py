"""The hooks a plugin may implement. They take no arguments, do no I/O and return descriptors."""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from .contract.descriptors import (
    BusPlugin,
    CommandPlugin,
    DirectoryPlugin,
    GatewayPlugin,
    ObserverPlugin,
    PolicyPlugin,
    StorePlugin,
)
from .contract.strategy import StrategyPlugin
from .model.types import SignalType

PROJECT = "prism_signals"
"""The entry-point group and pluggy's project name."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a plugin's hook implementations."""


@hookspec
def prism_strategies() -> Sequence[StrategyPlugin]:  # type: ignore[empty-body]
    """Ways to put a signal in front of a model."""


@hookspec
def prism_stores() -> Sequence[StorePlugin]:  # type: ignore[empty-body]
    """Stores, by URL scheme."""


@hookspec
def prism_directories() -> Sequence[DirectoryPlugin]:  # type: ignore[empty-body]
    """Directories, by URL scheme."""


@hookspec
def prism_buses() -> Sequence[BusPlugin]:  # type: ignore[empty-body]
    """Buses, by URL scheme."""


@hookspec
def prism_gateways() -> Sequence[GatewayPlugin]:  # type: ignore[empty-body]
    """Inbound doors."""


@hookspec
def prism_signal_types() -> Sequence[SignalType]:  # type: ignore[empty-body]
    """Signal types beyond the built-in ones."""


@hookspec
def prism_policies() -> Sequence[PolicyPlugin]:  # type: ignore[empty-body]
    """Rules that every signal passes before it is stored."""


@hookspec
def prism_observers() -> Sequence[ObserverPlugin]:  # type: ignore[empty-body]
    """Those who are told what happened."""


@hookspec
def prism_commands() -> Sequence[CommandPlugin]:  # type: ignore[empty-body]
    """Commands for the terminal."""
