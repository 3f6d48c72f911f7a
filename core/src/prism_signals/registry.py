"""Finds plugins and keeps a broken one from hiding the others."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Generic, TypeVar

import importlib_metadata
import pluggy

from . import hookspecs
from .contract.descriptors import (
    BusPlugin,
    CommandPlugin,
    DirectoryPlugin,
    GatewayPlugin,
    ObserverPlugin,
    PolicyPlugin,
    StorePlugin,
)
from .contract.strategy import API_VERSION, StrategyPlugin
from .errors import NoSuchPlugin
from .model.builtin_types import BUILTIN_TYPES
from .model.types import SignalType, TypeRegistry

GROUP = hookspecs.PROJECT
T = TypeVar("T")

_KINDS: dict[str, type[Any]] = {
    "prism_strategies": StrategyPlugin,
    "prism_stores": StorePlugin,
    "prism_directories": DirectoryPlugin,
    "prism_buses": BusPlugin,
    "prism_gateways": GatewayPlugin,
    "prism_signal_types": SignalType,
    "prism_policies": PolicyPlugin,
    "prism_observers": ObserverPlugin,
    "prism_commands": CommandPlugin,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a plugin comes from.

    Attributes:
        plugin: The entry point's name.
        distribution: The distribution that declares it.
        version: That distribution's version.
    """

    plugin: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.plugin})"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a plugin that keeps it, or a part of it, from working.

    Attributes:
        origin: Whose plugin.
        summary: What is wrong and what to do, in one or two sentences.
        trace: The traceback where there is one.
    """

    origin: Origin
    summary: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A descriptor and where it comes from."""

    origin: Origin
    plugin: T


@dataclass(slots=True)
class Registry:
    """All plugins of one process. Make one with `discover`; there is no global one.

    Attributes:
        problems: What is broken, in words. None of it stops the rest from working.
    """

    problems: list[Problem] = field(default_factory=list)
    _found: dict[str, list[Found[Any]]] = field(default_factory=dict)

    @classmethod
    def discover(cls) -> Registry:
        """Import every plugin that an installed distribution declares in `prism_signals`."""
        registry = cls()
        loaded: list[tuple[Origin, object]] = []
        for ep in importlib_metadata.entry_points(group=GROUP):
            dist = ep.dist
            origin = Origin(ep.name, dist.name if dist else "?", dist.version if dist else "?")
            try:
                loaded.append((origin, ep.load()))
            except (Exception, SystemExit) as e:  # noqa: BLE001 - whatever a plugin's import raises
                registry.problems.append(
                    Problem(
                        origin,
                        f"{origin} cannot be imported: {type(e).__name__}: {e}. Reinstall or "
                        f"upgrade {origin.distribution}, or uninstall it.",
                        traceback.format_exc(),
                    )
                )
        registry._collect(loaded)
        return registry

    @classmethod
    def of(cls, *plugins: object, **named: object) -> Registry:
        """A registry of just these modules or objects, for tests and embedding."""
        registry = cls()
        pairs = [(getattr(p, "__name__", type(p).__name__), p) for p in plugins]
        registry._collect([(Origin(n, n, "0"), p) for n, p in (*pairs, *named.items())])
        return registry

    @property
    def strategies(self) -> Sequence[Found[StrategyPlugin]]:
        """Every usable strategy."""
        return self._found["prism_strategies"]

    @property
    def stores(self) -> Sequence[Found[StorePlugin]]:
        """Every usable store."""
        return self._found["prism_stores"]

    @property
    def directories(self) -> Sequence[Found[DirectoryPlugin]]:
        """Every usable directory."""
        return self._found["prism_directories"]

    @property
    def buses(self) -> Sequence[Found[BusPlugin]]:
        """Every usable bus."""
        return self._found["prism_buses"]

    @property
    def gateways(self) -> Sequence[Found[GatewayPlugin]]:
        """Every usable gateway."""
        return self._found["prism_gateways"]

    @property
    def policies(self) -> Sequence[Found[PolicyPlugin]]:
        """Every usable policy."""
        return self._found["prism_policies"]

    @property
    def observers(self) -> Sequence[Found[ObserverPlugin]]:
        """Every usable observer."""
        return self._found["prism_observers"]

    @property
    def commands(self) -> Sequence[Found[CommandPlugin]]:
        """Every usable command."""
        return self._found["prism_commands"]

    def types(self, extra: Iterable[str] = ()) -> TypeRegistry:
        """The signal types: built-in, from plugins, and these names with any payload."""
        plugged = [f.plugin for f in self._found["prism_signal_types"]]
        known = {t.name for t in (*BUILTIN_TYPES, *plugged)}
        named = [n for n in dict.fromkeys(extra) if n and n not in known]
        declared = [SignalType(n, "declared by a setting") for n in named]
        return TypeRegistry((*BUILTIN_TYPES, *plugged, *declared))

    def gateway(self, name: str) -> GatewayPlugin:
        """The gateway of that name.

        Raises:
            NoSuchPlugin: It is not installed, or broken.
        """
        return _named(self.gateways, name, "gateway", self.problems)

    def strategy(self, name: str) -> StrategyPlugin:
        """The strategy of that name.

        Raises:
            NoSuchPlugin: It is not installed, or broken.
        """
        return _named(self.strategies, name, "strategy", self.problems)

    def _collect(self, loaded: Sequence[tuple[Origin, object]]) -> None:
        manager = pluggy.PluginManager(GROUP)
        manager.add_hookspecs(hookspecs)
        origins: dict[int, Origin] = {}
        for origin, plugin in loaded:
            if self._register(manager, origin, plugin):
                origins[id(plugin)] = origin
        for hook, kind in _KINDS.items():
            found: list[Found[Any]] = []
            impls = getattr(manager.hook, hook).get_hookimpls()
            for impl in sorted(impls, key=lambda i: str(origins[id(i.plugin)])):
                origin = origins[id(impl.plugin)]
                found += [Found(origin, d) for d in self._call(origin, hook, impl.function, kind)]
            self._found[hook] = self._without_duplicates(found)

    def _register(self, manager: pluggy.PluginManager, origin: Origin, plugin: object) -> bool:
        wrong = _bad_hooks(plugin)
        if wrong:
            self.problems += [Problem(origin, f"{origin}: {w}") for w in wrong]
            return False
        try:
            manager.register(plugin, f"{origin.distribution}:{origin.plugin}")
            manager.check_pending()
        except Exception as e:  # noqa: BLE001 - pluggy's own errors, and what a plugin's names raise
            manager.unregister(plugin) if manager.is_registered(plugin) else None
            self.problems.append(
                Problem(
                    origin,
                    f"{origin} does not fit the hooks: {e}. The hooks are: "
                    f"{', '.join(_KINDS)}; they take no arguments.",
                )
            )
            return False
        return True

    def _call(
        self, origin: Origin, hook: str, function: Callable[[], Any], kind: type[Any]
    ) -> list[Any]:
        try:
            answer = list(function())
        except (Exception, SystemExit) as e:  # noqa: BLE001 - whatever a plugin raises
            self.problems.append(
                Problem(
                    origin,
                    f"{origin}: {hook} raised {type(e).__name__}: {e}. Report it to "
                    f"{origin.distribution}.",
                    traceback.format_exc(),
                )
            )
            return []
        wrong = [(d, _misfit(origin, hook, d, kind) or _taken(origin, d)) for d in answer]
        self.problems += [Problem(origin, why) for _, why in wrong if why]
        return [d for d, why in wrong if not why]

    def _without_duplicates(self, found: list[Found[Any]]) -> list[Found[Any]]:
        by_name: dict[str, list[Found[Any]]] = {}
        for f in found:
            by_name.setdefault(f.plugin.name, []).append(f)
        for name, same in by_name.items():
            for other in same[1:]:
                self.problems.append(
                    Problem(
                        other.origin,
                        f"{other.origin} declares {name!r}, which {same[0].origin} declares too; "
                        f"the first is used. Uninstall one of {same[0].origin.distribution} and "
                        f"{other.origin.distribution}.",
                    )
                )
        return [same[0] for same in by_name.values()]


