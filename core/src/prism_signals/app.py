"""The composition root: settings and plugins become one working whole."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from pydantic import SecretStr

from . import fingerprint
from .agent import Agent
from .clock import Clock, SystemClock
from .contract.bus import Bus
from .contract.capabilities import HandshakeNeeds
from .contract.descriptors import BackendURL, Observer, ObserverPlugin, Policy, PolicyPlugin
from .contract.directory import Directory
from .contract.store import Store
from .engine.hosting import Surroundings
from .engine.office import PostOffice
from .engine.policies import LoopGuard
from .engine.routing import Route, plan
from .engine.settlements import Settlements
from .engine.supervisor import Offers
from .engine.verbs import Verbs
from .errors import ConfigurationError, InvalidProject, NoIdentity, NoSuchPlugin, PrismError
from .model.delivery import Lease
from .model.ids import OUTSIDE_SESSION, SessionId
from .model.names import Scope, parse_name, parse_project
from .model.outcome import DeliveryOutcome
from .model.signal import Signal
from .model.types import TypeRegistry
from .outsider import Outsider
from .registry import Found, Registry
from .settings import Settings

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Prism:
    """Everything one process needs to send and receive signals. Open it with `Prism.open`."""

    settings: Settings
    registry: Registry
    types: TypeRegistry
    clock: Clock
    store: Store
    directory: Directory
    bus: Bus
    log: logging.Logger
    _office: PostOffice
    _observers: tuple[Observer, ...] = field(default=())

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        registry: Registry | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Prism]:
        """Read the settings, find the plugins, and open store, directory and bus.

        Raises:
            InvalidSetting: A setting cannot be used.
            NoSuchPlugin: No installed plugin serves a configured URL.
            StoreUnavailable: A backend cannot be opened.
        """
        settings = settings or Settings.load()
        registry = registry or Registry.discover()
        clock = clock or SystemClock()
        log = logging.getLogger("prism_signals")
        for problem in registry.problems:
            log.warning("%s", problem.summary)
        store_url, directory_url, bus_url = backend_urls(settings, registry)
        types = registry.types(settings.signal_types)
        observers = tuple(made for f in registry.observers if (made := _observer(f, log)))
        async with AsyncExitStack() as stack:
            open_store = _serving(registry.stores, store_url, "store").open
            open_directory = _serving(registry.directories, directory_url, "directory").open
            open_bus = _serving(registry.buses, bus_url, "bus").open
            store = await stack.enter_async_context(open_store(store_url, clock))
            directory = await stack.enter_async_context(open_directory(directory_url, clock))
            bus = await stack.enter_async_context(open_bus(bus_url, clock))
            watchers = _Watchers(observers, log)
            office = PostOffice(
                settings,
                types,
                store,
                directory,
                bus,
                clock,
                log,
                _policies(settings, registry),
                watchers.accepted,
            )
            yield cls(
                settings, registry, types, clock, store, directory, bus, log, office, observers
            )

    def scope(self, pid: str | None = None) -> Scope:
        """The tenant and project to act in: the given pid, else the configured one.

        Raises:
            InvalidProject: There is none, or it is malformed.
        """
        wanted = pid if pid is not None else self.settings.project
        if wanted is None:
            raise InvalidProject("No project is known. Name one, or set PRISM_PROJECT.")
        return Scope(parse_project(self.settings.tenant), parse_project(wanted))

    def route(self, surface: str | None = None) -> Route:
        """The strategies for a surface (by default the configured one), before any is opened.

        Raises:
            NoSuchPlugin: `PRISM_STRATEGY_MAP` names one that is not installed.
            NoRoute: Nothing serves the surface.
        """
        return plan(
            self.registry, surface or self.settings.agent_surface, self.settings.strategy_map
        )

    def handshake(self) -> HandshakeNeeds:
        """What the configured route needs from the MCP handshake."""
        return self.route().handshake()

    @asynccontextmanager
    async def host(self, *, offers: Sequence[object] = ()) -> AsyncIterator[Agent]:
        """Host one agent in this process; its session ends with the context.

        Args:
            offers: Capabilities of the gateway that strategies may ask for.
        """
        capabilities = Offers()
        for offer in offers:
            capabilities.add(offer)
        watchers = _Watchers(self._observers, self.log)
        around = Surroundings(
            self.settings,
            self.store,
            self.directory,
            self.bus,
            self.clock,
            self.log,
            self._office,
            capabilities,
            Settlements(),
            watchers.attempted,
        )
        async with anyio.create_task_group() as tasks:
            agent = Agent(around, self.route(), tasks)
            try:
                yield agent
            finally:
                with anyio.CancelScope(shield=True):
                    await agent.close()
                tasks.cancel_scope.cancel()

    def outside(
        self,
        name: str | None = None,
        pid: str | None = None,
        session_id: SessionId = OUTSIDE_SESSION,
    ) -> Outsider:
        """Speak under a name without a session of one's own.

        Args:
            name: The name; by default the configured identity.
            pid: The project; by default the configured one.
            session_id: The live session this caller belongs to, where it knows one.

        Raises:
            NoIdentity: No name is known.
            InvalidName: The name is malformed.
            InvalidProject: No project is known, or it is malformed.
        """
        wanted = name if name is not None else self.settings.agent_identity
        if wanted is None:
            raise NoIdentity("No identity is known. Name one, or set PRISM_AGENT_IDENTITY.")
        return Outsider(
            self.scope(pid),
            parse_name(wanted),
            session_id,
            self._office,
            Verbs(self.store, self.directory),
        )

    async def session_around(self, pid: str | None = None) -> SessionId | None:
        """The live session of the agent in whose process tree this process runs, if just one is."""
        above = {p: n for n, p in enumerate(fingerprint.ancestors(os.getpid()))}
        near: dict[int, list[SessionId]] = {}
        for s in await self.directory.sessions(self.scope(pid)):
            client = s.registration.client
            if client and client.pid in above and fingerprint.lives(client):
                near.setdefault(above[client.pid], []).append(s.session_id)
        nearest = near[min(near)] if near else []
        return nearest[0] if len(nearest) == 1 else None


@dataclass(frozen=True, slots=True)
class _Watchers:
    observers: tuple[Observer, ...]
    log: logging.Logger

    def accepted(self, signal: Signal) -> None:
        self._tell("accepted", signal)

    def attempted(self, lease: Lease, method: str, outcome: DeliveryOutcome) -> None:
        self._tell("attempted", lease, method, outcome)

    def _tell(self, what: str, *about: Any) -> None:
        for observer in self.observers:
            try:
                getattr(observer, what)(*about)
            except Exception:
                self.log.exception("an observer raised in %s()", what)


def backend_urls(
    settings: Settings, registry: Registry
) -> tuple[BackendURL, BackendURL, BackendURL]:
    """The URLs of store, directory and bus; each defaults from the one before.

    Raises:
        NoSuchPlugin: No store is configured and no installed one has a default.
    """
    store = _secret(settings.store_url)
    if store is None:
        defaults = [f.plugin.default_url for f in registry.stores if f.plugin.default_url]
        if not defaults:
            raise NoSuchPlugin(
                "No store is configured and none that needs no configuration is installed. Run "
                "'pip install prism-signals-store-sqlite', or set PRISM_STORE_URL."
            )
        store = defaults[0]()
    directory = _secret(settings.directory_url) or store
    bus = _secret(settings.bus_url) or directory
    return BackendURL(store), BackendURL(directory), BackendURL(bus)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None


def _serving(found: Sequence[Found[Any]], url: BackendURL, what: str) -> Any:
    for f in found:
        if url.scheme in f.plugin.schemes:
            return f.plugin
    known = sorted({s for f in found for s in f.plugin.schemes})
    raise NoSuchPlugin(
        f"No installed {what} serves {_beginning(url)}. "
        f"Served here: {', '.join(known) or 'none'}. Check PRISM_{what.upper()}_URL, or install "
        "the package that serves it."
    )


def _beginning(url: BackendURL) -> str:
    """How a URL begins; without a scheme it is not shown, since it may hold credentials."""
    return f"URLs that begin with {url.scheme!r}" if ":" in url.text else "what is no URL"


def _policies(settings: Settings, registry: Registry) -> list[Policy]:
    guard = LoopGuard(
        settings.max_hops,
        settings.sender_per_minute,
        settings.pair_per_minute,
        settings.pair_per_hour,
        settings.thread_per_minute,
    )
    values = settings.model_dump()
    return [guard, *(_policy(f, values) for f in registry.policies)]


def _policy(found: Found[PolicyPlugin], values: Mapping[str, Any]) -> Policy:
    try:
        return found.plugin.make(values)
    except PrismError:
        raise
    except Exception as e:  # whatever a plugin raises; without its policy nothing may be sent
        raise ConfigurationError(
            f"{found.origin}: the policy {found.plugin.name!r} raised {type(e).__name__}: {e}. "
            f"Upgrade or uninstall {found.origin.distribution}."
        ) from e


def _observer(found: Found[ObserverPlugin], log: logging.Logger) -> Observer | None:
    try:
        return found.plugin.make()
    except Exception:
        log.exception("%s: the observer %r is left out", found.origin, found.plugin.name)
        return None
