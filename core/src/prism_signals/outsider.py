"""A terminal or a program that speaks under a name without being a live session."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .contract.reading import Page, Query
from .engine.office import Draft, PostOffice, Sender
from .engine.verbs import Selection, Verbs
from .errors import InvalidArgument, Unavailable, UnknownSignal
from .model.delivery import DeliveryState, Entry
from .model.ids import SessionId, SignalId, canonical_uuid
from .model.names import Name, Scope, canonical


@dataclass(frozen=True, slots=True)
class Outsider:
    """Sends, reads and acks under a name; registers no presence, attaches nothing.

    Attributes:
        scope: Tenant and project.
        name: Under which it speaks.
        session_id: The live session it belongs to, or `OUTSIDE_SESSION`.
    """

    scope: Scope
    name: Name
    session_id: SessionId
    office: PostOffice
    verbs: Verbs

    async def signal(
        self,
        to: str,
        signal_type: str,
        payload: Any,
        in_reply_to: str | None = None,
        *,
        priority: str | None = None,
        expires_in: float | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Send a signal; the answer is that of `prism_signal`."""
        draft = Draft(to, signal_type, payload, in_reply_to, priority, expires_in, idempotency_key)
        sent = await self.office.send(Sender(self.scope, self.name, self.session_id), draft)
        # It has no session, but whoever sends can be answered: it is not unknown any more.
        try:
            await self.office.store.seen(self.scope, self.name)
        except Unavailable as e:  # the signal is stored, and that is what the answer tells
            self.office.log.warning("%s was not marked as seen: %s", self.name, e)
        return sent.as_dict()

    async def read_signals(
        self,
        *,
        unread_only: bool = True,
        thread_id: str | None = None,
        signal_id: str | None = None,
        query: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """What there is for this name; changes nothing."""
        wanted = Selection(unread_only, thread_id, signal_id, query, limit, cursor)
        reading = await self.verbs.read(self.scope, self.name, None, wanted)
        return reading.answer

    async def ack_signals(self, signal_ids: Sequence[str]) -> dict[str, Any]:
        """Ack by id; one result per id."""
        answer, _ = await self.verbs.ack(self.scope, self.name, signal_ids)
        return answer

    async def recall(self, signal_id: str) -> dict[str, Any]:
        """Take back one's own signal where it was not shown yet."""
        return await self.verbs.recall(self.scope, self.name, signal_id)

    async def status(self, *, signal_id: str | None = None) -> dict[str, Any]:
        """Who is here, or how far one signal got."""
        if signal_id is not None:
            return await self.verbs.track(self.scope, signal_id)
        return await self.verbs.project(self.scope, self.name)

    async def thread(self, signal_id: str) -> Sequence[Entry]:
        """The whole thread that this signal belongs to, oldest first.

        Raises:
            UnknownSignal: No such signal in this project.
        """
        wanted = canonical_uuid(signal_id)
        if wanted is None:
            raise InvalidArgument(f"{ascii(signal_id)[:60]} is not a signal id (UUID).")
        entry = await self.office.store.find(self.scope, wanted)
        if entry is None:
            raise UnknownSignal(f"No signal {wanted} in project {self.scope.pid}. Check the id.")
        return await self.office.store.thread(self.scope, entry.signal.thread_id)

    async def history(
        self,
        *,
        involving: str | None = None,
        sender: str | None = None,
        recipient: str | None = None,
        text: str | None = None,
        thread_id: SignalId | None = None,
        states: Collection[DeliveryState] = (),
        cursor: str | None = None,
        limit: int = 20,
        archived: bool = False,
        newest_first: bool = True,
    ) -> Page:
        """Everyone's signals of this project, newest first unless asked otherwise."""
        return await self.office.store.history(
            Query(
                self.scope,
                recipient=canonical(recipient) if recipient else None,
                sender=canonical(sender) if sender else None,
                involving=canonical(involving) if involving else None,
                text=text,
                thread_id=thread_id,
                states=states,
                before=cursor,
                limit=limit,
                archived=archived,
                newest_first=newest_first,
            )
        )
