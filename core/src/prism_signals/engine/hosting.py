"""One hosted session from its first ring to its release."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from logging import Logger

import anyio
from anyio.abc import TaskGroup, TaskStatus

from ..clock import Clock
from ..contract.bus import Bell, BellKind, Bus
from ..contract.directory import Directory
from ..contract.store import Claim, Store
from ..errors import PrismError, root_cause
from ..model.delivery import Lease
from ..model.ids import SignalId
from ..model.outcome import DeliveryOutcome
from ..model.session import Registration, Session
from ..settings import Settings
from .dispatcher import LEASE_MARGIN, Dispatcher
from .machine import DeliveryMachine, Look, Step
from .office import PostOffice
from .presence import Presence
from .routing import Route
from .settlements import Settlements
from .supervisor import Context, Offers, StrategyState, StrategyTask

_RELEASE_WITHIN = 5.0  # seconds
_LOOK_BEHIND = timedelta(seconds=1)


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

    Args:
        around: What it shares with others.
        registration: What it says of itself.
        route: The strategies that may reach it.
    """

    def __init__(self, around: Surroundings, registration: Registration, route: Route) -> None:
        self.acted = False
        """The agent has used a verb: what was stored before this session is pushed too."""
        self.ended = anyio.Event()
        """Set when it is over."""
        self.verdict = ""
        """Why the directory ended it, else empty."""
        self._around = around
        self._scope = anyio.CancelScope()
        self._presence = Presence(
            registration,
            store=around.store,
            directory=around.directory,
            office=around.office,
            settings=around.settings,
            clock=around.clock,
            log=around.log,
            on_departure=self._rang,
        )
        self._tasks = {
            p.name: StrategyTask(p, self._context(registration), self._changed)
            for p in route.candidates
        }
        self._machine = DeliveryMachine(
            [Step(p.name, wakes=p.wakes, retries=p.retries) for p in route.candidates],
            around.settings.max_attempts,
            around.settings.seconds("engaged_window"),
        )
        for name in self._tasks:
            self._machine.available(name, up=False)
        self._look_around = False
        self._dispatcher: Dispatcher | None = None

    @property
    def registration(self) -> Registration:
        """What it said of itself, with the route that was really opened."""
        return self._presence.registration

    @property
    def session(self) -> Session | None:
        """As the directory knows it; None before it registered."""
        return self._presence.session

    @property
    def floor(self) -> list[StrategyTask]:
        """The open strategies that wait for verbs, in order."""
        return [t for t in self._tasks.values() if t.state is StrategyState.FLOOR]

    def route_status(self) -> list[Mapping[str, str]]:
        """Each strategy of the route: taken, floor, skipped or crashed, and why."""
        return [t.as_dict() for t in self._tasks.values()]

    async def engage(self) -> None:
        """The agent uses a verb: signals go to this session now."""
        await self._presence.engage()

    def answered(self) -> None:
        """The verb took what waited; from now on the push path has older signals too."""
        self.acted = True
        self._machine.engaged(self._around.clock.now())
        self._nudge()

    async def claim_for_verb(self, limit: int) -> Claim:
        """What a verb of this agent may take: anything unleased of its identity."""
        alone = not self._presence.others
        await self._presence.look_around(at_most_every=_LOOK_BEHIND)
        if alone and self._presence.others:  # a namesake came: from now on it matters who acted
            await self._presence.engage()
        return replace(
            self._claim(Look(quiet=True, exclude=self._machine.left_to_push)),
            push=False,
            limit=limit,
            created_after=None,
            max_attempts=None,
            reoffer_after=self._around.settings.seconds("reoffer_after"),
        )

    def refused_in_answers(self, signal_id: SignalId) -> bool:
        """The floor will never show this; gives whether that leaves no strategy of the route."""
        return self._machine.floor_refused(signal_id)

    def reconsider(self) -> None:
        """Something changed outside: try again to open what was skipped."""
        for task in self._tasks.values():
            task.reconsider()

    def stop(self) -> None:
        """End it; `ended` tells when it has."""
        self._scope.cancel()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Live until stopped, ended by the directory, or cancelled; then release.

        Raises:
            PrismError: It could not register; only before it reported to `task_status`.
        """
        r, started = self.registration, False
        failure: BaseException | None = None
        try:
            # The bell hangs before anyone can know the session, or the first ring would be lost.
            async with self._around.bus.listen(r.scope, r.session_id) as bells:
                with self._scope:
                    async with anyio.create_task_group() as tg:
                        await self._begin(tg, bells)
                        task_status.started()
                        started = True
        except* Exception as group:  # noqa: BLE001 - of plugins too; told below
            failure = root_cause(group)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_RELEASE_WITHIN):
                await self._presence.release()
            self.ended.set()
        if failure is not None and not started:
            raise failure
        if isinstance(failure, PrismError):
            self._around.log.error("the session ended: %s", failure)
        elif failure is not None:
            self._around.log.error("the session crashed", exc_info=failure)

    async def _begin(self, tg: TaskGroup, bells: AsyncIterator[Bell]) -> None:
        for task in self._tasks.values():
            await tg.start(task.run)
        await self._presence.register()
        self._dispatcher = self._make_dispatcher()
        tg.start_soon(self._dispatcher.run)
        tg.start_soon(self._hear, bells)
        tg.start_soon(self._keep_alive)

    def _make_dispatcher(self) -> Dispatcher:
        around = self._around
        return Dispatcher(
            self._machine,
            self._tasks,
            store=around.store,
            bus=around.bus,
            clock=around.clock,
            log=around.log,
            claim=self._claim,
            deadline=around.settings.seconds("delivery_deadline"),
            attempted=around.attempted,
            resting=self._resting,
        )

    async def _hear(self, bells: AsyncIterator[Bell]) -> None:
        async for bell in bells:
            if bell.kind is BellKind.SETTLED:
                self._around.settlements.rang(bell.signal_id)
            else:
                # The delivery goes first: what was known of namesakes was right before this ring.
                self._look_around = True
                self._rang()

    async def _resting(self) -> None:
        if self._look_around:
            self._look_around, before = False, self._presence.others
            await self._presence.look_around()
            if self._presence.others != before:
                self._rang()

    async def _keep_alive(self) -> None:
        verdict = await self._presence.keep_alive()
        self.verdict = verdict.value
        self._around.log.warning("this session was ended elsewhere (%s)", verdict.value)
        self.stop()

    def _claim(self, look: Look) -> Claim:
        r, settings = self.registration, self._around.settings
        return Claim(
            r.scope,
            r.name.canonical,
            r.session_id,
            others=self._presence.others,
            lease_for=settings.seconds("delivery_deadline") + LEASE_MARGIN,
            quiet=look.quiet,
            exclude=look.exclude,
            created_after=None if self.acted else self._presence.since,
            max_attempts=settings.max_attempts if self._machine.floor else None,
        )

    def _context(self, registration: Registration) -> Context:
        around = self._around
        return Context(registration, around.clock, around.log, around.offers, self._ready)

    def _rang(self) -> None:
        self._machine.rang()
        self._nudge()

    def _ready(self) -> None:
        self._machine.ready()
        self._nudge()

    def _changed(self, task: StrategyTask) -> None:
        self._machine.available(task.name, up=task.usable, push=task.push)
        self._reroute()
        self._nudge()

    def _nudge(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.nudge()

    def _reroute(self) -> None:
        self._presence.reroute(
            tuple(t.name for t in self._tasks.values() if t.usable),
            pushes=any(t.state is StrategyState.TAKEN for t in self._tasks.values()),
        )
