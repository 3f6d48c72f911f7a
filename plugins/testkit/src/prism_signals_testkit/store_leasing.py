"""Scenarios of leases and settlements: S11 to S19 and S31."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from prism_signals import (
    DeliveryState,
    Lease,
    LeaseToken,
    SessionId,
    Settlement,
    SignalId,
    new_session_id,
)

from .harness import StoreHarness
from .store_bench import (
    CONFIRMED,
    FREED,
    HANDED_OVER,
    LEASE,
    SCOPE,
    UNSURE,
    StoreBench,
    StoreSuite,
    ids,
)
from .suite import all_at_once, need, scenario

LATER = timedelta(minutes=10)


class StoreLeasing(StoreSuite):
    """What `lease`, `settle`, `extend`, `rearm` and `pending` promise."""

    @scenario("S11")
    async def test_a_delivery_is_leased_to_one_caller_at_a_time(self, bench: StoreBench) -> None:
        sent = {(await bench.send()).signal.signal_id for _ in range(10)}
        donna = [new_session_id() for _ in range(8)]

        async def take(session: SessionId) -> list[Lease]:
            return [*await bench.verb(session, limit=3), *await bench.lease(session, limit=3)]

        calls = [partial(take, session) for session in donna]
        taken = [x for got in await all_at_once(*calls) for x in got]
        assert len(ids(taken)) == len(set(ids(taken))), "one signal was leased twice"
        assert set(ids(taken)) == sent
        assert len({lease.token for lease in taken}) == len(taken), "every lease has its own token"
        assert not await bench.verb(new_session_id())

    @scenario("S11", opened=False)
    async def test_two_handles_never_lease_the_same(self, harness: StoreHarness) -> None:
        need(harness.shared, "second handle")
        clock = harness.clock()
        async with harness.open(clock) as one, harness.open(clock) as two:
            benches = [StoreBench(harness, store, clock) for store in (one, two)]
            sent = {(await benches[0].send()).signal.signal_id for _ in range(10)}
            calls = [partial(b.verb, new_session_id(), limit=2) for _ in range(5) for b in benches]
            taken = [x for got in await all_at_once(*calls) for x in got]
            assert sorted(ids(taken)) == sorted(sent)

    @scenario("S12")
    async def test_the_oldest_is_leased_first(self, bench: StoreBench) -> None:
        sent = []
        for n in range(12):
            sent.append((await bench.send(sender=f"Sender-{n % 3}")).signal.signal_id)
            bench.advance(n % 2)
        donna = new_session_id()
        assert ids(await bench.lease(donna, limit=4)) == sent[:4]
        assert ids(await bench.verb(donna, limit=4)) == sent[4:8]
        freed = (await bench.lease(donna, limit=1))[0]
        await bench.store.settle(freed, FREED)
        assert ids(await bench.lease(donna)) == sent[8:], "what was freed keeps its place"

    @scenario("S13")
    async def test_a_push_claim_leaves_what_is_anothers(self, bench: StoreBench) -> None:
        mine, theirs, dead = (new_session_id() for _ in range(3))
        sent = {
            s: (await bench.send(sessions={"donna": s})).signal.signal_id
            for s in (mine, theirs, dead)
        }
        free = (await bench.send()).signal.signal_id
        got = ids(await bench.lease(mine, others=[theirs]))
        assert got == [sent[mine], sent[dead], free]
        assert ids(await bench.verb(mine, others=[theirs])) == [sent[theirs]], "a verb gets it"

    @scenario("S13")
    async def test_a_push_claim_leaves_what_is_not_due_or_tried_too_often(
        self, bench: StoreBench
    ) -> None:
        donna = new_session_id()
        signal_id = (await bench.send()).signal.signal_id
        for attempt in range(2):
            lease = (await bench.lease(donna, max_attempts=2))[0]
            assert lease.delivery.attempts == attempt
            await bench.store.settle(lease, replace(UNSURE, retry_after=LATER))
            assert not await bench.lease(donna, max_attempts=None), "not due yet"
            assert not await bench.store.pending(bench.claim(donna, max_attempts=None))
            bench.advance(LATER.total_seconds() + 1)
        assert not await bench.lease(donna, max_attempts=2), "tried often enough"
        assert await bench.store.pending(bench.claim(donna, max_attempts=None))
        assert ids(await bench.verb(donna, max_attempts=2)) == [signal_id]

    @scenario("S13")
    async def test_a_claim_gets_what_it_describes(self, bench: StoreBench) -> None:
        donna = new_session_id()
        old = (await bench.send()).signal.signal_id
        bench.advance(60)
        since = bench.clock.now()
        quiet = (await bench.send(wakes=False)).signal.signal_id
        loud = (await bench.send()).signal.signal_id
        cases: tuple[tuple[dict[str, Any], list[SignalId]], ...] = (
            ({"quiet": False}, [old, loud]),
            ({"created_after": since}, [quiet, loud]),
            ({"exclude": [old, loud]}, [quiet]),
            ({"limit": 2}, [old, quiet]),
            ({"recipient": "Texi"}, []),
            ({}, [old, quiet, loud]),
        )
        for options, expected in cases:
            claim = bench.claim(donna, **options)
            assert await bench.store.pending(claim) is bool(expected)
            leases = await bench.store.lease(claim)
            assert ids(leases) == expected, options
            for lease in leases:
                assert await bench.store.settle(lease, FREED)

    @scenario("S14")
    async def test_a_lease_that_ran_out_is_leased_again(self, bench: StoreBench) -> None:
        one, two = new_session_id(), new_session_id()
        await bench.send()
        first = (await bench.lease(one))[0]
        assert not first.redelivered
        assert first.delivery.state is DeliveryState.LEASED
        assert first.delivery.lease_until == bench.clock.now() + LEASE
        bench.advance(LEASE.total_seconds() - 1)
        assert not await bench.verb(two)
        bench.advance(2)
        again = (await bench.lease(two))[0]
        assert again.redelivered
        assert (again.delivery.attempts, again.delivery.offers) == (1, 1)
        assert again.token != first.token

    @scenario("S15")
    async def test_what_nobody_acted_on_goes_to_the_next_session(self, bench: StoreBench) -> None:
        posted = await bench.send()
        signal_id = posted.signal.signal_id
        sessions = [new_session_id() for _ in range(4)]
        assert await bench.deliver(sessions[0], how=CONFIRMED) == [signal_id]
        assert not await bench.verb(sessions[0]), "its own session has it"
        assert not await bench.lease(sessions[1], others=[sessions[0]]), "that one lives still"
        for following in sessions[1:3]:
            leases = await bench.lease(following)
            assert [(x.signal.signal_id, x.redelivered) for x in leases] == [(signal_id, True)]
            await bench.store.settle(leases[0], HANDED_OVER)
        claim = bench.claim(sessions[3])
        assert not await bench.store.pending(claim)
        assert (await bench.delivery(signal_id)).state is DeliveryState.DELIVERED
        assert not await bench.store.lease(claim), "three times are enough"
        dead = await bench.delivery(signal_id)
        assert (dead.state, dead.last_error) == (DeliveryState.DEAD, "unacted")

    @scenario("S15")
    async def test_what_was_acted_on_or_expects_no_act_is_not_offered_again(
        self, bench: StoreBench
    ) -> None:
        acted = (await bench.send()).signal.signal_id
        await bench.send(signal_type="inform")
        await bench.deliver(new_session_id())
        await bench.ack("Donna", acted)
        assert not await bench.verb(new_session_id())

    @scenario("S15")
    async def test_an_offer_that_comes_to_nothing_does_not_hide_it(self, bench: StoreBench) -> None:
        signal_id = (await bench.send()).signal.signal_id
        await bench.deliver(new_session_id())
        following = new_session_id()
        for _ in range(3):
            leases = await bench.lease(following)
            assert ids(leases) == [signal_id]
            await bench.store.settle(leases[0], FREED)
            assert (await bench.delivery(signal_id)).state is DeliveryState.DELIVERED

    @scenario("S16")
    async def test_an_unconfirmed_hand_over_is_offered_once_more(self, bench: StoreBench) -> None:
        donna = new_session_id()
        again = timedelta(seconds=10)
        signal_id = (await bench.send(signal_type="inform")).signal.signal_id
        await bench.deliver(donna)
        assert not await bench.verb(donna, reoffer_after=again), "too early"
        bench.advance(11)
        assert not await bench.verb(donna), "only where asked for"
        other = new_session_id()
        assert not await bench.verb(other, others=[donna], reoffer_after=again)
        leases = await bench.verb(donna, reoffer_after=again)
        assert [(x.signal.signal_id, x.redelivered) for x in leases] == [(signal_id, True)]
        await bench.store.settle(leases[0], HANDED_OVER)
        bench.advance(60)
        assert not await bench.verb(donna, reoffer_after=again), "never a third time"
        assert not await bench.verb(other, reoffer_after=again)

    @scenario("S16")
    async def test_what_is_confirmed_or_acked_is_not_offered_again(self, bench: StoreBench) -> None:
        donna = new_session_id()
        await bench.send(signal_type="inform")
        await bench.deliver(donna, how=CONFIRMED)
        acted = (await bench.send()).signal.signal_id
        await bench.deliver(donna)
        await bench.ack("Donna", acted)
        bench.advance(60)
        assert not await bench.verb(donna, reoffer_after=timedelta(seconds=10))

    @scenario("S17")
    async def test_only_the_current_token_settles(self, bench: StoreBench) -> None:
        one, two = new_session_id(), new_session_id()
        signal_id = (await bench.send()).signal.signal_id
        stale = (await bench.lease(one))[0]
        bench.advance(LEASE.total_seconds() + 1)
        current = (await bench.lease(two))[0]
        before = await bench.delivery(signal_id)
        forged = replace(current, token=LeaseToken("forged"))
        for wrong in (stale, forged):
            for how in (HANDED_OVER, FREED, Settlement(DeliveryState.DEAD, error="no")):
                assert not await bench.store.settle(wrong, how)
            assert not await bench.store.extend(wrong, LATER)
        assert await bench.delivery(signal_id) == before
        assert await bench.store.settle(current, HANDED_OVER)
        after = await bench.delivery(signal_id)
        assert not await bench.store.settle(current, FREED), "settled already"
        assert await bench.delivery(signal_id) == after

    @scenario("S17")
    async def test_a_settle_after_the_lease_ran_out_changes_nothing(
        self, bench: StoreBench
    ) -> None:
        signal_id = (await bench.send()).signal.signal_id
        lease = (await bench.lease(new_session_id()))[0]
        bench.advance(LEASE.total_seconds() + 1)
        assert not await bench.store.settle(lease, HANDED_OVER)
        assert (await bench.delivery(signal_id)).delivered_at is None
        assert (await bench.lease(new_session_id()))[0].redelivered

    @scenario("S17")
    async def test_an_extended_lease_lasts_longer(self, bench: StoreBench) -> None:
        await bench.send()
        lease = (await bench.lease(new_session_id()))[0]
        bench.advance(10)
        assert await bench.store.extend(lease, timedelta(seconds=30))
        bench.advance(20)
        assert not await bench.verb(new_session_id())
        assert await bench.store.settle(lease, HANDED_OVER)
        assert not await bench.store.extend(lease, LATER)

    @scenario("S18")
    async def test_a_freed_lease_leaves_no_trace_of_itself(self, bench: StoreBench) -> None:
        donna = new_session_id()
        signal_id = (await bench.send()).signal.signal_id
        lease = (await bench.lease(donna))[0]
        assert await bench.store.settle(lease, replace(FREED, error="nobody home"))
        freed = await bench.delivery(signal_id)
        assert freed.state is DeliveryState.PENDING
        assert (freed.lease_token, freed.lease_until) == (None, None)
        assert (freed.attempts, freed.offers, freed.last_error) == (0, 0, "nobody home")
        again = (await bench.lease(donna))[0]
        assert not again.redelivered
        await bench.store.settle(again, UNSURE)
        assert (await bench.lease(donna))[0].redelivered, "that one may have been shown"

    @scenario("S18")
    async def test_what_was_delivered_before_is_delivered_again(self, bench: StoreBench) -> None:
        donna = new_session_id()
        signal_id = (await bench.send()).signal.signal_id
        await bench.deliver(donna)
        before = await bench.delivery(signal_id)
        bench.advance(60)
        lease = (await bench.verb(donna, reoffer_after=timedelta(seconds=10)))[0]
        assert await bench.store.settle(lease, FREED)
        assert await bench.delivery(signal_id) == before

    @scenario("S18")
    async def test_a_dead_delivery_says_why_and_stays_dead(self, bench: StoreBench) -> None:
        signal_id = (await bench.send()).signal.signal_id
        lease = (await bench.lease(new_session_id()))[0]
        await bench.store.settle(lease, Settlement(DeliveryState.DEAD, error="refused: too long"))
        dead = await bench.delivery(signal_id)
        assert (dead.state, dead.last_error) == (DeliveryState.DEAD, "refused: too long")
        assert not await bench.verb(new_session_id())
        assert (await bench.store.counts(SCOPE, "donna")).dead == 1

    @scenario("S19")
    async def test_the_first_delivery_sets_the_moment(self, bench: StoreBench) -> None:
        one, two = new_session_id(), new_session_id()
        signal_id = (await bench.send()).signal.signal_id
        bench.advance(5)
        await bench.deliver(one)
        moment = bench.clock.now()
        first = await bench.delivery(signal_id)
        assert (first.delivered_at, first.delivery_method) == (moment, "by_hand")
        assert (first.session_id, first.confirmed_at, first.offers) == (one, None, 1)
        bench.advance(60)
        lease = (await bench.lease(two))[0]
        await bench.store.settle(lease, replace(CONFIRMED, method="other"))
        second = await bench.delivery(signal_id)
        assert second.delivered_at == moment
        assert (second.session_id, second.delivery_method) == (two, "other")
        assert second.confirmed_at == bench.clock.now()

    @scenario("S31")
    async def test_rearm_makes_what_was_postponed_due(self, bench: StoreBench) -> None:
        donna, other = new_session_id(), new_session_id()
        postponed = replace(FREED, retry_after=LATER)
        mine = (await bench.send(sessions={"donna": donna})).signal.signal_id
        await bench.store.settle((await bench.lease(donna))[0], postponed)
        theirs = (await bench.send(sessions={"donna": other})).signal.signal_id
        await bench.store.settle((await bench.lease(other, others=[donna]))[0], postponed)
        assert await bench.store.rearm(SCOPE, "texi", donna) == 0
        assert not await bench.lease(donna)
        assert await bench.store.rearm(SCOPE, "donna", donna) == 1
        assert ids(await bench.lease(donna)) == [mine]
        assert await bench.store.rearm(SCOPE, "donna", donna) == 0
        bench.advance(LATER.total_seconds() + 1)
        assert theirs in ids(await bench.lease(other))

    @scenario("S31")
    async def test_rearm_reaches_what_was_taken_over_from_an_ended_session(
        self, bench: StoreBench
    ) -> None:
        donna = new_session_id()
        signal_id = (await bench.send(sessions={"donna": new_session_id()})).signal.signal_id
        await bench.store.settle((await bench.lease(donna))[0], replace(FREED, retry_after=LATER))
        assert await bench.store.rearm(SCOPE, "donna", donna) == 1
        assert ids(await bench.lease(donna)) == [signal_id]


__all__ = ["StoreLeasing"]
