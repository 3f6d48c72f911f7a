"""One agent, hosted by this process: its session and its verbs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup

from . import fingerprint
from .engine.answers import Answer, Attacher
from .engine.dispatcher import ring_settled
from .engine.hosting import HostedSession, Surroundings
from .engine.office import Draft, Sender
from .engine.presence import master_claim
from .engine.routing import Route
from .engine.verbs import Verbs
from .errors import (
    ForeignProject,
    IdentityMismatch,
    InvalidArgument,
    NoIdentity,
    NotAllowed,
    PrismError,
    SessionReleased,
)
from .model.delivery import Lease
from .model.ids import LeaseToken, SignalId, new_session_id
from .model.names import Name, Scope, parse_name, parse_project
from .model.session import Registration, Session

T = TypeVar("T")
DRAIN = "startup_drain"
READ = "read"


class Agent:
    """The agent on the other side of a gateway. Open one with `Prism.host`.

    Every verb answers a JSON-ready dict, and `pending_signals` in it when there are any.
    """

    def __init__(self, around: Surroundings, route: Route, tasks: TaskGroup) -> None:
        self.route = route
        self._around = around
        self._tasks = tasks
        self._hosted: HostedSession | None = None
        self._opening = anyio.Lock()
        self._answering = anyio.Lock()
        self._carried: list[SignalId] = []
        self._wrapped = False
        self._fingerprint = fingerprint.of_this_process()
        self._verbs = Verbs(around.store, around.directory)
        self._attacher = Attacher(
            around.store, around.bus, around.offers,
            around.settings.seconds("delivery_deadline"), around.attempted,
        )

    # -- for the gateway --------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        """The live session, or None."""
        hosted = self._hosted
        return hosted.session if hosted and not hosted.ended.is_set() else None

    @property
    def identity(self) -> Name | None:
        """Who the agent is, as far as is known."""
        if self._hosted is not None:
            return self._hosted.registration.name
        configured = self._around.settings.agent_identity
        return parse_name(configured) if configured else None

    def offer(self, capability: object) -> None:
        """The connection can do this from now on; strategies may ask for it."""
        self._around.offers.add(capability)
        if self._hosted is not None:
            self._hosted.reconsider()

    def connected(self) -> None:
        """The handshake is done: a configured session registers by itself a little later."""
        s = self._around.settings
        if s.agent_identity and s.project and not s.probe:
            self._tasks.start_soon(self._register_by_itself)

    async def answering(
        self, act: Callable[[], Awaitable[dict[str, Any]]], *, attach: bool = True,
        method: str | None = None, pid: str | None = None,
    ) -> dict[str, Any]:
        """Run a verb as every verb runs: the one public wrapper, also for verbs of plugins.

        The verb acts first. That it was called is evidence that the answer before was read, which
        confirms what that answer carried. Then waiting signals are attached as `pending_signals`;
        `more` counts those that found no room. A cancelled call frees what it had claimed.

        Args:
            act: The verb itself; gives its answer without signals.
            attach: Whether signals are attached.
            method: What is recorded as delivery method; by default the strategy's name.
            pid: The project named in the call.

        Raises:
            PrismError: The verb was refused, or no identity is known.
        """
        hosted = await self._ready(pid)
        carried, self._carried = self._carried, []
        try:
            await hosted.engage()
            answer = await act()
        except BaseException:
            self._carried = [*carried, *self._carried]
            raise
        r = hosted.registration
        if carried:
            await self._around.store.confirm(r.scope, r.name.canonical, carried)
        if attach:
            async with self._answering:
                await self._attach(hosted, answer, method)
        hosted.answered()
        return answer

    # -- verbs ------------------------------------------------------------------------------

    async def start(
        self, pid: str | None = None, agent_identity: str | None = None
    ) -> dict[str, Any]:
        """`prism_start`: open the session (again), then drain what waited (SPEC-034 §6.3)."""
        if self._wrapped or self._dead():
            self._wrapped, self._hosted = False, None
        hosted = await self._ready(pid, agent_identity)
        hosted.reconsider()
        return await self.answering(self._context, method=DRAIN)

    async def signal(
        self, pid: str, to: str, signal_type: str, payload: Any, in_reply_to: str | None = None,
        *, priority: str | None = None, expires_in: float | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """`prism_signal` (SPEC-034 §6.1): store a signal and say how far it got."""
        draft = Draft(to, signal_type, payload, in_reply_to, priority, expires_in, idempotency_key)

        async def act() -> dict[str, Any]:
            hosted = self._need()
            r = hosted.registration
            sender = Sender(r.scope, r.name, r.session_id)
            sent = await self._around.office.send(sender, draft, self._around.settlements)
            return sent.as_dict()

        return await self.answering(act, pid=pid)

    async def read_signals(
        self, pid: str | None = None, *, unread_only: bool = True, thread_id: str | None = None,
        signal_id: str | None = None, query: str | None = None, limit: int = 20,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """`prism_read_signals`: look; what is listed counts as handed over, nothing is acked."""

        async def act() -> dict[str, Any]:
            r = self._need().registration
            reading = await self._verbs.read(
                r.scope, r.name, r.session_id, unread_only=unread_only, thread_id=thread_id,
                signal_id=signal_id, query=query, limit=limit, cursor=cursor,
            )
            await self._handed_over(reading.shown)
            return reading.answer

        return await self.answering(act, attach=False, pid=pid)

    async def ack_signals(
        self, signal_ids: list[str], pid: str | None = None
    ) -> dict[str, Any]:
        """`prism_ack_signals`: the agent acted on these."""

        async def act() -> dict[str, Any]:
            r = self._need().registration
            answer, acked = await self._verbs.ack(r.scope, r.name, signal_ids)
            for e in acked:
                await ring_settled(self._around.bus, _settled(e.signal, e.deliveries[0]))
            return answer

        return await self.answering(act, pid=pid)

    async def status(
        self, pid: str | None = None, *, signal_id: str | None = None
    ) -> dict[str, Any]:
        """`prism_status`: who is here and how this session is reached, or how far a signal got."""

        async def act() -> dict[str, Any]:
            hosted = self._need()
            r = hosted.registration
            if signal_id is not None:
                return await self._verbs.track(r.scope, signal_id)
            return {
                "session": r.session_id, "identity": r.name.display, "surface": r.surface,
                "route": hosted.route_status(), "warnings": list(self.route.warnings),
                **await self._verbs.project(r.scope, r.name),
            }

        return await self.answering(act, pid=pid)

    async def recall(self, signal_id: str, pid: str | None = None) -> dict[str, Any]:
        """`prism_recall`: take back a signal that was not shown yet."""

        async def act() -> dict[str, Any]:
            r = self._need().registration
            return await self._verbs.recall(r.scope, r.name, signal_id)

        return await self.answering(act, pid=pid)

    async def wrap(self) -> dict[str, Any]:
        """`prism_wrap`: stop, free what is leased, release the session; then only start revives."""
        hosted = self._need()
        r = hosted.registration
        if self._carried:
            await self._around.store.confirm(r.scope, r.name.canonical, self._carried)
            self._carried = []
        counts = await self._around.store.counts(r.scope, r.name.canonical)
        self._wrapped = True
        await self.close()
        return {"released": True, "session": r.session_id, "pending": counts.pending,
                "hint": "What comes now waits. prism_start opens a new session."}

    async def close(self) -> None:
        """End the session, if there is one."""
        if self._hosted is not None and not self._hosted.ended.is_set():
            self._hosted.stop()
            await self._hosted.ended.wait()

    # -- parts ------------------------------------------------------------------------------

    async def _register_by_itself(self) -> None:
        await anyio.sleep(self._around.settings.register_after)
        if self._hosted is None and not self._wrapped:
            try:
                await self._ready(None)
            except PrismError as e:
                self._around.log.warning("not registered: %s", e)

    async def _ready(self, pid: str | None, identity: str | None = None) -> HostedSession:
        """The live session; opens it where identity and project are known.

        Raises:
            PrismError: It is over, or may not be opened, or speaks for somebody else.
        """
        if self._wrapped:
            raise SessionReleased("This session was wrapped. Call prism_start to open a new one.")
        async with self._opening:
            if self._dead():
                raise SessionReleased(
                    f"This session was ended elsewhere ({self._need().verdict or 'crashed'}). "
                    "Call prism_start to open a new one."
                )
            if self._hosted is None:
                self._hosted = await self._open(self._scope(pid), self._name(identity))
            self._same(self._hosted.registration, pid, identity)
            return self._hosted

    async def _open(self, scope: Scope, name: Name) -> HostedSession:
        settings = self._around.settings
        if settings.probe:
            raise NotAllowed("PRISM_PROBE is set: this process opens no session.")
        surface = settings.agent_surface or "unknown"
        hosted = HostedSession(self._around, Registration(
            new_session_id(), scope, name, surface, fingerprint=self._fingerprint,
            client=next(filter(None, map(fingerprint.of_process, fingerprint.ancestors(
                self._fingerprint.pid))), None),
            claim=master_claim(settings, surface),
        ), self.route)
        await self._tasks.start(hosted.run)
        return hosted

    def _scope(self, pid: str | None) -> Scope:
        settings = self._around.settings
        wanted = pid if pid is not None else settings.project
        if wanted is None:
            raise InvalidArgument("No project is known. Pass pid, or set PRISM_PROJECT.")
        if settings.project is not None and wanted != settings.project:
            raise _foreign(wanted, settings.project)
        return Scope(parse_project(settings.tenant), parse_project(wanted))

    def _name(self, identity: str | None) -> Name:
        configured = self._around.settings.agent_identity
        wanted = identity if identity is not None else configured
        if wanted is None:
            raise NoIdentity(
                "No identity is known for this session. Call prism_start with agent_identity, or "
                "set PRISM_AGENT_IDENTITY."
            )
        name = parse_name(wanted)
        if configured is not None and parse_name(configured).canonical != name.canonical:
            raise _mismatch(configured)
        return name

    def _same(self, r: Registration, pid: str | None, identity: str | None) -> None:
        if pid is not None and pid != r.scope.pid:
            parse_project(pid)
            raise _foreign(pid, r.scope.pid)
        if identity is not None and parse_name(identity).canonical != r.name.canonical:
            raise _mismatch(r.name.display)

    def _dead(self) -> bool:
        return self._hosted is not None and self._hosted.ended.is_set()

    def _need(self) -> HostedSession:
        if self._hosted is None:
            raise NoIdentity
        return self._hosted

    async def _context(self) -> dict[str, Any]:
        hosted = self._need()
        r = hosted.registration
        about = await self._verbs.project(r.scope, None)
        return {
            "context": {"session": r.session_id, "identity": r.name.display, "pid": r.scope.pid,
                        "surface": r.surface, "route": hosted.route_status()},
            "rules_reminders": list(self._around.settings.rules_reminders),
            "pending_signals": [],
            "controller_status": {
                "role": "master" if about["master"] == r.name.display else "peer",
                "master": about["master"], "peers": about["peers"],
            },
            **({"warnings": list(self.route.warnings)} if self.route.warnings else {}),
        }

    async def _handed_over(self, ids: tuple[SignalId, ...]) -> None:
        r = self._need().registration
        if ids:
            await self._around.store.hand_over(
                r.scope, r.name.canonical, r.session_id, ids, READ
            )
            self._carried += ids

    async def _attach(
        self, hosted: HostedSession, answer: dict[str, Any], method: str | None
    ) -> None:
        s = self._around.settings
        building = Answer(s.answer_signals, s.answer_bytes)
        claim = await hosted.claim_for_verb(s.answer_signals)
        await self._attacher.attach(building, claim, hosted.floor, method)
        if building.entries:
            answer["pending_signals"] = building.entries
            self._carried += building.whole
            r = hosted.registration
            counts = await self._around.store.counts(r.scope, r.name.canonical)
            if counts.pending:
                answer["more"] = counts.pending


def _settled(signal: Any, delivery: Any) -> Lease:
    return Lease(signal, delivery, LeaseToken(""), redelivered=False)


def _foreign(wanted: str, own: str) -> ForeignProject:
    return ForeignProject(
        f"This session belongs to project {own}, not {ascii(wanted)[:80]}. Signals do not cross "
        "projects: use the own project's pid."
    )


def _mismatch(own: str) -> IdentityMismatch:
    return IdentityMismatch(
        f"This session speaks for {own}. Who sends is decided by the session, never by an argument."
    )
