"""The store: each verb of the contract is one look or one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from prism_signals import (
    AckResult,
    Claim,
    Counts,
    Entry,
    Inspection,
    Lease,
    Name,
    Page,
    Posted,
    Posting,
    Query,
    Recall,
    Scope,
    SessionId,
    Settlement,
    SignalId,
    Swept,
    canonical_uuid,
    from_iso,
)

from . import acts, housekeeping, leases, posting, reading
from .database import Database
from .finding import find_entry
from .limits import InboxGauge
from .projects import known_identities, mark_seen
from .rows import project_id
from .schema import schema_version

_ARCHIVED_AT_ONCE = 100
_MOST_PROJECTS = 1000


class SQLiteStore:
    """A `Store` in one SQLite file; its clauses are in the contract.

    Commits that promise something (`put`, `ack`, `confirm`, `hand_over`, `recall`, the archive)
    are `durable`: synced to the disk. Those of `lease`, `settle`, `extend`, `rearm`, `seen` and
    `expire` are not: they survive the death of every process, and if a power failure undoes the
    latest of them, a signal is at worst shown once more, which the contract allows. Any durable
    commit also makes durable what was committed before it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gauge = InboxGauge()
        self._projects: set[Scope] = set()

    async def inspect(self) -> Inspection:
        """Where the file is and which schema version it has; see `Inspectable`."""
        path = self._database.options.path
        version = await self._database.look(schema_version)
        return Inspection(str(path), path.parent, version)

    async def put(self, posting_: Posting) -> Posted:
        """Commit a new signal; see `Store.put`."""
        scope = posting_.signal.scope
        known = scope in self._projects
        posted = await self._database.write(
            lambda c: posting.put(c, self._gauge, posting_, self._now(), known=known)
        )
        if len(self._projects) < _MOST_PROJECTS:
            self._projects.add(scope)
        return posted

    async def lease(self, claim: Claim) -> Sequence[Lease]:
        """Lease what the claim describes; a look that finds nothing writes nothing."""
        if claim.limit < 1 or not await self._database.look(
            lambda c: leases.must_write(c, claim, self._now())
        ):
            return ()
        return await self._database.write(
            lambda c: leases.lease(c, claim, self._now()), durable=False
        )

    async def settle(self, lease: Lease, settlement: Settlement) -> bool:
        """End a lease; see `Store.settle`."""
        return await self._database.write(
            lambda c: leases.settle(c, lease, settlement, self._now()), durable=False
        )

    async def extend(self, lease: Lease, lease_for: timedelta) -> bool:
        """Make a lease last longer; see `Store.extend`."""
        return await self._database.write(
            lambda c: leases.extend(c, lease, lease_for, self._now()), durable=False
        )

    async def rearm(self, scope: Scope, recipient: str, session_id: SessionId) -> int:
        """Make postponed deliveries of this session due; see `Store.rearm`."""
        project = project_id(scope)
        return await self._database.write(
            lambda c: leases.rearm(c, project, recipient, session_id, self._now()), durable=False
        )

    async def pending(self, claim: Claim) -> bool:
        """Whether `lease` would give something."""
        return await self._database.look(lambda c: leases.would_lease(c, claim, self._now()))

    async def confirm(self, scope: Scope, recipient: str, signal_ids: Collection[SignalId]) -> int:
        """These are in the model's context; see `Store.confirm`."""
        if not signal_ids:
            return 0
        project = project_id(scope)
        return await self._database.write(
            lambda c: acts.confirm(c, project, recipient, signal_ids, self._now())
        )

    async def hand_over(
        self,
        scope: Scope,
        recipient: str,
        session_id: SessionId,
        signal_ids: Collection[SignalId],
        method: str,
    ) -> int:
        """These pending ones were put into an answer; see `Store.hand_over`."""
        if not signal_ids:
            return 0
        project = project_id(scope)
        return await self._database.write(
            lambda c: acts.hand_over(
                c, project, recipient, session_id, signal_ids, method, self._now()
            )
        )

    async def ack(
        self, scope: Scope, recipient: str, signal_ids: Sequence[str]
    ) -> Sequence[AckResult]:
        """The agent acted on these; see `Store.ack`."""
        project = project_id(scope)
        return await self._database.write(
            lambda c: acts.ack(c, project, recipient, signal_ids, self._now())
        )

    async def recall(self, scope: Scope, sender: str, signal_id: str) -> Recall:
        """Take back what was not shown yet; see `Store.recall`."""
        project, wanted = project_id(scope), canonical_uuid(signal_id) or ""
        return await self._database.write(
            lambda c: acts.recall(c, project, sender, wanted, self._now())
        )

    async def find(self, scope: Scope, signal_id: str) -> Entry | None:
        """One signal with all its deliveries, archived or not."""
        project, wanted = project_id(scope), canonical_uuid(signal_id) or ""
        return await self._database.look(lambda c: find_entry(c, scope, project, wanted))

    async def read(self, query: Query) -> Page:
        """A page of signals; see `Store.read`."""
        return await self._database.read(lambda c: reading.read(c, query, self._now()))

    async def thread(self, scope: Scope, thread_id: SignalId, limit: int = 1000) -> Sequence[Entry]:
        """A thread, oldest first, archived parts included."""
        query = Query(scope, thread_id=thread_id, limit=limit, archived=True)
        return (await self.read(query)).entries

    async def history(self, query: Query) -> Page:
        """Like `read`, always newest first."""
        return await self.read(replace(query, newest_first=True))

    async def counts(self, scope: Scope, recipient: str) -> Counts:
        """How much there is for one identity."""
        project = project_id(scope)
        return await self._database.look(
            lambda c: reading.counts(c, project, recipient, self._now())
        )

    async def seen(self, scope: Scope, name: Name, *, human: bool = False) -> None:
        """An identity is here now; see `Store.seen`."""
        await self._database.write(
            lambda c: mark_seen(c, scope, name, self._now(), human=human), durable=False
        )

    async def identities(self, scope: Scope) -> Sequence[tuple[Name, datetime]]:
        """Every identity ever seen in the project, with when it was seen last."""
        return await self._database.read(partial(_identities, project_id(scope)))

    async def expire(self, limit: int = 1000) -> Swept:
        """End what is past its time; a look that finds nothing writes nothing."""
        if not await self._database.read(lambda c: housekeeping.is_anything_past(c, self._now())):
            return Swept()
        return await self._database.write(
            lambda c: housekeeping.expire(c, self._now(), limit), durable=False
        )

    async def archive(self, older_than: timedelta, limit: int = 1000) -> Swept:
        """Move old, finished signals to the archive; see `Store.archive`."""
        moved = 0
        while moved < limit:  # in small transactions, so that nobody waits for long behind one
            most = min(_ARCHIVED_AT_ONCE, limit - moved)
            swept = await self._archive(older_than, most)
            moved += swept.archived
            if swept.archived < most:
                break
        return Swept(archived=moved)

    async def _archive(self, older_than: timedelta, most: int) -> Swept:
        return await self._database.write(
            lambda c: housekeeping.archive(c, self._now(), older_than, most)
        )

    def _now(self) -> datetime:
        return self._database.now()


def _identities(project: str, connection: sqlite3.Connection) -> list[tuple[Name, datetime]]:
    return [
        (Name(k.display, k.canonical), from_iso(k.last_seen_at))
        for k in known_identities(connection, project)
    ]
