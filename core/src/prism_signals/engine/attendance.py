"""Which session an agent has now: opened when first needed, and said to be over when it is."""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from .. import fingerprint
from ..errors import (
    ForeignProject,
    IdentityMismatch,
    InvalidArgument,
    NoIdentity,
    NotAllowed,
    PrismError,
    SessionReleased,
    Unavailable,
)
from ..model.ids import new_session_id
from ..model.names import Name, Scope, parse_name, parse_project
from ..model.session import Registration
from .hosting import HostedSession, Surroundings
from .presence import master_claim
from .routing import Route

_RETRY = 5.0  # seconds, while a backend is out of reach


class Attendance:
    """Holds the one session of an agent.

    Args:
        around: What it shares with others.
        route: The strategies that may reach the agent.
        tasks: Where sessions run.
    """

    def __init__(self, around: Surroundings, route: Route, tasks: TaskGroup) -> None:
        self._around, self._route, self._tasks = around, route, tasks
        self._hosted: HostedSession | None = None
        self._newest: HostedSession | None = None
        self._opening = anyio.Lock()
        self._wrapped = False
        self._fingerprint = fingerprint.of_this_process()

    @property
    def last(self) -> HostedSession | None:
        """The session, alive or over; None before the first."""
        return self._hosted

    @property
    def configured(self) -> bool:
        """Whether identity and project are known without asking, and a session is wanted."""
        s = self._around.settings
        return bool(s.agent_identity and s.project and not s.probe)

    def reconsider(self) -> None:
        """Something changed outside: a session, also one that is just opening, tries again."""
        if self._newest is not None:
            self._newest.reconsider()

    def current(self) -> HostedSession:
        """The session.

        Raises:
            NoIdentity: There is none yet.
        """
        if self._hosted is None:
            raise NoIdentity
        return self._hosted

    async def by_itself(self) -> None:
        """Open the session of a configured agent a little later, unless a verb was faster."""
        await anyio.sleep(self._around.settings.register_after)
        while self._hosted is None and not self._wrapped:
            try:
                await self.ready()
            except Unavailable as e:
                self._around.log.warning("not registered yet: %s", e)
                await anyio.sleep(_RETRY)
            except PrismError as e:
                self._around.log.warning("not registered: %s", e)
                return
            except Exception:  # a plugin's bug must not end what serves the verbs
                self._around.log.exception("not registered")
                return

    async def ready(self, pid: str | None = None, identity: str | None = None) -> HostedSession:
        """The live session, opened if there was none.

        Raises:
            SessionReleased: It is over.
            NoIdentity: Nobody said who the agent is.
            InvalidArgument: Nobody said which project it works on.
            ForeignProject: It belongs to another project than `pid`.
            IdentityMismatch: It speaks for somebody else than `identity`.
            NotAllowed: This process is a probe.
        """
        if self._wrapped:
            raise SessionReleased("This session was wrapped. Call prism_start to open a new one.")
        async with self._opening:
            if self._hosted is not None and self._hosted.ended.is_set():
                raise SessionReleased(
                    f"This session was ended elsewhere ({self._hosted.verdict or 'crashed'}). "
                    "Call prism_start to open a new one."
                )
            if self._hosted is None:
                name = self._name(identity)  # first: without one, no other argument helps
                self._hosted = await self._open(self._scope(pid), name)
            _check_same(self._hosted.registration, pid, identity)
            return self._hosted

    def revive(self) -> None:
        """What was wrapped or ended elsewhere may open again."""
        if self._wrapped or (self._hosted is not None and self._hosted.ended.is_set()):
            self._wrapped, self._hosted = False, None

    async def wrap(self) -> None:
        """End the session; only `revive` allows another."""
        self._wrapped = True
        await self.close()

    async def close(self) -> None:
        """End the session, if there is one."""
        if self._hosted is not None and not self._hosted.ended.is_set():
            self._hosted.stop()
            await self._hosted.ended.wait()

    async def _open(self, scope: Scope, name: Name) -> HostedSession:
        settings = self._around.settings
        if settings.probe:
            raise NotAllowed("PRISM_PROBE is set: this process opens no session.")
        surface = settings.agent_surface or "unknown"
        above = map(fingerprint.of_process, fingerprint.ancestors(self._fingerprint.pid))
        self._newest = hosted = HostedSession(
            self._around,
            Registration(
                new_session_id(),
                scope,
                name,
                surface,
                fingerprint=self._fingerprint,
                client=next(filter(None, above), None),
                claim=master_claim(settings, surface),
            ),
            self._route,
        )
        await self._tasks.start(hosted.run)
        return hosted

    def _scope(self, pid: str | None) -> Scope:
        settings = self._around.settings
        wanted = pid if pid is not None else settings.project
        if wanted is None:
            raise InvalidArgument("No project is known. Pass pid, or set PRISM_PROJECT.")
        scope = Scope(parse_project(settings.tenant), parse_project(wanted))
        if settings.project is not None and wanted != settings.project:
            raise _foreign(wanted, settings.project)
        return scope

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


def _check_same(r: Registration, pid: str | None, identity: str | None) -> None:
    if pid is not None and parse_project(pid) != r.scope.pid:
        raise _foreign(pid, r.scope.pid)
    if identity is not None and parse_name(identity).canonical != r.name.canonical:
        raise _mismatch(r.name.display)


def _foreign(wanted: str, own: str) -> ForeignProject:
    return ForeignProject(
        f"This session belongs to project {own}, not {ascii(wanted)[:80]}. Signals do not cross "
        "projects: use the own project's pid."
    )


def _mismatch(own: str) -> IdentityMismatch:
    return IdentityMismatch(
        f"This session speaks for {own}. Who sends is decided by the session, never by an argument."
    )