def _named(found: Sequence[Found[T]], name: str, what: str, problems: Sequence[Problem]) -> T:
    for f in found:
        if getattr(f.plugin, "name", None) == name:
            return f.plugin
    broken = [p.summary for p in problems if p.origin.plugin == name]
    names = ", ".join(sorted(str(getattr(f.plugin, "name", "?")) for f in found)) or "none"
    hint = broken[0] if broken else f"Install the package that brings it. Installed: {names}."
    raise NoSuchPlugin(f"No {what} named {name!r} is usable. {hint}")


def _misfit(origin: Origin, hook: str, given: Any, kind: type[Any]) -> str:
    """Why a descriptor cannot be used; empty where it can."""
    if not isinstance(given, kind):
        return (
            f"{origin}: {hook} gave {type(given).__name__}, it must give {kind.__name__}. Report "
            f"it to {origin.distribution}."
        )
    name = getattr(given, "name", None)
    if not isinstance(name, str) or not name:
        return (
            f"{origin}: {hook} gave a {kind.__name__} whose name is {name!r}; it must be a text. "
            f"Report it to {origin.distribution}."
        )
    for words in ("surfaces", "schemes"):
        listed = getattr(given, words, ())
        if not isinstance(listed, (tuple, list)) or not all(isinstance(w, str) for w in listed):
            return (
                f"{origin}: the {words} of {name} are {listed!r}; they must be a tuple of texts. "
                f"Report it to {origin.distribution}."
            )
    version = getattr(given, "api_version", API_VERSION)
    if version == API_VERSION:
        return ""
    newer = isinstance(version, int) and version > API_VERSION
    older = "prism-signals-core" if newer else origin.distribution
    return (
        f"{origin}: {name} is written for plugin contract {version}, this core speaks "
        f"{API_VERSION}. Upgrade {older}."
    )


def _taken(origin: Origin, given: Any) -> str:
    """Why a signal type cannot have its name; empty where it can."""
    if not isinstance(given, SignalType) or given.name not in {t.name for t in BUILTIN_TYPES}:
        return ""
    return (
        f"{origin}: the signal type {given.name!r} is built in and cannot be declared again. "
        f"Report it to {origin.distribution}."
    )


def _bad_hooks(plugin: object) -> list[str]:
    wrong = []
    names = vars(plugin) if isinstance(plugin, ModuleType) else dict.fromkeys(dir(plugin), 0)
    for name in names:
        try:
            function = getattr(plugin, name, None)
            marked: Mapping[str, Any] | None = getattr(function, f"{GROUP}_impl", None)
        except Exception:  # noqa: BLE001, S112 - a lazy object that is not ready: no hook of ours
            continue
        if marked is None:
            if name in _KINDS and callable(function):
                wrong.append(f"{name} lacks the decorator @prism_signals.hookimpl. Add it.")
        elif inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            wrong.append(f"the hook {name} is async. It returns descriptors: make it a plain def.")
        elif marked.get("hookwrapper") or marked.get("wrapper"):
            wrong.append(f"the hook {name} is a wrapper. Wrappers are not supported.")
    return wrong
