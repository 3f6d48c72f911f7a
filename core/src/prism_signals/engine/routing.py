"""Which strategies a surface gets, in which order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..contract.capabilities import HandshakeNeeds
from ..contract.strategy import SignalDeliveryStrategy, StrategyContext, StrategyPlugin
from ..errors import NoRoute, NoSuchPlugin
from ..registry import Registry

_KNOWN_PACKAGES = "prism-signals-strategy-"


@dataclass(frozen=True, slots=True)
class Route:
    """The strategies that may serve a surface, best first, before any was opened.

    Attributes:
        surface: As configured; None where nothing is.
        candidates: In the order in which they are tried.
        warnings: What a person should know about this choice.
    """

    surface: str | None
    candidates: tuple[StrategyPlugin, ...]
    warnings: tuple[str, ...] = ()

    def handshake(self) -> HandshakeNeeds:
        """What all of them together need from the MCP handshake."""
        needs = [c.handshake for c in self.candidates if c.handshake is not None]
        return HandshakeNeeds(
            {name: value for n in needs for name, value in n.experimental.items()},
            any(n.unsolicited for n in needs),
        )


def plan(
    registry: Registry, surface: str | None, overrides: Mapping[str, str | list[str]]
) -> Route:
    """Choose the route of a surface.

    `PRISM_STRATEGY_MAP` decides where it names the surface: one name is that strategy above the
    strategies of every surface, a list is exactly that list. Each name is an installed strategy or
    `package.module:Class`, a class in the shape of SPEC-034 §7.1. Otherwise all installed
    strategies that serve the surface are taken, by rank.

    Raises:
        NoSuchPlugin: The map names a strategy that is not installed.
        NoRoute: Nothing serves this surface; the message names the package to install.
    """
    chosen = overrides.get(surface) if surface else None
    installed = sorted((f.plugin for f in registry.strategies), key=lambda p: (p.rank, p.name))
    floor = [p for p in installed if "*" in p.surfaces]
    if isinstance(chosen, list):
        candidates = [_named(registry, name) for name in chosen]
    elif chosen is not None:
        first = _named(registry, chosen)
        candidates = [first, *(p for p in floor if p.name != first.name)]
    else:
        candidates = [p for p in installed if p.serves(surface)]
    if not candidates:
        raise NoRoute(
            f"No installed strategy serves the surface {surface!r}. Install one, for example "
            f"'pip install {_KNOWN_PACKAGES}piggyback', which serves every surface."
        )
    return Route(surface, tuple(candidates), _warnings(registry, surface, chosen is not None))


def _warnings(registry: Registry, surface: str | None, overridden: bool) -> tuple[str, ...]:
    if overridden:
        return ()
    if surface is None:
        return (
            "PRISM_AGENT_SURFACE is not set: signals wait for the agent's next verb. Set it to "
            "where this agent lives, for example claude_code.",
        )
    if not any(surface in f.plugin.surfaces for f in registry.strategies):
        known = sorted({s for f in registry.strategies for s in f.plugin.surfaces} - {"*"})
        return (
            f"No installed strategy is made for the surface {surface!r}: signals wait for the "
            f"agent's next verb. Surfaces with one: {', '.join(known) or 'none'}.",
        )
    return ()


def _named(registry: Registry, name: str) -> StrategyPlugin:
    if ":" in name:
        return _bare(name)
    try:
        return registry.strategy(name)
    except NoSuchPlugin as e:
        package = _KNOWN_PACKAGES + name.replace("_", "-")
        raise NoSuchPlugin(f"PRISM_STRATEGY_MAP: {e} Perhaps 'pip install {package}'.") from None


def _bare(target: str) -> StrategyPlugin:
    module, _, attribute = target.partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except Exception as e:  # whatever a module raises while it is imported
        raise NoSuchPlugin(
            f"PRISM_STRATEGY_MAP names {target!r}, which cannot be imported: "
            f"{type(e).__name__}: {e}. Write package.module:Class."
        ) from e
    if not all(callable(getattr(cls, needed, None)) for needed in ("deliver", "supports_push")):
        raise NoSuchPlugin(
            f"PRISM_STRATEGY_MAP names {target!r}, which has no deliver() and supports_push()."
        )

    @asynccontextmanager
    async def open_bare(
        settings: Any, context: StrategyContext
    ) -> AsyncIterator[SignalDeliveryStrategy]:
        yield cls()

    return StrategyPlugin(name=attribute, surfaces=(), open=open_bare, strategy=cls)
