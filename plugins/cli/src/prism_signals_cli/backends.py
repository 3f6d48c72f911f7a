"""What `prism doctor` checks of store, directory and doorbell; none of it leaves a trace."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from prism_signals import (
    BackendURL,
    Bell,
    BellKind,
    Inspectable,
    Inspection,
    Prism,
    PrismError,
    Query,
    Registry,
    Scope,
    Session,
    Settings,
    backend_urls,
    iso,
    lives,
    new_session_id,
    new_signal_id,
)

from .findings import Finding, Told, Verdict, broken, timed

_NOWHERE = "prism-doctor"  # a project of its own, in which nothing is ever stored
_TOLERANCE = 2.0  # seconds between two clocks that count as one


@dataclass(frozen=True, slots=True)
class Watch:
    """Both clocks of this machine, read when the doctor began."""

    wall: float = field(default_factory=time.time)
    steady: float = field(default_factory=time.monotonic)

    def jumped(self) -> float:
        """Seconds by which the wall clock was set since then."""
        return (time.time() - self.wall) - (time.monotonic() - self.steady)


async def backends(settings: Settings, registry: Registry, watch: Watch) -> list[Finding]:
    """Open store, directory and bus, and check them."""
    try:
        urls = backend_urls(settings, registry)
    except PrismError as e:
        return [broken("store", e)]
    try:
        async with Prism.open(settings, registry=registry) as prism:
            return [
                await store(prism, urls[0]),
                await directory(prism, urls[1]),
                await doorbell(prism, urls[2]),
                await clock(prism, watch),
                await leftovers(prism),
            ]
    except Exception as e:  # noqa: BLE001 - as in the checks
        found = broken("store", e)
        shown = dict(zip(("store", "directory", "bus"), (u.redacted for u in urls), strict=True))
        lines = tuple(f"{what}: {url}" for what, url in shown.items())
        return [replace(found, facts={**found.facts, "urls": shown}, lines=lines)]


async def store(prism: Prism, url: BackendURL) -> Finding:
    """Whether the store can be read and written, where it is, and its schema version."""
    where = Scope(prism.settings.tenant, _NOWHERE)

    async def look() -> Told:
        # Confirming a signal that does not exist takes the way of every write and changes nothing.
        await prism.store.confirm(where, _NOWHERE, [new_signal_id()])
        await prism.store.counts(where, _NOWHERE)
        about = await _inspected(prism.store)
        place = about.location or url.redacted
        version = about.schema_version
        schema = "" if version is None else f", schema version {version}"
        facts = {"location": place, "url": url.redacted, "schema_version": version}
        return f"reachable and writable, {place}{schema}", facts

    return await timed("store", look)


async def directory(prism: Prism, url: BackendURL) -> Finding:
    """Whether the directory answers."""
    pid = prism.settings.project or _NOWHERE

    async def look() -> Told:
        live = await prism.directory.sessions(prism.scope(pid))
        place = (await _inspected(prism.directory)).location or url.redacted
        facts = {"sessions": len(live), "location": place, "url": url.redacted}
        return f"reachable, {len(live)} live sessions in {pid}, {place}", facts

    return await timed("directory", look)


async def doorbell(prism: Prism, url: BackendURL) -> Finding:
    """Whether a ring is heard, and how fast."""
    where, session = Scope(prism.settings.tenant, _NOWHERE), new_session_id()

    async def look() -> Told:
        async with prism.bus.listen(where, session) as bells:
            started = time.perf_counter()
            await prism.bus.ring(Bell(BellKind.SIGNAL, where, (session,), new_signal_id()))
            async for _ in bells:
                break
            heard = (time.perf_counter() - started) * 1000
        place = (await _inspected(prism.bus)).location or url.redacted
        facts = {"round_trip_ms": round(heard, 3), "location": place, "url": url.redacted}
        return f"rung and heard in {heard:.2f} ms, {place}", facts

    return await timed("doorbell", look)


async def clock(prism: Prism, watch: Watch) -> Finding:
    """Whether the times that were stored and this machine's clocks agree."""

    async def look() -> Told:
        facts: dict[str, float | str | None] = {"newest_stored": None, "newest_ahead_s": None}
        told = []
        newest = await _newest(prism)
        if newest is None:
            told.append("nothing stored to compare with")
        else:
            ahead = (newest - datetime.now(UTC)).total_seconds()
            facts |= {"newest_stored": iso(newest), "newest_ahead_s": round(ahead, 3)}
            told.append(f"newest stored time {_apart(-ahead, 'ago', 'in the future')}")
        folder = (await _inspected(prism.store)).folder
        skew = await anyio.to_thread.run_sync(_file_skew, folder) if folder else None
        if skew is not None:
            told.append(f"the store's file system {_apart(skew, 'ahead', 'behind')}")
        facts |= {"file_system_ahead_s": skew, "jumped_s": round(watch.jumped(), 3)}
        told.append(f"the wall clock moved {watch.jumped():+.2f} s against the steady one")
        return "; ".join(told), facts

    found = await timed("clock", look)
    ahead, skew = found.facts.get("newest_ahead_s") or 0, found.facts.get("file_system_ahead_s")
    off = ahead > _TOLERANCE or abs(skew or 0) > _TOLERANCE
    if found.verdict is Verdict.OK and (off or abs(watch.jumped()) > _TOLERANCE):
        hint = (
            "Set the clocks of all machines that use this store by NTP: what expires, waits "
            "or is limited by time goes by them."
        )
        return replace(found, verdict=Verdict.WARNING, hint=hint)
    return found


async def leftovers(prism: Prism) -> Finding:
    """What killed processes left behind. All of it goes by itself."""

    async def look() -> Told:
        left = [
            line
            for b in (prism.store, prism.directory, prism.bus)
            for line in (await _inspected(b)).leftovers
        ]
        pid = prism.settings.project
        dead = await _sessions(prism, _is_dead) if pid else []
        names = [f"session {s.session_id} of {s.name.display}: its process is dead" for s in dead]
        facts = {"backends": left, "sessions": [s.session_id for s in dead]}
        if not left and not names:
            return "none", facts
        told = [*names, *([f"{len(left)} of the backends"] if left else [])]
        return f"{'; '.join(told)}; harmless, they go with the next sweep or ring", facts

    return await timed("leftovers", look)


async def _inspected(backend: object) -> Inspection:
    return await backend.inspect() if isinstance(backend, Inspectable) else Inspection()


async def _sessions(prism: Prism, wanted: Callable[[Session], bool]) -> list[Session]:
    found = await prism.directory.sessions(prism.scope())
    return [s for s in found if wanted(s)]


def _is_dead(session: Session) -> bool:
    host = session.registration.fingerprint
    return host is not None and lives(host) is False


async def _newest(prism: Prism) -> datetime | None:
    if prism.settings.project is None:
        return None
    page = await prism.store.history(Query(prism.scope(), limit=1))
    times = [e.signal.created_at for e in page.entries]
    times += [s.heartbeat_at for s in await _sessions(prism, lambda _: True)]
    return max(times, default=None)


def _file_skew(folder: Path) -> float | None:
    """Seconds by which the clock of a folder's file system is ahead; None where it has none."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            before = time.time()
            file.write(b"?")
            file.flush()
            stamped = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    return round(stamped - before, 3)


def _apart(seconds: float, after: str, before: str) -> str:
    return f"{abs(seconds):.2f} s {after if seconds >= 0 else before}"
