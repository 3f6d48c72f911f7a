"""An opened directory with sessions in it: what the directory's scenarios are written with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from prism_signals import (
    Departure,
    Directory,
    Fingerprint,
    Heartbeat,
    ManualClock,
    MasterClaim,
    Registered,
    Registration,
    Scope,
    SessionId,
    SessionToken,
    new_session_id,
    parse_name,
)

from .harness import DirectoryHarness
from .suite import Suite

SCOPE = Scope("default", "PID-KIT01")
ELSEWHERE = (Scope("default", "PID-KIT02"), Scope("other", "PID-KIT01"))
TIME_TO_LIVE = 90.0
"""Seconds a session lives without a heartbeat."""


@dataclass(frozen=True, slots=True)
class Member:
    """A session as its own gateway knows it."""

    session_id: SessionId
    token: SessionToken
    departed: tuple[Departure, ...] = ()


@dataclass(slots=True)
class DirectoryBench:
    """An opened directory, its clock and its harness."""

    harness: DirectoryHarness
    directory: Directory
    clock: ManualClock
    scope: Scope = SCOPE

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.harness.advance(self.clock, timedelta(seconds=seconds))

    def registration(
        self,
        who: str = "Donna",
        *,
        session_id: SessionId | None = None,
        claim: MasterClaim = MasterClaim.NONE,
        fingerprint: Fingerprint | None = None,
    ) -> Registration:
        """What a session says of itself."""
        return Registration(
            session_id or new_session_id(),
            self.scope,
            parse_name(who),
            "claude_code",
            route=("channels_push", "piggyback"),
            can_push=True,
            can_wake=True,
            claim=claim,
            fingerprint=fingerprint,
        )

    async def join(
        self,
        who: str = "Donna",
        *,
        session_id: SessionId | None = None,
        claim: MasterClaim = MasterClaim.NONE,
        fingerprint: Fingerprint | None = None,
    ) -> Member:
        """Register a session."""
        done: Registered = await self.directory.register(
            self.registration(who, session_id=session_id, claim=claim, fingerprint=fingerprint)
        )
        return Member(done.session.session_id, done.token, done.departed)

    async def beat(self, member: Member) -> Heartbeat:
        """Its process says that it lives."""
        return await self.directory.heartbeat(member.session_id, member.token)

    async def act(self, member: Member) -> bool:
        """Its agent uses a verb."""
        return await self.directory.engage(member.session_id, member.token)

    async def leave(self, member: Member) -> Departure | None:
        """It is released."""
        return await self.directory.release(member.session_id, member.token)

    async def resolved(self, who: str = "donna") -> SessionId | None:
        """The session this canonical name means now."""
        session = await self.directory.resolve(self.scope, who)
        return session.session_id if session else None

    async def listed(self, who: str | None = None) -> set[SessionId]:
        """The live sessions."""
        found = await self.directory.sessions(self.scope, who)
        ids = [s.session_id for s in found]
        assert len(ids) == len(set(ids)), "a session is listed twice"
        return set(ids)

    async def master(self) -> SessionId | None:
        """Who is master, without standing for it."""
        return (await self.directory.elect(self.scope)).master


class DirectorySuite(Suite):
    """What the groups of directory scenarios share."""

    @asynccontextmanager
    async def bench(self, harness: DirectoryHarness) -> AsyncIterator[DirectoryBench]:
        """The directory, opened, on a clock that stands still."""
        clock = harness.clock()
        async with harness.open(clock) as directory:
            yield DirectoryBench(harness, directory, clock)
