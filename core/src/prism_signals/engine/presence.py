"""A session's place in the directory: registered, kept alive, elected, and released."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from logging import Logger

import anyio

from ..clock import Clock
from ..contract.directory import Directory
from ..contract.store import Store
from ..errors import PrismError, Unavailable
from ..model.ids import SessionId
from ..model.session import (
    Departure,
    Heartbeat,
    MasterClaim,
    Registration,
    Session,
    SessionToken,
)
from ..settings import Settings
from .office import PostOffice

_HOUSEKEEPING = timedelta(hours=1)
_PAUSE = 1.0  # seconds, after trouble with a backend
_ENGAGED_FOR = timedelta(seconds=5)


class Presence:
    """Keeps one session known, and tells its peers when sessions come and go.

    Args:
        registration: What the session says of itself.
        store: Told that the identity was seen.
        directory: Where it registers.
        office: Emits the system signals.
        settings: Heartbeat and retention.
        clock: The time.
        log: Where trouble is told.
        on_departure: Called when another session of the same identity has ended.
    """

    def __init__(
        self,
        registration: Registration,
        *,
        store: Store,
        directory: Directory,
        office: PostOffice,
        settings: Settings,
        clock: Clock,
        log: Logger,
        on_departure: Callable[[], None],
    ) -> None:
        self.registration = registration
        self.session: Session | None = None
        self.since: datetime | None = None
        """When it registered first; what was stored before that is not pushed to it by itself."""
        self.others: tuple[SessionId, ...] = ()
        self._token: SessionToken | None = None
        self._store, self._directory, self._office = store, directory, office
        self._settings, self._clock, self._log = settings, clock, log
        self._on_departure = on_departure
        self._engaged: datetime | None = None
        self._looked: datetime | None = None
        self._housekeeping: datetime | None = None
        self._hurry = anyio.Event()
        self._route: tuple[tuple[str, ...], bool] = ((), False)

    def reroute(self, route: tuple[str, ...], *, pushes: bool) -> None:
        """These strategies can reach the session now; its peers are told of it soon."""
        self._route = (route, pushes)
        if self._is_rerouted():
            self._hurry.set()

    async def register(self) -> None:
        """Become known, settle who is master, and tell the others.

        Raises:
            Unavailable: The directory or the store is out of reach.
        """
        await self._enter()
        self._engaged = None
        r = self.registration
        await self._store.seen(r.scope, r.name, human=r.human)
        await self._elect()
        await self.look_around()
        await self._office.announce(
            r.scope,
            "PeerJoined",
            {"identity": r.name.display, "surface": r.surface, "session_id": r.session_id},
            await self._everyone_but(r.session_id),
            coalesce=f"peer:{r.session_id}",
        )

    async def engage(self) -> None:
        """The agent used a verb; a directory out of reach does not stop it.

        While the identity has no other session there is nobody to be preferred to, and a busy agent
        would write the same thing again and again: then it is written every few seconds only.
        """
        now = self._clock.now()
        told = self._engaged is not None and now - self._engaged < _ENGAGED_FOR
        if self._token is None or (told and not self.others):
            return
        try:
            live = await self._directory.engage(self.registration.session_id, self._token)
        except Unavailable as e:
            self._log.warning("peers do not see that this agent acted: %s", e)
        else:
            if not live:  # it expired, say while the machine slept: do not wait for the heartbeat
                self._hurry.set()
            self._engaged = now if live else None

    async def look_around(self, at_most_every: timedelta = timedelta(0)) -> None:
        """Learn which other sessions of the same identity live now, where that can be told.

        Args:
            at_most_every: What was learned less than this ago is good enough: whoever comes or
                goes rings, and this is only the look behind that ring.
        """
        r, now = self.registration, self._clock.now()
        if self._looked is not None and now - self._looked < at_most_every:
            return
        try:
            found = await self._directory.sessions(r.scope, r.name.canonical)
        except Unavailable as e:
            self._log.warning("namesakes cannot be told just now: %s", e)
        else:
            self._looked = now
            self.others = tuple(s.session_id for s in found if s.session_id != r.session_id)

    async def keep_alive(self) -> Heartbeat:
        """Heartbeats, the sweep and hourly housekeeping, until the directory ended the session.

        An expired session registers again, at most once until a heartbeat succeeded; a released or
        replaced one never does (lesson F-03).
        """
        again = False
        while True:
            try:
                await self._housekeep()
                await self._tell_departures(await self._directory.sweep())
                await self.look_around()
                with anyio.move_on_after(self._settings.heartbeat):
                    await self._hurry.wait()
                self._hurry = anyio.Event()
                verdict = await self._heartbeat()
                if verdict is Heartbeat.OK:
                    again = False
                    if self._is_rerouted():
                        await self._enter()
                elif verdict is Heartbeat.EXPIRED and not again:
                    await self.register()
                    again = True  # not before it was done: a directory out of reach counts nothing
                else:
                    return verdict
            except PrismError as e:
                self._log.warning("the session could not be kept alive just now: %s", e)
                await anyio.sleep(_PAUSE)

    async def release(self) -> None:
        """End the session in the directory and tell the others; trouble is only logged."""
        if self._token is None:
            return
        try:
            left = await self._directory.release(self.registration.session_id, self._token)
            await self._tell_departures((left,) if left else ())
        except PrismError as e:
            self._log.warning("the session was not released, it will expire: %s", e)

    async def _enter(self) -> None:
        """Put into the directory what is true of the session now."""
        route, pushes = self._route
        r = replace(self.registration, route=route, can_push=pushes, can_wake=pushes)
        with anyio.CancelScope(shield=True):  # or it could be known, and nobody hold its token
            registered = await self._directory.register(r)
            self.registration = r
            self.session, self._token = registered.session, registered.token
        self._hurry = anyio.Event()
        if self._is_rerouted():  # meanwhile
            self._hurry.set()
        self.since = self.since or registered.session.registered_at
        await self._tell_departures(registered.departed)

    def _is_rerouted(self) -> bool:
        return self._route != (self.registration.route, self.registration.can_push)

    async def _elect(self) -> None:
        r = self.registration
        election = await self._directory.elect(r.scope, r.session_id)
        if election.preempted is None:
            return
        lost = [
            s for s in await self._directory.sessions(r.scope) if s.session_id == election.preempted
        ]
        await self._office.announce(
            r.scope,
            "MasterPreempted",
            {
                "preempted_by": r.name.display,
                "new_master_session": str(election.master),
            },
            lost,
            coalesce="master",
        )

    async def _heartbeat(self) -> Heartbeat:
        if self._token is None:
            return Heartbeat.EXPIRED
        return await self._directory.heartbeat(self.registration.session_id, self._token)

    async def _housekeep(self) -> None:
        now = self._clock.now()
        if self._housekeeping is not None and now < self._housekeeping:
            return
        if self._housekeeping is not None:  # it is still here, for broadcasts
            r = self.registration
            await self._store.seen(r.scope, r.name, human=r.human)
        # Some jitter, so that the participants of a project do not all do it at once.
        self._housekeeping = now + _HOUSEKEEPING * random.uniform(1, 1.2)  # noqa: S311
        await self._store.expire()
        await self._store.archive(timedelta(days=self._settings.retention_days))

    async def _everyone_but(self, *session_ids: SessionId) -> list[Session]:
        found = await self._directory.sessions(self.registration.scope)
        return [s for s in found if s.session_id not in session_ids]

    async def _tell_departures(self, departures: Iterable[Departure]) -> None:
        for d in departures:
            left = await self._directory.sessions(d.session.scope)
            await self._office.announce(
                d.session.scope,
                "PeerLeft",
                {
                    "identity": d.session.name.display,
                    "surface": d.session.surface,
                    "reason": d.reason.value,
                },
                [s for s in left if s.session_id != d.session.session_id],
                coalesce=f"peer:{d.session.session_id}",
            )
            if d.session.name.canonical == self.registration.name.canonical:
                await self.look_around()
                self._on_departure()


def master_claim(settings: Settings, surface: str) -> MasterClaim:
    """What a session brings to the election: declared, by its surface, or nothing.

    A declared master, else `claude_desktop`, else first come (the controller SPEC-034 §10.1 builds
    on).
    """
    if settings.master:
        return MasterClaim.DECLARED
    return MasterClaim.SURFACE if surface == "claude_desktop" else MasterClaim.NONE
