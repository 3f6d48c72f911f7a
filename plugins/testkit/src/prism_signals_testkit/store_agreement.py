"""A seeded random life of a project, led on the store under test and on the reference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from prism_signals import (
    Delivery,
    DeliveryState,
    Entry,
    IdempotencyConflict,
    InboxFull,
    Lease,
    Limit,
    MemoryBackend,
    Posted,
    Query,
    RateLimited,
    SessionId,
    Settlement,
    SignalId,
    Store,
    Swept,
    new_session_id,
)

from .store_bench import CONFIRMED, FREED, HANDED_OVER, SCOPE, UNSURE, StoreBench, StoreSuite, name
from .suite import scenario

SEEDS = range(6)
STEPS = 70
NAMES = ("Lola", "Donna", "Texi", "donna.critic")
METHODS = ("one", "two")
SETTLEMENTS = (
    HANDED_OVER,
    CONFIRMED,
    FREED,
    UNSURE,
    replace(FREED, retry_after=timedelta(seconds=20)),
    replace(UNSURE, retry_after=timedelta(seconds=20)),
    Settlement(DeliveryState.DEAD, error="refused"),
)
MINUTE = timedelta(minutes=1)


class StoreAgreement(StoreSuite):
    """The store under test and the reference give the same answers."""

    @scenario(
        "S2",
        "S9",
        "S11",
        "S12",
        "S13",
        "S14",
        "S15",
        "S16",
        "S17",
        "S18",
        "S19",
        "S20",
        "S21",
        "S22",
        "S23",
        "S24",
        "S26",
        "S27",
        "S28",
        opened=False,
    )
    async def test_agrees_with_the_reference(self, harness: Any) -> None:
        clock = harness.clock()
        reference = MemoryBackend(clock).store
        async with harness.open(clock) as store:
            for seed in SEEDS:
                scope = replace(SCOPE, pid=f"PID-SEED{seed}")
                bench = StoreBench(harness, store, clock, scope)
                await _Life(Random(seed), bench, reference).lead()


@dataclass(slots=True)
class _Life:
    """One seeded sequence of calls. What fails names the seed and the last calls."""

    random: Random
    bench: StoreBench
    reference: Store
    signals: list[Posted] = field(default_factory=list)
    leases: list[tuple[Lease, Lease]] = field(default_factory=list)
    sessions: dict[str, list[SessionId]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sessions = {n: [new_session_id() for _ in range(3)] for n in NAMES}

    async def lead(self) -> None:
        """Live through it, comparing every answer and then everything that is left."""
        moves: tuple[tuple[int, Callable[[], Awaitable[None]]], ...] = (
            (6, self._put),
            (2, self._broadcast),
            (3, self._reply),
            (6, self._lease),
            (6, self._settle),
            (2, self._extend),
            (3, self._advance),
            (2, self._confirm),
            (2, self._hand_over),
            (2, self._ack),
            (1, self._recall),
            (1, self._rearm),
            (1, self._expire),
            (1, self._archive),
            (1, self._seen),
            (3, self._read),
        )
        for _ in range(STEPS):
            weights = [weight for weight, _ in moves]
            await self.random.choices([move for _, move in moves], weights)[0]()
        for posted in self.signals:
            await self._same("find", self.bench.scope, posted.signal.signal_id)

    # -- the calls ------------------------------------------------------------------------------

    async def _put(self) -> None:
        to, sender = self._name(), self._name()
        await self._post(to, sender, expires_in=self._of(None, None, 30.0))

    async def _broadcast(self) -> None:
        await self._post("*", self._name(), broadcast_ttl=timedelta(seconds=60))

    async def _reply(self) -> None:
        if self.signals:
            parent = self._of(*self.signals).signal
            await self._post(self._of(parent.from_identity, *NAMES), self._name(), reply_to=parent)

    async def _post(self, to: str, sender: str, **options: Any) -> None:
        live = {
            name(n).canonical: self._of(*s)
            for n, s in self.sessions.items()
            if self.random.random() < 0.5
        }
        posting = self.bench.posting(
            to,
            sender,
            sessions=live,
            key=self._of(None, None, "k1", "k2"),
            signal_type=self._of("Question", "inform"),
            wakes=self._of(True, False),
            payload={"message": self._of("Grüße", "done", "x")},
            inbox_cap=6,
            limits=(Limit(f"sender:{sender}", 12, MINUTE),),
            **options,
        )
        answer = await self._same("put", posting)
        if isinstance(answer, Posted) and not answer.duplicate:
            self.signals.append(answer)

    async def _lease(self) -> None:
        who = self._name()
        mine, *others = self._some(self.sessions[who]) or self.sessions[who]
        claim = self.bench.claim(
            mine,
            who,
            others=others,
            limit=self._of(1, 2, 5),
            push=self._of(True, False),
            max_attempts=self._of(2, None),
            quiet=self._of(True, True, False),
            reoffer_after=self._of(None, timedelta(seconds=10)),
            exclude=self._some([p.signal.signal_id for p in self.signals[-2:]]),
        )
        await self._same("pending", claim)
        ours, theirs = await self._both("lease", claim)
        self._compare("lease", ours, theirs)
        self.leases += zip(ours, theirs, strict=True)

    async def _settle(self) -> None:
        if self.leases:
            pair = self._of(*self.leases)
            await self._same_for_each("settle", pair, self._of(*SETTLEMENTS))

    async def _extend(self) -> None:
        if self.leases:
            await self._same_for_each("extend", self._of(*self.leases), timedelta(seconds=40))

    async def _advance(self) -> None:
        self.bench.advance(self._of(1, 5, 16, 31))

    async def _confirm(self) -> None:
        await self._same("confirm", self.bench.scope, self._canonical(), self._ids())

    async def _hand_over(self) -> None:
        who = self._name()
        session = self._of(*self.sessions[who])
        await self._same(
            "hand_over",
            self.bench.scope,
            name(who).canonical,
            session,
            self._ids(),
            self._of(*METHODS),
        )

    async def _ack(self) -> None:
        await self._same("ack", self.bench.scope, self._canonical(), self._ids())

    async def _recall(self) -> None:
        if self.signals:
            signal_id = self._of(*self.signals).signal.signal_id
            await self._same("recall", self.bench.scope, self._canonical(), signal_id)

    async def _rearm(self) -> None:
        who = self._name()
        session = self._of(*self.sessions[who])
        await self._same("rearm", self.bench.scope, name(who).canonical, session)

    async def _expire(self) -> None:
        await self._same("expire")

    async def _archive(self) -> None:
        await self._same("archive", timedelta(seconds=45))

    async def _seen(self) -> None:
        await self._same("seen", self.bench.scope, name(self._name()))

    async def _read(self) -> None:
        scope, who = self.bench.scope, self._canonical()
        query = Query(
            scope,
            recipient=self._of(None, who),
            unread_only=self._of(True, False),
            settled_only=self._of(True, False),
            text=self._of(None, None, "GRÜ"),
            sender=self._of(None, None, self._canonical()),
            newest_first=self._of(True, False),
            archived=self._of(True, False),
            limit=50,
        )
        if query.recipient is None:
            query = replace(query, unread_only=False, settled_only=False)
        ours, theirs = await self._both(self._of("read", "history"), query)
        self._compare("read", ours.entries, theirs.entries)
        ours, theirs = await self._both("counts", scope, who)
        open_ones = (ours.pending + ours.leased, theirs.pending + theirs.leased)
        self._compare(
            "counts", replace(ours, pending=0, leased=0), replace(theirs, pending=0, leased=0)
        )
        self._compare("counts", *open_ones)

    # -- comparing ------------------------------------------------------------------------------

    async def _same(self, verb: str, *args: Any) -> Any:
        ours, theirs = await self._both(verb, *args)
        self._compare(verb, ours, theirs)
        return ours

    async def _same_for_each(self, verb: str, pair: tuple[Lease, Lease], argument: Any) -> None:
        self.told.append(f"{verb}({pair[0].signal.signal_id}, {argument!r})")
        ours = await getattr(self.bench.store, verb)(pair[0], argument)
        theirs = await getattr(self.reference, verb)(pair[1], argument)
        self._compare(verb, ours, theirs)

    async def _both(self, verb: str, *args: Any) -> tuple[Any, Any]:
        self.told.append(f"{verb}{args!r}")
        return (
            await _answer(self.bench.store, verb, args),
            await _answer(self.reference, verb, args),
        )

    def _compare(self, verb: str, ours: Any, theirs: Any) -> None:
        now = self.bench.clock.now()
        got, expected = _plain(ours, now), _plain(theirs, now)
        assert got == expected, (
            f"{verb} differs from the reference in {self.bench.scope.pid}\n"
            f"got      {got}\nexpected {expected}\nafter\n" + "\n".join(self.told[-12:])
        )

    # -- choosing -------------------------------------------------------------------------------

    def _of(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def _some(self, choices: list[Any]) -> list[Any]:
        return self.random.sample(choices, self.random.randint(0, len(choices)))

    def _name(self) -> str:
        return str(self._of(*NAMES))

    def _canonical(self) -> str:
        return name(self._name()).canonical

    def _ids(self) -> list[SignalId]:
        known = [p.signal.signal_id for p in self.signals]
        return self.random.sample(known, min(len(known), self.random.randint(0, 3)))


async def _answer(store: Store, verb: str, args: tuple[Any, ...]) -> Any:
    try:
        return await getattr(store, verb)(*args)
    except (IdempotencyConflict, InboxFull, RateLimited) as refused:
        return type(refused).__name__


def _plain(answer: Any, now: datetime) -> Any:
    """An answer without what two stores may tell differently."""
    if isinstance(answer, Delivery):
        return _as_time_left_it(answer, now)
    if isinstance(answer, Entry):
        deliveries = sorted(answer.deliveries, key=lambda d: d.recipient)
        return (answer.signal, [_plain(d, now) for d in deliveries])
    if isinstance(answer, Lease):
        return (answer.signal, _plain(answer.delivery, now), answer.redelivered)
    if isinstance(answer, Swept):
        return answer
    if hasattr(answer, "deliveries"):
        return (answer.status, [_plain(d, now) for d in answer.deliveries])
    if isinstance(answer, Posted):
        recipients = [replace(r, near=tuple(sorted(r.near))) for r in answer.recipients]
        return replace(answer, recipients=tuple(recipients), acked=tuple(sorted(answer.acked)))
    if isinstance(answer, (list, tuple)):
        return [_plain(a, now) for a in answer]
    return answer


def _as_time_left_it(d: Delivery, now: datetime) -> Delivery:
    """The same whether or not the store has noticed that a lease ran out (S14)."""
    ran_out = (
        d.state is DeliveryState.LEASED and d.lease_until is not None and (d.lease_until <= now)
    )
    if ran_out:
        state = DeliveryState.PENDING if d.delivered_at is None else DeliveryState.DELIVERED
        d = replace(
            d,
            state=state,
            lease_until=None,
            next_attempt_at=None,
            offers=d.offers + 1,
            attempts=d.attempts + 1,
        )
    dead = d.state is DeliveryState.DEAD
    return replace(d, lease_token=None, last_error=d.last_error if dead else None)


__all__ = ["StoreAgreement"]
