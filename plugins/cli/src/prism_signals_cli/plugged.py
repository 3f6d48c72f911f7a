"""Commands that other distributions bring through the hook `prism_commands`.

Finding them means importing every plugin, which costs more than `prism --help` may take and is paid
again at each start of an agent (`prism mcp`). So what was found is remembered in the user's cache,
together with the modification times of all that it depends on: the folders on `sys.path`, which
change when a distribution comes or goes, and the plugins' own files. A name that is not remembered
is always looked for afresh.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .catalogue import Entry, own

if TYPE_CHECKING:
    from prism_signals import Registry

_FORMAT = "prism-signals commands 1"


def listing() -> tuple[Entry, ...]:
    """Every command of the installed plugins, by name."""
    known = _recall()
    return discover() if known is None else known


def find(name: str) -> Entry | None:
    """The plugin command of that name, or None."""
    return _named(name, _recall() or ()) or _named(name, discover())


def discover() -> tuple[Entry, ...]:
    """Ask all plugins, and remember the answer."""
    from prism_signals import Registry

    registry = Registry.discover()
    entries = tuple(
        sorted(
            Entry(f.plugin.name, _one_line(f.plugin.help), f.plugin.target)
            for f in registry.commands
            if own(f.plugin.name) is None
        )
    )
    _remember(entries)
    return entries


def shadowed(registry: Registry) -> list[str]:
    """Names of plugin commands that cannot be reached, because `prism` has its own of that name."""
    return sorted(f.plugin.name for f in registry.commands if own(f.plugin.name) is not None)


def _named(name: str, entries: tuple[Entry, ...]) -> Entry | None:
    return next((e for e in entries if e.name == name), None)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cache_file() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - pathlib costs 5 ms
    key = zlib.crc32(f"{sys.prefix}\n{sys.version}".encode())
    return f"{home}/prism-signals/commands-{key:08x}"


def _recall() -> tuple[Entry, ...] | None:
    """What is remembered, or None where there is nothing or it may be out of date."""
    try:
        with open(_cache_file(), encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs 5 ms
            if os.fstat(file.fileno()).st_uid != _user():
                return None
            lines = file.read().split("\n")
        stamps = [line.split("\t") for line in lines if line.startswith("on\t")]
        if lines[0] != _FORMAT or lines[1] != _search_path() or lines[-1] != "end":
            return None
        if any(_changed_at(path) != stamp for _, stamp, path in stamps):
            return None
        rows = [line.split("\t") for line in lines if line.startswith("command\t")]
        return tuple(Entry(name, text, target) for _, name, target, text in rows)
    except (OSError, ValueError, IndexError):
        return None


def _remember(entries: tuple[Entry, ...]) -> None:
    paths = {*_folders(), *_plugin_files()}
    rows = [
        _FORMAT,
        _search_path(),
        *(f"on\t{_changed_at(p)}\t{p}" for p in sorted(paths)),
        *(f"command\t{e.name}\t{e.target}\t{e.help}" for e in entries),
        "end",
    ]
    file = _cache_file()
    draft = f"{file}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - as above
        with open(draft, "w", encoding="utf-8") as out:  # noqa: PTH123 - as above
            out.write("\n".join(rows))
        os.replace(draft, file)  # noqa: PTH105 - as above
    except (OSError, UnicodeError):
        return  # without the cache everything works, only slower


def _folders() -> list[str]:
    # The first one is the script's folder or the current one: it differs from call to call.
    return sys.path[1:]


def _search_path() -> str:
    return "path\t" + "\t".join(_folders())


def _plugin_files() -> Iterator[str]:
    import importlib_metadata

    for ep in importlib_metadata.entry_points(group="prism_signals"):
        file = getattr(sys.modules.get(ep.module), "__file__", None)
        if file:
            yield file


def _changed_at(path: str) -> str:
    try:
        return str(os.stat(path).st_mtime_ns)  # noqa: PTH116 - as above
    except OSError:
        return "absent"


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0
