"""Scenarios of reading, isolation and cancellation: S24, S25 and S30."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from prism_signals import (
    AckStatus,
    DeliveryState,
    InvalidArgument,
    Limit,
    Query,
    RateLimited,
    RecallStatus,
    RecipientState,
    SignalId,
    new_session_id,
)

from .store_bench import (
    ELSEWHERE,
    HANDED_OVER,
    LEASE,
    SCOPE,
    StoreBench,
    StoreSuite,
    ids,
)
from .suite import cancelled_after, scenario

MINUTE = timedelta(minutes=1)
STEPS = (0, 1, 2, 3, 5, 8, 13, 34)
"""How many steps a call may take before it is cancelled."""


class StoreReading(StoreSuite):
    """What reading changes (nothing), and what no call may touch."""

    @scenario("S24")
    async def test_reading_changes_nothing(self, bench: StoreBench) -> None:
        donna = new_session_id()
        signals = [(await bench.send(expires_in=3600)).signal for _ in range(4)]
        await bench.store.settle((await bench.lease(donna, limit=1))[0], HANDED_OVER)
        await bench.lease(donna, limit=1)
        bench.advance(LEASE.total_seconds() + 1)
        before = [await bench.entry(s.signal_id) for s in signals]
        for _ in range(2):
            await bench.unread()
            await bench.store.read(Query(SCOPE, recipient="donna", text="done", archived=True))
            await bench.store.history(Query(SCOPE, involving="lola"))
            await bench.store.thread(SCOPE, signals[0].thread_id)
            await bench.store.counts(SCOPE, "donna")
            await bench.store.identities(SCOPE)
            await bench.store.pending(bench.claim(donna))
            assert [await bench.entry(s.signal_id) for s in signals] == before

    @scenario("S24")
    async def test_pages_follow_one_another(self, bench: StoreBench) -> None:
        sent = [(await bench.send(payload={"n": n})).signal.signal_id for n in range(7)]
        for newest_first in (False, True):
            query = Query(SCOPE, recipient="donna", limit=3, newest_first=newest_first)
            pages: list[list[SignalId]] = []
            while True:
                page = await bench.store.read(query)
                pages.append([e.signal.signal_id for e in page.entries])
                if page.next is None:
                    break
                query = replace(query, before=page.next)
            assert [len(p) for p in pages] == [3, 3, 1]
            expected = list(reversed(sent)) if newest_first else sent
            assert [s for p in pages for s in p] == expected
        with pytest.raises(InvalidArgument):
            await bench.store.read(Query(SCOPE, recipient="donna", before="'; --"))

    @scenario("S24")
    async def test_everything_asked_for_must_hold(self, bench: StoreBench) -> None:
        donna = new_session_id()
        one = (await bench.send(payload={"message": "Über den Fluss"})).signal
        two = (await bench.send(sender="Texi", reply_to=one, signal_type="inform")).signal
        back = (await bench.send("Lola", "Donna", reply_to=two, signal_type="inform")).signal
        mine, all_three = [one, two], [one, two, back]
        system = (await bench.system(("Donna", donna))).signal
        cases: Sequence[tuple[dict[str, Any], list[Any]]] = (
            ({"recipient": "donna"}, [*mine, system]),
            ({"recipient": "donna", "session_id": new_session_id()}, mine),
            ({"sender": "lola"}, [one]),
            ({"involving": "donna"}, [*all_three, system]),
            ({"involving": "texi"}, [two]),
            ({"thread_id": one.thread_id}, all_three),
            ({"signal_id": two.signal_id}, [two]),
            ({"signal_id": two.signal_id, "recipient": "lola"}, []),
            ({"text": "über DEN"}, [one]),
            ({"text": "TEXI"}, [two]),
            ({"text": "inform", "recipient": "lola"}, [back]),
            ({"text": "%"}, []),
            ({"text": "_ber"}, []),
            ({"states": [DeliveryState.ACKED]}, [two]),
            ({"recipient": "donna", "unread_only": True}, [one, system]),
        )
        for options, expected in cases:
            page = await bench.store.read(Query(SCOPE, limit=50, **options))
            found = [e.signal.signal_id for e in page.entries]
            assert found == [s.signal_id for s in expected], options
            assert page.total in (None, len(expected))

    @scenario("S24")
    async def test_a_recipients_entries_carry_its_own_delivery(self, bench: StoreBench) -> None:
        await bench.seen("Donna", "Texi")
        await bench.send("*")
        mine = (await bench.store.read(Query(SCOPE, recipient="donna"))).entries[0]
        assert [d.recipient for d in mine.deliveries] == ["donna"]
        whole = (await bench.store.read(Query(SCOPE, sender="lola"))).entries[0]
        assert sorted(d.recipient for d in whole.deliveries) == ["donna", "texi"]

    @scenario("S24")
    async def test_what_is_being_shown_can_be_left_out(self, bench: StoreBench) -> None:
        leased, free = [(await bench.send()).signal.signal_id for _ in range(2)]
        await bench.lease(new_session_id(), limit=1)
        assert await bench.unread() == [leased, free]
        assert await bench.unread(settled_only=True) == [free]
        bench.advance(LEASE.total_seconds() + 1)
        assert await bench.unread(settled_only=True) == [leased, free]

    @scenario("S24")
    async def test_counts_tell_what_there_is(self, bench: StoreBench) -> None:
        donna = new_session_id()
        assert (await bench.store.counts(SCOPE, "donna")).unread == 0
        await bench.send(signal_type="inform")
        await bench.deliver(donna)
        await bench.send()
        await bench.lease(donna)
        await bench.send()
        c = await bench.store.counts(SCOPE, "donna")
        assert (c.pending, c.leased, c.unread, c.unconfirmed, c.dead) == (1, 1, 3, 1, 0)
        page = await bench.store.read(Query(SCOPE, recipient="donna"))
        every = [e.signal.signal_id for e in page.entries]
        assert await bench.store.confirm(SCOPE, "donna", every) == 1
        c = await bench.store.counts(SCOPE, "donna")
        assert (c.unread, c.unconfirmed) == (2, 0), "what needs no act is read when confirmed"

    @scenario("S25")
    async def test_nothing_crosses_tenants_or_projects(self, bench: StoreBench) -> None:
        donna = new_session_id()
        await bench.seen("Donna")
        limit = Limit("lola", 1, MINUTE)
        posted = await bench.send(key="k", limits=(limit,))
        signal = posted.signal
        before = await bench.entry(signal.signal_id)
        for scope in ELSEWHERE:
            there = replace(bench, scope=scope)
            assert await there.store.find(scope, signal.signal_id) is None
            assert await there.unread() == []
            assert not (await there.store.history(Query(scope, archived=True))).entries
            assert not await there.store.thread(scope, signal.thread_id)
            assert not await there.verb(donna)
            assert not await there.store.pending(there.claim(donna))
            assert await there.ack("Donna", signal.signal_id) == [AckStatus.UNKNOWN]
            recall = await there.store.recall(scope, "lola", signal.signal_id)
            assert recall.status is RecallStatus.UNKNOWN
            sid = [signal.signal_id]
            assert await there.store.confirm(scope, "donna", sid) == 0
            assert await there.store.hand_over(scope, "donna", donna, sid, "read") == 0
            assert await there.store.rearm(scope, "donna", donna) == 0
            assert (await there.store.counts(scope, "donna")).pending == 0
            assert not await there.store.identities(scope)
            other = await there.send(key="k", limits=(limit,), reply_to=signal, sender="Donna")
            assert (other.duplicate, other.acked) == (False, ())
            assert other.recipients[0].state is RecipientState.UNKNOWN
            assert not (await there.send("*", sender="Max")).recipients
        assert await bench.entry(signal.signal_id) == before
        assert ids(await bench.verb(donna)) == [signal.signal_id]

    @scenario("S30")
    async def test_a_cancelled_put_happened_or_did_not(self, bench: StoreBench) -> None:
        stored = []
        limit = Limit("lola", 1000, MINUTE)
        for steps in STEPS:
            posting = bench.posting(limits=(limit,))
            ended = await cancelled_after(steps, partial(bench.store.put, posting))
            entry = await bench.store.find(SCOPE, posting.signal.signal_id)
            assert entry is not None or not ended, "what was answered is stored"
            if entry is not None:
                assert [d.recipient for d in entry.deliveries] == ["donna"]
                stored.append(posting.signal.signal_id)
        assert await bench.unread() == stored
        for left in range(2):
            most = len(stored) + 1
            call = bench.send(limits=(Limit("lola", most, MINUTE),))
            if left:
                with pytest.raises(RateLimited):  # counted once for each that is stored
                    await call
            else:
                await call

    @scenario("S30")
    async def test_a_cancelled_call_leaves_the_store_usable(self, bench: StoreBench) -> None:
        donna = new_session_id()
        sent = [(await bench.send()).signal.signal_id for _ in range(4)]
        calls: Sequence[Callable[[], Awaitable[Any]]] = (
            partial(bench.lease, donna, limit=2),
            partial(bench.ack, "Donna", *sent[:2]),
            partial(bench.store.hand_over, SCOPE, "donna", donna, sent, "read"),
            partial(bench.store.recall, SCOPE, "lola", sent[3]),
            partial(bench.store.expire),
            bench.unread,
        )
        for steps in STEPS:
            for call in calls:
                await cancelled_after(steps, call)
                states = {(await bench.delivery(s)).state for s in sent[:2]}
                assert len(states) == 1, f"half of {call} happened"
        bench.advance(LEASE.total_seconds() + 1)
        posted = await bench.send("Texi")
        assert ids(await bench.verb(new_session_id(), "Texi")) == [posted.signal.signal_id]


__all__ = ["StoreReading"]
