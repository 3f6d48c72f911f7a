"""The doorbell: one unix datagram socket per listening session.

A ring is one `sendto` that never waits. A full socket counts as rung, since what is in it will be
read; a socket that is gone rings nobody, and its session's slow poll makes up for it. What a
datagram says is only a hint (DESIGN §2): who forges one makes a session look, and nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import secrets
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path

import anyio

from prism_signals import (
    Bell,
    BellKind,
    Inspection,
    Scope,
    SessionId,
    SignalId,
    StoreUnavailable,
    canonical_uuid,
)

from .runtime_folder import candidates, is_trusted, own_folder, scope_prefix, socket_name
from .url import Options

_LOG = logging.getLogger(__name__)
_VERSION = 1
_LONGEST_DATAGRAM = 1024
_MOST_SWEPT = 500
_MOST_WAITING = 64
_FULL = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS})
_GONE = frozenset({errno.ECONNREFUSED, errno.ENOENT})


class Doorbell:
    """A `Bus` for the sessions of one file on this machine; its clauses are in the contract."""

    def __init__(self, options: Options) -> None:
        self._path, self._poll = options.path, options.poll
        self._sender: socket.socket | None = None
        if hasattr(socket, "AF_UNIX"):
            self._sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._sender.setblocking(False)
        self._trusted: set[Path] = set()

    @property
    def poll_interval(self) -> timedelta:
        """How long to wait at most before looking without a ring."""
        return self._poll

    def close(self) -> None:
        """Close what rings; listeners close themselves."""
        if self._sender is not None:
            self._sender.close()

    async def inspect(self) -> Inspection:
        """Where the sockets are, and those whose process was killed; see `Inspectable`."""
        folder = own_folder() if self._sender is not None else None
        dead = [str(path) for f in self._folders() for path, _ in _dead_in(f)]
        location = str(folder) if folder else "no folder for sockets: sessions poll"
        return Inspection(location, folder, leftovers=tuple(dead))

    async def ring(self, bell: Bell) -> None:
        """Ring, without waiting for anybody.

        It runs right here: one system call of some microseconds per session.
        """
        if self._sender is None:
            return
        note = json.dumps({"v": _VERSION, "kind": bell.kind.value, "signal_id": bell.signal_id})
        names = {socket_name(self._path, bell.scope, s) for s in bell.sessions}
        for folder in self._folders():
            found = set(names)
            if bell.broadcast:
                found |= _names_in(folder, scope_prefix(self._path, bell.scope))
            for name in found:
                if _send(self._sender, note.encode(), folder / name):
                    names.discard(name)
            if not names and not bell.broadcast:
                return

    @asynccontextmanager
    async def listen(
        self, scope: Scope, session_id: SessionId
    ) -> AsyncIterator[AsyncIterator[Bell]]:
        """Hear the rings for one session while the context is open.

        Raises:
            StoreUnavailable: The folder for the sockets is not to be trusted.
        """
        folder = own_folder() if self._sender is not None else None
        if folder is None:
            _LOG.warning(
                "no place for doorbell sockets: signals wait for the poll every %g s",
                self._poll.total_seconds(),
            )
            yield _silence()
            return
        path = folder / socket_name(self._path, scope, session_id)
        receiver, inode = _bind(path)
        for left, inode_left in _dead_in(folder):
            _remove(left, inode_left)
        try:
            yield _Rings(receiver, scope, session_id)
        finally:
            anyio.notify_closing(receiver)
            receiver.close()
            _remove(path, inode)

    def _folders(self) -> Iterator[Path]:
        for folder in candidates():
            if folder not in self._trusted and is_trusted(folder):
                self._trusted.add(folder)
            if folder in self._trusted:
                yield folder


class _Rings:
    """The rings of one session, in order; the same ring twice is one."""

    def __init__(self, receiver: socket.socket, scope: Scope, session_id: SessionId) -> None:
        self._receiver, self._scope, self._session = receiver, scope, session_id
        self._waiting: dict[tuple[BellKind, SignalId | None], None] = {}

    def __aiter__(self) -> _Rings:
        return self

    async def __anext__(self) -> Bell:
        self._receive()
        while not self._waiting:
            try:
                await anyio.wait_readable(self._receiver)
            except (anyio.ClosedResourceError, OSError, ValueError):
                raise StopAsyncIteration from None
            self._receive()
        kind, signal_id = next(iter(self._waiting))
        del self._waiting[kind, signal_id]
        return Bell(kind, self._scope, (self._session,), signal_id)

    def _receive(self) -> None:
        """Take what is there. Too many different rings become one per kind that names none."""
        for _ in range(_MOST_WAITING):
            try:
                note = self._receiver.recv(_LONGEST_DATAGRAM)
            except OSError:  # nothing there, or closed
                return
            ring = _parse(note)
            if ring is None:
                continue
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting = {(kind, None): None for kind, _ in self._waiting}
                ring = (ring[0], None)
            self._waiting[ring] = None


async def _silence() -> AsyncIterator[Bell]:
    """The rings of a listener without a socket: none, for ever."""
    await anyio.sleep_forever()
    yield Bell(BellKind.SIGNAL, Scope("", ""))  # never reached: it makes this a generator


def _parse(note: bytes) -> tuple[BellKind, SignalId | None] | None:
    try:
        data = json.loads(note)
        kind = BellKind(data["kind"])
        signal_id = data["signal_id"]
        if data["v"] != _VERSION:
            return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if signal_id is None:
        return (kind, None)
    wanted = canonical_uuid(signal_id) if isinstance(signal_id, str) else None
    return None if wanted is None else (kind, SignalId(wanted))


def _bind(path: Path) -> tuple[socket.socket, int]:
    """A socket at this path. What stood there, from a dead process, is replaced in one step."""
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(3)}")
    try:
        receiver.setblocking(False)
        receiver.bind(os.fspath(fresh))
        inode = os.lstat(fresh).st_ino
        fresh.replace(path)
    except OSError as e:
        receiver.close()
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise StoreUnavailable(
            f"The doorbell socket {path} cannot be made: {e.strerror or e}. "
            "Check the folder, or set XDG_RUNTIME_DIR to a folder of yours.",
            path=str(path),
        ) from e
    return receiver, inode


def _send(sender: socket.socket, note: bytes, path: Path) -> bool:
    """Ring at one socket; False where there is none."""
    for attempt in range(2):
        inode = _inode(path) if attempt else 0
        try:
            sender.sendto(note, os.fspath(path))
        except OSError as e:
            if e.errno in _FULL:
                return True
            if e.errno == errno.ECONNREFUSED:
                if attempt:  # twice the same dead socket: its process was killed
                    _remove(path, inode)
                continue
            if e.errno not in _GONE:
                _LOG.debug("ringing %s failed: %s", path, e)
            return False
        return True
    return False


def _names_in(folder: Path, prefix: str) -> set[str]:
    try:
        with os.scandir(folder) as entries:
            return {e.name for e in entries if e.name.startswith(prefix) and "." not in e.name}
    except OSError:
        return set()


def _dead_in(folder: Path) -> Iterator[tuple[Path, int]]:
    """The sockets in a folder that killed processes left, with their inodes; bounded.

    To connect rings nobody, and is refused only where no process holds the socket any more.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        for name in islice(sorted(_names_in(folder, "")), _MOST_SWEPT):
            path = folder / name
            inode = _inode(path)
            try:
                probe.connect(os.fspath(path))
            except ConnectionRefusedError:
                if inode:
                    yield path, inode
            except OSError:  # it is no socket, or has just gone
                continue


def _inode(path: Path) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_ino if stat.S_ISSOCK(found.st_mode) else 0


def _remove(path: Path, inode: int) -> None:
    """Remove a socket, unless another one has taken its place."""
    if inode and _inode(path) == inode:
        with contextlib.suppress(OSError):
            path.unlink()
