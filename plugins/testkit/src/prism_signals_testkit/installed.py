"""Finds installed plugins, and the conformance classes that their distributions ship."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import importlib_metadata
import pytest

from . import PluginConformance, PluginHarness
from .suite import Suite

PLUGINS = "prism_signals"
HARNESSES = "prism_signals_conformance"
"""Entry points of this group are named as the plugin's own, and lead to its conformance classes:
a module, or one class in it."""
_KIT = "prism-signals-testkit"


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin as its distribution declares it.

    Attributes:
        plugin: The name of its entry point.
        distribution: The distribution that declares it.
        version: That distribution's version.
        harness: Where its conformance classes are, or None where it ships none.
    """

    plugin: str
    distribution: str
    version: str
    harness: str | None


def installed() -> list[Installed]:
    """Every plugin that is installed, by name, whether it works or not."""
    found = [
        Installed(ep.name, ep.dist.name, ep.dist.version, ships.value if ships else None)
        for ep in importlib_metadata.entry_points(group=PLUGINS)
        if ep.dist is not None
        for ships in [_declared(ep)]
    ]
    return sorted(found, key=lambda i: (i.plugin, i.distribution))


def suites(name: str) -> Sequence[type[Suite]]:
    """The conformance classes of a plugin: what it ships, and always that for plugins as such.

    Raises:
        LookupError: No plugin of that name is installed.
        Exception: Whatever the import of its conformance classes raises.
    """
    ep = next(iter(importlib_metadata.entry_points(group=PLUGINS, name=name)), None)
    if ep is None:
        raise LookupError(name)
    ships = _declared(ep)
    shipped = _classes(ships.load()) if ships is not None else []
    if any(issubclass(c, PluginConformance) for c in shipped):
        return shipped
    return [_as_a_plugin(ep), *shipped]


def _declared(ep: importlib_metadata.EntryPoint) -> importlib_metadata.EntryPoint | None:
    """Where the same distribution ships conformance classes for it.

    The kit itself ships those of the reference in core, which cannot depend on the kit.
    """
    same = importlib_metadata.entry_points(group=HARNESSES, name=ep.name)
    owners = [ep.dist.name if ep.dist else "", _KIT]
    mine = [h for h in same if h.dist is not None and h.dist.name in owners]
    return min(mine, key=lambda h: owners.index(h.dist.name if h.dist else ""), default=None)


def _classes(shipped: object) -> list[type[Suite]]:
    if not isinstance(shipped, ModuleType):
        found = [shipped]
    else:
        own = [v for v in vars(shipped).values() if inspect.isclass(v)]
        found = [v for v in own if issubclass(v, Suite) and v.__module__ == shipped.__name__]
    classes = [c for c in found if inspect.isclass(c) and issubclass(c, Suite)]
    if not classes:
        raise TypeError(f"{shipped!r} holds no conformance class")
    return classes


def _as_a_plugin(ep: importlib_metadata.EntryPoint) -> type[PluginConformance]:
    class InstalledPlugin(PluginConformance):
        """The plugin as its entry point names it."""

        @pytest.fixture
        def harness(self) -> PluginHarness:
            """Loaded in each test, so that an import that fails fails tests, and not the run."""
            return PluginHarness(ep.load(), ep.name)

    return InstalledPlugin
