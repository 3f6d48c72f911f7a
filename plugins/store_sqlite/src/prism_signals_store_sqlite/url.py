"""The URL of the file and its options."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import platformdirs

from prism_signals import InvalidSetting

_EXAMPLE = "sqlite:///home/me/prism.db"
_LEVELS = ("FULL", "NORMAL")


@dataclass(frozen=True, slots=True)
class Options:
    """What a URL says.

    Attributes:
        path: The file, absolute.
        synchronous: How a durable commit reaches the disk: `FULL` survives a power failure,
            `NORMAL` a crash of any process.
        deadline: How long a write may wait for other writers.
        ttl: How long a session lives without a heartbeat.
        poll: How often a listener should look without a ring.
    """

    path: Path
    synchronous: str = "FULL"
    deadline: timedelta = timedelta(seconds=10)
    ttl: timedelta = timedelta(seconds=90)
    poll: timedelta = timedelta(seconds=1)


def default_path() -> Path:
    """This user's own file, in the place the operating system has for such data."""
    return Path(platformdirs.user_data_dir("prism-signals", appauthor=False)) / "prism.db"


def url_of(path: Path) -> str:
    """The URL of a file."""
    return f"sqlite://{quote(path.absolute().as_posix())}"


def parse_url(text: str) -> Options:
    """Read `sqlite:///absolute/path.db?option=value&…`; without a path it is the user's own file.

    Raises:
        InvalidSetting: The URL or an option cannot be used; the message says what to write.
    """
    try:
        parts = urlsplit(text)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as e:
        raise InvalidSetting(f"The SQLite URL cannot be read ({e}). Example: {_EXAMPLE}") from None
    if parts.scheme != "sqlite":
        raise InvalidSetting(f"This store needs a URL that begins with sqlite:, like {_EXAMPLE}")
    if parts.fragment:
        raise InvalidSetting("The SQLite URL has a '#'. In a file name, write it as %23.")
    options = Options(_path(parts.netloc, unquote(parts.path)))
    seen: set[str] = set()
    for key, value in pairs:
        if key in seen:
            raise InvalidSetting(f"The SQLite URL has the option {key!a} twice. Leave one out.")
        seen.add(key)
        options = _with_option(options, key, value)
    return options


def _path(host: str, path: str) -> Path:
    if host:
        raise InvalidSetting(
            f"The SQLite URL names a host ({host!a}). A file needs three slashes: {_EXAMPLE}"
        )
    if not path:
        return default_path()
    if "\0" in path or not path.startswith("/") or path.endswith("/"):
        raise InvalidSetting(
            f"The SQLite URL does not name a file by an absolute path. Write it like {_EXAMPLE}"
        )
    # One leading slash, also where someone wrote four as other libraries want it.
    path = "/" + path.lstrip("/")
    if path.startswith("/~/"):
        return Path.home() / path[3:]
    if os.name == "nt" and path[2:3] == ":":
        path = path[1:]
    return Path(path)


def _with_option(options: Options, key: str, value: str) -> Options:
    read = _READERS.get(key)
    if read is None:
        known = ", ".join(sorted(_READERS))
        raise InvalidSetting(f"The SQLite URL has an unknown option {key!a}. Known are: {known}.")
    return read(options, value)


def _synchronous(options: Options, value: str) -> Options:
    if value.upper() not in _LEVELS:
        raise InvalidSetting(f"synchronous is {value!a}. Use {' or '.join(_LEVELS)}.")
    return replace(options, synchronous=value.upper())


def _seconds(key: str, value: str, least: float, most: float) -> timedelta:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not least <= seconds <= most:
        raise InvalidSetting(f"{key} is {value!a}. Use seconds from {least} to {most}.")
    return timedelta(seconds=seconds)


_READERS: dict[str, Callable[[Options, str], Options]] = {
    "synchronous": _synchronous,
    "deadline": lambda o, v: replace(o, deadline=_seconds("deadline", v, 0.01, 600.0)),
    "ttl": lambda o, v: replace(o, ttl=_seconds("ttl", v, 0.01, 86_400.0)),
    "poll": lambda o, v: replace(o, poll=_seconds("poll", v, 0.01, 60.0)),
}
