"""Takes signals in: checks, limits, stores, rings, and says truthfully how far they got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from logging import Logger
from typing import Any

import anyio

from ..clock import Clock, iso
from ..contract.bus import Bell, BellKind, Bus
from ..contract.descriptors import Policy
from ..contract.directory import Directory
from ..contract.posting import Limit, Posted, Posting, Recipient, RecipientState
from ..contract.store import Store
from ..errors import InvalidArgument, PrismError, Unavailable, UnknownSignal
from ..model.delivery import Delivery
from ..model.ids import (
    NIL_SESSION,
    OUTSIDE_SESSION,
    SessionId,
    canonical_uuid,
    new_signal_id,
)
from ..model.names import BROADCAST, SYSTEM, Name, Scope, parse_recipient
from ..model.session import Session
from ..model.signal import Lane, Priority, Signal
from ..model.types import SignalType, TypeRegistry, check_payload
from ..settings import Settings
from .settlements import Settlements, ring

_LONGEST_KEY = 200
_LONGEST_TTL = timedelta(days=365)
_FIRST_LOOK, _LOOK_GROWTH = 0.005, 2.0  # seconds; only for senders that no bell can reach


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends: an identity, and the session it speaks from."""

    scope: Scope
    name: Name
    session_id: SessionId


@dataclass(frozen=True, slots=True)
class Draft:
    """What a sender wants to send, unchecked."""

    to: str
    signal_type: str
    payload: Any
    in_reply_to: str | None = None
    priority: str | None = None
    expires_in: float | None = None
    idempotency_key: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """How far a signal got by the time of the answer."""

    posted: Posted
    deliveries: tuple[Delivery, ...]
    live: Mapping[str, Session] = field(default_factory=dict)
    directory_down: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The answer of `prism_signal` (SPEC-034 §6.1, DESIGN §7.5)."""
        signal = self.posted.signal
        # What was acted on has arrived, also where a terminal acted and no surface took it.
        delivered = any(d.delivered_at or d.acked_at for d in self.deliveries)
        answer: dict[str, Any] = {
            "signal_id": signal.signal_id,
            "delivered": delivered,
            "queued": not delivered,
            "resolved_to_session": None,
            "confirmed": any(d.confirmed_at or d.acked_at for d in self.deliveries),
        }
        if self.posted.duplicate:
            answer["duplicate"] = True
        if signal.to_identity == BROADCAST:
            recipients = [
                {"name": r.name.display, "state": self._state(r)["state"]}
                for r in self.posted.recipients
            ]
            return {
                **answer,
                "delivered": False,
                "queued": True,
                "confirmed": False,
                "recipients": recipients,
            }
        for r in self.posted.recipients:
            answer["resolved_to_session"] = r.session_id
            answer["recipient_state"] = self._state(r)
        return answer

    def _state(self, r: Recipient) -> dict[str, Any]:
        if self.directory_down:
            return {"state": "unavailable"}
        if r.state is RecipientState.LIVE:
            session = self.live.get(r.name.canonical)
            wake = session.registration.can_wake if session else False
            return {"state": "live", "can_wake": wake}
        if r.state is RecipientState.AWAY:
            seen = iso(r.last_seen) if r.last_seen else None
            return {"state": "away", "last_seen": seen}
        return {"state": "unknown", "near": list(r.near)}


@dataclass(slots=True)
class PostOffice:
    """Sends signals on behalf of sessions, and system signals on behalf of the controller."""

    settings: Settings
    types: TypeRegistry
    store: Store
    directory: Directory
    bus: Bus
    clock: Clock
    log: Logger
    policies: Sequence[Policy]
    accepted: Callable[[Signal], None]

    async def send(
        self, sender: Sender, draft: Draft, settlements: Settlements | None = None
    ) -> Sent:
        """Store a signal, ring its recipients, and wait a moment for it to settle.

        Raises:
            PrismError: It is refused; nothing was stored.
        """
        name = parse_recipient(draft.to)
        kind = self.types.sendable(draft.signal_type)
        signal = await self._compose(sender, name, kind, draft)
        limits: list[Limit] = []
        for policy in self.policies:
            limits += policy.check(signal)
        live, down = await self._live(sender.scope, name)
        posted = await self.store.put(
            Posting(
                signal,
                name,
                sender.name.canonical,
                sessions={c: s.session_id for c, s in live.items()},
                expects_action=kind.expects_action,
                wakes=kind.wakes,
                limits=tuple(limits),
                inbox_cap=self.settings.inbox_cap,
                seen_within=timedelta(days=self.settings.audience_days),
                broadcast_ttl=timedelta(days=self.settings.broadcast_days),
            )
        )
        if not posted.duplicate:
            self.accepted(posted.signal)
        deliveries: tuple[Delivery, ...] = ()
        try:
            deliveries = await self._ring_and_wait(posted, live, settlements)
        except Unavailable as e:  # it is stored: an error now would have it sent a second time
            self.log.warning("how far a signal got is not known just now: %s", e)
        return Sent(posted, deliveries, live, down)

    async def announce(
        self,
        scope: Scope,
        signal_type: str,
        payload: dict[str, Any],
        to: Iterable[Session],
        coalesce: str | None = None,
    ) -> None:
        """Emit a system signal to these sessions; trouble is logged, never raised."""
        targets = tuple((s.name, s.session_id) for s in to)
        if not targets:
            return
        name = targets[0][0] if len(targets) == 1 else Name(BROADCAST, BROADCAST)
        signal = self._system_signal(scope, signal_type, payload, name)
        posting = Posting(signal, name, SYSTEM, wakes=False, to_sessions=targets, coalesce=coalesce)
        sessions = tuple(session_id for _, session_id in targets)
        try:
            stored = (await self.store.put(posting)).signal
        except PrismError as e:
            self.log.warning("%s was not announced: %s", signal_type, e)
            return
        everyone = name.canonical == BROADCAST
        bell = Bell(BellKind.SIGNAL, scope, sessions, stored.signal_id, stored, everyone)
        await ring(self.bus, bell, self.log)

    def _system_signal(
        self, scope: Scope, signal_type: str, payload: dict[str, Any], to: Name
    ) -> Signal:
        ttl, now, sid = self.types.get(signal_type).ttl, self.clock.now(), new_signal_id()
        return Signal(
            signal_id=sid,
            tenant=scope.tenant,
            pid=scope.pid,
            from_identity=SYSTEM,
            from_session=NIL_SESSION,
            to_identity=to.display,
            signal_type=signal_type,
            payload=payload,
            created_at=now,
            thread_id=sid,
            lane=Lane.SYSTEM,
            expires_at=now + ttl if ttl else None,
        )

    async def _compose(self, sender: Sender, name: Name, kind: SignalType, draft: Draft) -> Signal:
        payload = check_payload(kind, draft.payload, max_bytes=self.settings.max_payload)
        sid = new_signal_id()
        now = self.clock.now()
        parent = await self._parent(sender.scope, draft.in_reply_to)
        return Signal(
            signal_id=sid,
            tenant=sender.scope.tenant,
            pid=sender.scope.pid,
            from_identity=sender.name.display,
            from_session=sender.session_id,
            to_identity=name.display,
            signal_type=kind.name,
            payload=payload,
            created_at=now,
            thread_id=parent.thread_id if parent else sid,
            in_reply_to=parent.signal_id if parent else None,
            priority=_priority(draft.priority, kind, payload),
            hops=parent.hops + 1 if parent else 0,
            expires_at=_expiry(draft.expires_in, kind, now),
            idempotency_key=_key(draft.idempotency_key),
            traceparent=draft.traceparent,
        )

    async def _parent(self, scope: Scope, in_reply_to: str | None) -> Signal | None:
        if in_reply_to is None:
            return None
        wanted = canonical_uuid(in_reply_to)
        entry = await self.store.find(scope, wanted) if wanted else None
        if entry is None:
            raise UnknownSignal(
                f"in_reply_to names {ascii(in_reply_to)[:60]}, which is no signal of project "
                f"{scope.pid}. Use the signal_id of the signal you answer, or leave it out.",
            )
        return entry.signal

    async def _live(self, scope: Scope, name: Name) -> tuple[dict[str, Session], bool]:
        """The live session of each identity the name can mean; and whether nobody could tell."""
        live: dict[str, Session] = {}
        try:
            if name.canonical == BROADCAST:
                for s in await self.directory.sessions(scope):
                    other = live.get(s.name.canonical)
                    if other is None or s.preference() > other.preference():
                        live[s.name.canonical] = s
            else:
                for candidate in name.candidates():
                    session = await self.directory.resolve(scope, candidate)
                    if session is not None:
                        live[candidate] = session
        except Unavailable as e:
            self.log.warning("the directory is out of reach, signals wait for their poll: %s", e)
            return {}, True
        return live, False

    async def _ring_and_wait(
        self, posted: Posted, live: Mapping[str, Session], settlements: Settlements | None
    ) -> tuple[Delivery, ...]:
        signal = posted.signal
        targets = tuple(r.session_id for r in posted.recipients if r.session_id)
        broadcast = signal.to_identity == BROADCAST
        if posted.duplicate or not targets:
            return await self._deliveries(signal) if posted.duplicate else ()
        bell = Bell(BellKind.SIGNAL, signal.scope, targets, signal.signal_id, signal, broadcast)
        waits = (
            self.settings.delivery_wait > 0
            and not broadcast
            and any(
                live[r.name.canonical].registration.can_push
                for r in posted.recipients
                if r.name.canonical in live
            )
        )
        if not waits:
            await ring(self.bus, bell, self.log)
            return ()
        if settlements is None or signal.from_session == OUTSIDE_SESSION:
            await ring(self.bus, bell, self.log)
            return await self._look_until_settled(signal)
        with settlements.expect(signal.signal_id) as settled:
            await ring(self.bus, bell, self.log)
            with anyio.move_on_after(self.settings.delivery_wait):
                await settled.wait()
        return await self._deliveries(signal)

    async def _look_until_settled(self, signal: Signal) -> tuple[Delivery, ...]:
        """For senders without a bell of their own: a few looks, further and further apart."""
        pause = _FIRST_LOOK
        deliveries: tuple[Delivery, ...] = ()
        with anyio.move_on_after(self.settings.delivery_wait):
            while not deliveries or not deliveries[0].delivered_at:
                await anyio.sleep(pause)
                pause *= _LOOK_GROWTH
                deliveries = await self._deliveries(signal)
        return deliveries

    async def _deliveries(self, signal: Signal) -> tuple[Delivery, ...]:
        entry = await self.store.find(signal.scope, signal.signal_id)
        return entry.deliveries if entry else ()


def _priority(asked: str | None, kind: SignalType, payload: Mapping[str, Any]) -> Priority:
    if asked is not None:
        try:
            return Priority(asked)
        except ValueError:
            raise InvalidArgument(
                f"priority is {ascii(asked)[:40]}; use one of {', '.join(Priority)}."
            ) from None
    inside = payload.get("priority")  # TaskAssigned's own field maps onto the signal's
    if kind.escalates_when_urgent and isinstance(inside, str) and inside in set(Priority):
        return Priority(inside)
    return kind.default_priority


def _expiry(asked: float | None, kind: SignalType, now: datetime) -> datetime | None:
    if asked is None:
        return now + kind.ttl if kind.ttl else None
    if (
        isinstance(asked, bool)
        or not isinstance(asked, (int, float))
        or not (0 < asked <= _LONGEST_TTL.total_seconds())
    ):
        raise InvalidArgument("expires_in must be a number of seconds, above 0, at most one year.")
    return now + timedelta(seconds=asked)


def _key(key: str | None) -> str | None:
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY):
        raise InvalidArgument(f"idempotency_key must be a text of 1 to {_LONGEST_KEY} characters.")
    return key
