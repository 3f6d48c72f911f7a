"""One agent, hosted by this process: its verbs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from anyio.abc import TaskGroup

from .engine.answering import Answers
from .engine.attendance import Attendance
from .engine.hosting import HostedSession, Surroundings
from .engine.office import Draft, Sender
from .engine.routing import Route
from .engine.settlements import ring_settled
from .engine.verbs import Selection, Verbs
from .errors import Unavailable
from .model.ids import SignalId
from .model.names import Name, Scope, parse_name
from .model.session import Session

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
        self._attendance = Attendance(around, route, tasks)
        self._answers = Answers(around, self._attendance)
        self._verbs = Verbs(around.store, around.directory)

    # -- for the gateway --------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        """The live session, or None."""
        hosted = self._attendance.last
        return hosted.session if hosted and not hosted.ended.is_set() else None

    @property
    def identity(self) -> Name | None:
        """Who the agent is, as far as is known."""
        if self._attendance.last is not None:
            return self._attendance.last.registration.name
        configured = self._around.settings.agent_identity
        return parse_name(configured) if configured else None

    def offer(self, capability: object) -> None:
        """The connection can do this from now on; strategies may ask for it."""
        self._around.offers.add(capability)
        self._attendance.reconsider()

    def connected(self) -> None:
        """The handshake is done: a configured session registers by itself a little later."""
        if self._attendance.configured:
            self._tasks.start_soon(self._attendance.by_itself)

    async def answering(
        self,
        act: Callable[[], Awaitable[dict[str, Any]]],
        *,
        attach: bool = True,
        method: str | None = None,
        pid: str | None = None,
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
        return await self._answers.give(act, attach=attach, method=method, pid=pid)

    # -- verbs ------------------------------------------------------------------------------

    async def start(
        self, pid: str | None = None, agent_identity: str | None = None
    ) -> dict[str, Any]:
        """`prism_start`: open the session (again), then drain what waited (SPEC-034 §6.3)."""
        self._attendance.revive()
        hosted = await self._attendance.ready(pid, agent_identity)
        hosted.reconsider()
        return await self.answering(self._context, method=DRAIN)

    async def signal(
        self,
        pid: str,
        to: str,
        signal_type: str,
        payload: Any,
        in_reply_to: str | None = None,
        *,
        priority: str | None = None,
        expires_in: float | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """`prism_signal` (SPEC-034 §6.1): store a signal and say how far it got."""
        draft = Draft(to, signal_type, payload, in_reply_to, priority, expires_in, idempotency_key)

        async def act() -> dict[str, Any]:
            r = self._attendance.current().registration
            sender = Sender(r.scope, r.name, r.session_id)
            sent = await self._around.office.send(sender, draft, self._around.settlements)
            return sent.as_dict()

        return await self.answering(act, pid=pid)

    async def read_signals(
        self,
        pid: str | None = None,
        *,
        unread_only: bool = True,
        thread_id: str | None = None,
        signal_id: str | None = None,
        query: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """`prism_read_signals`: look; what is listed counts as handed over, nothing is acked."""
        wanted = Selection(unread_only, thread_id, signal_id, query, limit, cursor)
        shown: list[SignalId] = []

        async def act() -> dict[str, Any]:
            r = self._attendance.current().registration
            most = self._around.settings.answer_bytes
            reading = await self._verbs.read(r.scope, r.name, r.session_id, wanted, most)
            if reading.listed:
                await self._around.store.hand_over(
                    r.scope, r.name.canonical, r.session_id, reading.listed, READ
                )
            shown.extend(reading.whole)
            return reading.answer

        answer = await self.answering(act, attach=False, pid=pid)
        self._answers.carried += shown  # not before the answer is certain to be given
        return answer

    async def ack_signals(self, signal_ids: list[str], pid: str | None = None) -> dict[str, Any]:
        """`prism_ack_signals`: the agent acted on these."""

        async def act() -> dict[str, Any]:
            r = self._attendance.current().registration
            answer, acked = await self._verbs.ack(r.scope, r.name, signal_ids)
            await self._tell_senders(r.scope, acked)
            return answer

        return await self.answering(act, pid=pid)

    async def status(
        self, pid: str | None = None, *, signal_id: str | None = None
    ) -> dict[str, Any]:
        """`prism_status`: who is here and how this session is reached, or how far a signal got."""

        async def act() -> dict[str, Any]:
            hosted = self._attendance.current()
            r = hosted.registration
            if signal_id is not None:
                return await self._verbs.track(r.scope, signal_id)
            return {
                "session": r.session_id,
                "identity": r.name.display,
                "surface": r.surface,
                "route": hosted.route_status(),
                "warnings": list(self.route.warnings),
                **await self._verbs.project(r.scope, r.name),
            }

        return await self.answering(act, pid=pid)

    async def recall(self, signal_id: str, pid: str | None = None) -> dict[str, Any]:
        """`prism_recall`: take back a signal that was not shown yet."""

        async def act() -> dict[str, Any]:
            r = self._attendance.current().registration
            return await self._verbs.recall(r.scope, r.name, signal_id)

        return await self.answering(act, pid=pid)

    async def wrap(self) -> dict[str, Any]:
        """`prism_wrap`: stop, free what is leased, release the session; then only start revives."""
        hosted = await self._attendance.ready()
        r = hosted.registration
        counts = await self._around.store.counts(r.scope, r.name.canonical)
        async with self._answers.last(hosted):
            await self._attendance.wrap()
        return {
            "released": True,
            "session": r.session_id,
            "pending": counts.pending,
            "hint": "What comes now waits. prism_start opens a new session.",
        }

    async def close(self) -> None:
        """End the session, if there is one."""
        await self._attendance.close()

    # -- parts ------------------------------------------------------------------------------

    async def _context(self) -> dict[str, Any]:
        hosted = self._attendance.current()
        about = await self._verbs.project(hosted.registration.scope, None)
        rules = self._around.settings.rules_reminders
        return _context(hosted, about, rules, self.route.warnings)

    async def _tell_senders(self, scope: Scope, acked: Iterable[str]) -> None:
        around = self._around
        try:
            for signal_id in acked:
                entry = await around.store.find(scope, signal_id)
                if entry is not None:
                    await ring_settled(around.bus, entry.signal, around.log)
        except Unavailable as e:  # they learn it when they ask
            around.log.warning("senders were not told of acks: %s", e)


def _context(
    hosted: HostedSession, about: dict[str, Any], rules: list[str], warnings: tuple[str, ...]
) -> dict[str, Any]:
    """The answer of `prism_start`, before the drain (SPEC-034 §10.3)."""
    r = hosted.registration
    return {
        "context": {
            "session": r.session_id,
            "identity": r.name.display,
            "pid": r.scope.pid,
            "surface": r.surface,
            "route": hosted.route_status(),
        },
        "rules_reminders": list(rules),
        "pending_signals": [],
        "controller_status": {
            "role": "master" if about["master"] == r.name.display else "peer",
            "master": about["master"],
            "peers": about["peers"],
        },
        **({"warnings": list(warnings)} if warnings else {}),
    }
