"""What hooks return: descriptions of things that can be opened later. Making one does no I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from ..clock import Clock
from ..model.delivery import Lease
from ..model.outcome import DeliveryOutcome
from ..model.signal import Signal
from .bus import Bus
from .directory import Directory
from .posting import Limit
from .store import Store
from .strategy import API_VERSION

if TYPE_CHECKING:
    from ..app import Prism


@dataclass(frozen=True, slots=True)
class BackendURL:
    """Where a backend is.

    Attributes:
        text: The whole URL as configured. It may hold credentials: never log or print it.
        scheme: The part before the first colon.
    """

    text: str

    @property
    def scheme(self) -> str:
        """The part before the first colon, in lower case."""
        return self.text.partition(":")[0].lower()

    @property
    def redacted(self) -> str:
        """The URL as it may be shown: without credentials and without the values of its query."""
        rest = self.text.partition(":")[2]
        before, at, place = rest.rpartition("@")
        if rest.startswith("///") and ":" not in before:  # a path, in which `@` is just a sign
            before, at, place = "", "", rest
        if "?" in before or "#" in before:  # that `@` may belong to a value
            return f"{self.scheme}:…"
        bare, *values = place.replace("#", "?").split("?", 1)
        return f"{self.scheme}:{'//…@' if at else ''}{bare}{'?…' if values else ''}"

    def __repr__(self) -> str:
        return f"BackendURL({self.scheme}:…)"


OpenStore = Callable[[BackendURL, Clock], AbstractAsyncContextManager[Store]]
OpenDirectory = Callable[[BackendURL, Clock], AbstractAsyncContextManager[Directory]]
OpenBus = Callable[[BackendURL, Clock], AbstractAsyncContextManager[Bus]]


@dataclass(frozen=True, slots=True)
class StorePlugin:
    """A store, chosen by the scheme of `PRISM_STORE_URL`; options stand in the URL's query.

    Attributes:
        name: Unique among stores.
        schemes: URL schemes it serves.
        open: `open(url, clock)` gives an async context manager around the store.
        default_url: Gives the URL where none is configured, or is None.
        api_version: The contract it was written for.
    """

    name: str
    schemes: tuple[str, ...]
    open: OpenStore
    default_url: Callable[[], str] | None = None
    api_version: int = API_VERSION


@dataclass(frozen=True, slots=True)
class DirectoryPlugin:
    """A directory, chosen by the scheme of `PRISM_DIRECTORY_URL`; see `StorePlugin`."""

    name: str
    schemes: tuple[str, ...]
    open: OpenDirectory
    api_version: int = API_VERSION


@dataclass(frozen=True, slots=True)
class BusPlugin:
    """A bus, chosen by the scheme of `PRISM_BUS_URL`; see `StorePlugin`."""

    name: str
    schemes: tuple[str, ...]
    open: OpenBus
    api_version: int = API_VERSION


@dataclass(frozen=True, slots=True)
class GatewayPlugin:
    """An inbound door of ours, for example an MCP server.

    Attributes:
        name: Unique among gateways.
        serve: `serve(prism)` runs it until its client is gone.
        settings: Model of its own settings, read from `PRISM_<NAME>_*`, or None.
        api_version: The contract it was written for.
    """

    name: str
    serve: Callable[[Prism], Awaitable[None]]
    settings: type[BaseModel] | None = None
    api_version: int = API_VERSION


@dataclass(frozen=True, slots=True)
class CommandPlugin:
    """A command for the terminal.

    Attributes:
        name: The word after `prism`.
        help: One line.
        target: `package.module:function`, imported only when the command runs. The function takes
            the remaining arguments as a list of strings and returns the exit status.
        api_version: The contract it was written for.
    """

    name: str
    help: str
    target: str
    api_version: int = API_VERSION


class Policy(Protocol):
    """Refuses or limits signals before they are stored. Pure: no I/O, no state."""

    def check(self, signal: Signal) -> Sequence[Limit]:
        """Limits to count this signal against.

        Raises:
            PrismError: The signal is refused; the message says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class PolicyPlugin:
    """A policy; `make` gets the settings as a mapping of names to values."""

    name: str
    make: Callable[[Mapping[str, Any]], Policy]
    api_version: int = API_VERSION


class Observer(Protocol):
    """Is told what happens, after it happened. What it raises is logged and changes nothing."""

    def accepted(self, signal: Signal) -> None:
        """A signal was stored."""

    def attempted(self, lease: Lease, method: str, outcome: DeliveryOutcome) -> None:
        """A strategy was asked to deliver it."""


@dataclass(frozen=True, slots=True)
class ObserverPlugin:
    """An observer."""

    name: str
    make: Callable[[], Observer]
    api_version: int = API_VERSION
