"""The folder of the doorbells' sockets: private, and checked before it is trusted."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from prism_signals import Scope, SessionId, StoreUnavailable

_LONGEST = 100
"""A socket's path has room for 104 bytes on macOS and 108 on Linux, with a final zero byte."""
_NAME_LENGTH = 40


def candidates() -> Iterator[Path]:
    """Where the folder may be, best first.

    The agents of one user do not all have the same environment: some clients start their servers
    with hardly any variables. So a listener uses the first place there is, and who rings looks in
    all of them.
    """
    seen: set[Path] = set()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    places = [Path(runtime) / "prism-signals"] if runtime and Path(runtime).is_absolute() else []
    own = f"prism-signals-{os.getuid()}" if hasattr(os, "getuid") else "prism-signals"
    usual = Path("/run/user") / own.rpartition("-")[2]
    places += [usual / "prism-signals", Path(tempfile.gettempdir()) / own, Path("/tmp") / own]  # noqa: S108
    for place in places:
        if place not in seen and len(os.fsencode(place)) + _NAME_LENGTH <= _LONGEST:
            seen.add(place)
            yield place


def own_folder() -> Path | None:
    """The folder to listen in, made if need be; None where there is no place for one.

    Raises:
        StoreUnavailable: Something that is not ours stands there.
    """
    for place in candidates():
        if not place.parent.is_dir():
            continue
        try:
            place.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:
            pass  # no folder: `check` says so
        except OSError:
            continue
        check(place)
        return place
    return None


def check(folder: Path) -> None:
    """Check that the folder is a real one, ours, and closed to others.

    Raises:
        StoreUnavailable: It is not; the message says what to do.
    """
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        wrong = "is no folder (a link, perhaps). Remove it"
    elif hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        wrong = "belongs to another user. Have it removed, or set XDG_RUNTIME_DIR to a folder of \
yours"
    elif found.st_mode & 0o077:
        wrong = f"is open to others (mode {stat.S_IMODE(found.st_mode):o}). Run: chmod 700 {folder}"
    else:
        return
    raise StoreUnavailable(f"The doorbell folder {folder} {wrong}.", path=str(folder))


def is_trusted(folder: Path) -> bool:
    """Whether the folder exists and passes `check`."""
    try:
        check(folder)
    except (OSError, StoreUnavailable):
        return False
    return True


def scope_prefix(database: Path, scope: Scope) -> str:
    """How the names of a project's sockets begin; another file's sockets have another prefix."""
    return f"{_short(os.path.realpath(database), scope.tenant, scope.pid)}-"


def socket_name(database: Path, scope: Scope, session_id: SessionId) -> str:
    """The name of a session's socket: short, and telling nothing."""
    return scope_prefix(database, scope) + session_suffix(session_id)


def session_suffix(session_id: SessionId) -> str:
    """How the name of a session's socket ends."""
    return _short(session_id)


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:14]
