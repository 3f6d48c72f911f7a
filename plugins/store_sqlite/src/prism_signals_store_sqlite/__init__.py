"""Store, directory and doorbell of Prism Signals in one SQLite file.

This module is what discovery imports: it describes the three and imports nothing heavy. They are
loaded when one of them is opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from prism_signals import BusPlugin, DirectoryPlugin, StorePlugin, hookimpl

if TYPE_CHECKING:
    from prism_signals import BackendURL, Bus, Clock, Directory, Store

NAME = "sqlite"
SCHEMES = ("sqlite",)


def default_url() -> str:
    """The URL of this user's own file."""
    from .url import default_path, url_of

    return url_of(default_path())


@asynccontextmanager
async def open_store(url: BackendURL, clock: Clock) -> AsyncIterator[Store]:
    """Open the file as a store; see `StorePlugin.open`."""
    from .database import open_database
    from .store import SQLiteStore
    from .url import parse_url

    async with open_database(parse_url(url.text), clock) as database:
        yield SQLiteStore(database)


@asynccontextmanager
async def open_directory(url: BackendURL, clock: Clock) -> AsyncIterator[Directory]:
    """Open the file as a directory; see `DirectoryPlugin.open`."""
    from .database import open_database
    from .directory import SQLiteDirectory
    from .url import parse_url

    options = parse_url(url.text)
    async with open_database(options, clock) as database:
        yield SQLiteDirectory(database, options.ttl)


@asynccontextmanager
async def open_bus(url: BackendURL, clock: Clock) -> AsyncIterator[Bus]:
    """Open the doorbells of the file's sessions; see `BusPlugin.open`. The file is not touched."""
    from .doorbell import Doorbell
    from .url import parse_url

    doorbell = Doorbell(parse_url(url.text))
    try:
        yield doorbell
    finally:
        doorbell.close()


@hookimpl
def prism_stores() -> Sequence[StorePlugin]:
    """One SQLite file as a store."""
    return [StorePlugin(NAME, SCHEMES, open_store, default_url)]


@hookimpl
def prism_directories() -> Sequence[DirectoryPlugin]:
    """The same file as a directory."""
    return [DirectoryPlugin(NAME, SCHEMES, open_directory)]


@hookimpl
def prism_buses() -> Sequence[BusPlugin]:
    """A local socket per session as a doorbell."""
    return [BusPlugin(NAME, SCHEMES, open_bus)]
