"""One hosted session from its first ring to its release."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from logging import Logger
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from ..clock import Clock
from ..contract.bus import BellKind, Bus
from ..contract.directory import Directory
from ..contract.store import Claim, Store
from ..errors import PrismError
from ..model.delivery import Lease
from ..model.outcome import DeliveryOutcome
from ..model.session import (
    Departure,
    Heartbeat,
    MasterClaim,
    Registration,
    Session,
    SessionToken,
)
from ..settings import Settings
from .dispatcher import LEASE_MARGIN, Dispatcher
from .machine import DeliveryMachine, Look, Step
from .office import PostOffice
from .routing import Route
from .settlements import Settlements
from .supervisor import Context, Offers, StrategyState, StrategyTask

_RELEASE_WITHIN = 5.0  # seconds
_HOUSEKEEPING = timedelta(hours=1)
_DIRECTORY_PAUSE = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every hosted session of one process shares."""

    settings: Settings
    store: Store
    directory: Directory
    bus: Bus
    clock: Clock
    log: Logger
    office: PostOffice
    offers: Offers
    settlements: Settlements
    attempted: Callable[[Lease, str, DeliveryOutcome], None]


class HostedSession:
    """Binds the bell, opens the route, registers, delivers, keeps alive, and releases.

    Attributes:
        registration: What it said of itself.
        session: As the directory knows it; None before it registered.
        acted: The agent has used a verb: what was stored before this session is pushed too.
        ended: Set when it is over; `verdict` then says why.
        verdict: `released` or `expired` where the directory ended it, else empty.
    """

    def __init__(self, around: Surroundings, registration: Registration, route: Route) -> None:
        self.registration = registration
        self.session: Session | None = None
        self.acted = False
        self.ended = anyio.Event()
        self.verdict = ""
        self._around = around
        self._token: SessionToken | None = None
        self._others: tuple[Session, ...] = ()
        self._scope = anyio.CancelScope()
        self.tasks: dict[str, StrategyTask] = {
            p.name: StrategyTask(p, self._context(), self._changed) for p in route.candidates
        }
        self._machine: DeliveryMachine | None = None
        self._dispatcher: Dispatcher | None = None

    # -- for the agent ----------------------------------------------------------------------

    @property
    def floor(self) -> list[StrategyTask]:
        """The open strategies that wait for verbs, in order."""
        return [t for t in self.tasks.values() if t.state is StrategyState.FLOOR]

    async def engage(self) -> None:
        """The agent used a verb: signals go to this session now, older ones too."""
        self.acted = True
        if self._token is not None:
            await self._around.directory.engage(self.registration.session_id, self._token)
        if self._machine is not None and self._dispatcher is not None:
            self._machine.engaged(self._around.clock.now())
            self._dispatcher.nudge()

    async def claim_for_verb(self, limit: int) -> Claim:
        """What a verb of this agent may take."""
        await self._look_for_others()
        return replace(
            self._claim(Look(True, frozenset())), push=False, limit=limit, created_after=None,
            max_attempts=None,
            reoffer_after=self._around.settings.seconds("reoffer_after"),
        )

    def reconsider(self) -> None:
        """Something changed outside: try again to open what was skipped."""
        for task in self.tasks.values():
            task.reconsider()

    def stop(self) -> None:
        """End it; `ended` tells when it has."""
        self._scope.cancel()

    def route_status(self) -> list[Mapping[str, str]]:
        """Each strategy of the route: taken, floor, skipped or crashed, and why."""
        return [t.as_dict() for t in self.tasks.values()]

    # -- life -------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Live until stopped, ended by the directory, or cancelled; then release.

        Raises:
            PrismError: It could not register; only before it reported to `task_status`.
        """
        sid, scope = self.registration.session_id, self.registration.scope
        started = False
        try:
            async with self._around.bus.listen(scope, sid) as bells:
                with self._scope:
                    async with anyio.create_task_group() as tg:
                        for task in self.tasks.values():
                            await tg.start(task.run)
                        await self._register()
                        self._begin(tg)
                        tg.start_soon(self._hear, bells)
                        tg.start_soon(self._keep_alive)
                        task_status.started()
                        started = True
        except* PrismError as group:
            if not started:
                raise _first(group) from None
            self._around.log.error("session ended: %s", _first(group))
        except* Exception as group:
            if not started:
                raise
            self._around.log.error("session crashed", exc_info=group)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_RELEASE_WITHIN):
                await self._release()
            self.ended.set()

    def _begin(self, tg: TaskGroup) -> None:
        around, settings = self._around, self._around.settings
        self._machine = DeliveryMachine(
            [Step(t.name, t.state is not StrategyState.FLOOR, t.plugin.wakes, t.plugin.retries)
             for t in self.tasks.values()],
            settings.max_attempts, settings.seconds("engaged_window"),
        )
        for task in self.tasks.values():
            self._machine.available(task.name, up=task.usable)
        self._dispatcher = Dispatcher(
            self._machine, self.tasks, store=around.store, bus=around.bus, clock=around.clock,
            log=around.log, claim=self._claim, deadline=settings.seconds("delivery_deadline"),
            attempted=around.attempted,
        )
        tg.start_soon(self._dispatcher.run)

    async def _register(self) -> None:
        pushes = any(t.state is StrategyState.TAKEN for t in self.tasks.values())
        usable = tuple(t.name for t in self.tasks.values() if t.usable)
        self.registration = replace(
            self.registration, route=usable, can_push=pushes, can_wake=pushes
        )
        around, scope = self._around, self.registration.scope
        registered = await around.directory.register(self.registration)
        self.session, self._token = registered.session, registered.token
        await around.store.seen(scope, self.registration.name, human=self.registration.human)
        await self._tell_departures(registered.departed)
        await self._elect()
        await self._look_for_others()
        await around.office.announce(
            scope, "PeerJoined", self._peer(), await self._everyone_else(),
            coalesce=f"peer:{self.registration.session_id}",
        )

    async def _elect(self) -> None:
        around, scope = self._around, self.registration.scope
        election = await around.directory.elect(scope, self.registration.session_id)
        if election.preempted is None:
            return
        lost = [s for s in await around.directory.sessions(scope)
                if s.session_id == election.preempted]
        await around.office.announce(scope, "MasterPreempted", {
            "preempted_by": self.registration.name.display,
            "new_master_session": str(election.master),
        }, lost, coalesce="master")

    async def _release(self) -> None:
        if self._token is None:
            return
        try:
            left = await self._around.directory.release(self.registration.session_id, self._token)
            if left is not None:
                await self._tell_departures((left,))
        except PrismError as e:
            self._around.log.warning("the session was not released, it will expire: %s", e)

    # -- what runs --------------------------------------------------------------------------

    async def _hear(self, bells: Any) -> None:
        async for bell in bells:
            if bell.kind is BellKind.SETTLED:
                self._around.settlements.rang(bell.signal_id)
            elif self._machine is not None and self._dispatcher is not None:
                await self._look_for_others()
                self._machine.rang()
                self._dispatcher.nudge()

    async def _keep_alive(self) -> None:
        """Heartbeats, the sweep, and hourly housekeeping; registers again at most once in a row."""
        around = self._around
        again = False
        housekeeping = around.clock.now()
        while True:
            try:
                if housekeeping <= around.clock.now():
                    await self._housekeep()
                    housekeeping = around.clock.now() + _HOUSEKEEPING * random.uniform(1, 1.2)  # noqa: S311
                await self._tell_departures(await around.directory.sweep())
                await self._look_for_others()
                await anyio.sleep(around.settings.heartbeat)
                verdict = await self._heartbeat()
            except PrismError as e:
                around.log.warning("heartbeat: %s", e)
                await anyio.sleep(_DIRECTORY_PAUSE)
                continue
            if verdict is Heartbeat.OK:
                again = False
            elif verdict is Heartbeat.EXPIRED and not again:
                again = True
                await self._register()
            else:
                self.verdict = verdict.value
                around.log.warning("this session was ended elsewhere (%s)", verdict.value)
                self.stop()

    async def _heartbeat(self) -> Heartbeat:
        if self._token is None:
            return Heartbeat.EXPIRED
        return await self._around.directory.heartbeat(self.registration.session_id, self._token)

    async def _housekeep(self) -> None:
        await self._around.store.expire()
        await self._around.store.archive(
            timedelta(days=self._around.settings.retention_days)
        )

    # -- parts ------------------------------------------------------------------------------

    def _claim(self, look: Look) -> Claim:
        r, settings = self.registration, self._around.settings
        since: datetime | None = None
        if not self.acted and self.session is not None:
            since = self.session.registered_at
        has_floor = self._machine.floor if self._machine else True
        return Claim(
            r.scope, r.name.canonical, r.session_id,
            others=tuple(s.session_id for s in self._others),
            lease_for=settings.seconds("delivery_deadline") + LEASE_MARGIN,
            quiet=look.quiet, exclude=look.exclude, created_after=since,
            max_attempts=settings.max_attempts if has_floor else None,
        )

    async def _look_for_others(self) -> None:
        r = self.registration
        found = await self._around.directory.sessions(r.scope, r.name.canonical)
        self._others = tuple(s for s in found if s.session_id != r.session_id)

    async def _everyone_else(self) -> list[Session]:
        r = self.registration
        return [s for s in await self._around.directory.sessions(r.scope)
                if s.session_id != r.session_id]

    async def _tell_departures(self, departures: Any) -> None:
        for d in departures:
            await self._tell_departure(d)

    async def _tell_departure(self, d: Departure) -> None:
        scope = d.session.scope
        left = await self._around.directory.sessions(scope)
        await self._around.office.announce(scope, "PeerLeft", {
            "identity": d.session.name.display, "surface": d.session.surface,
            "reason": d.reason.value,
        }, [s for s in left if s.session_id != d.session.session_id],
            coalesce=f"peer:{d.session.session_id}")
        if any(s.name.canonical == self.registration.name.canonical for s in (d.session,)):
            await self._look_for_others()
            if self._machine is not None and self._dispatcher is not None:
                self._machine.rang()
                self._dispatcher.nudge()

    def _peer(self) -> dict[str, str]:
        r = self.registration
        return {"identity": r.name.display, "surface": r.surface, "session_id": r.session_id}

    def _context(self) -> Context:
        around = self._around
        return Context(self.registration, around.clock, around.log, around.offers, self._on_ready)

    def _on_ready(self) -> None:
        if self._machine is not None and self._dispatcher is not None:
            self._machine.ready()
            self._dispatcher.nudge()

    def _changed(self, task: StrategyTask) -> None:
        if self._machine is not None and self._dispatcher is not None:
            self._machine.available(task.name, up=task.usable)
            self._dispatcher.nudge()


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def master_claim(settings: Settings, surface: str) -> MasterClaim:
    """What a session brings to the election: declared, by its surface, or nothing.

    SPEC-030's controller, as DESIGN §7 has it: a declared master, else `claude_desktop`, else first
    come.
    """
    if settings.master:
        return MasterClaim.DECLARED
    return MasterClaim.SURFACE if surface == "claude_desktop" else MasterClaim.NONE
