"""Scenarios of confirm, hand-over, ack, recall, expiry and archive: S20 to S23, S26 to S28."""

from __future__ import annotations

from datetime import timedelta

from prism_signals import (
    AckStatus,
    DeliveryState,
    Query,
    RecallStatus,
    SessionId,
    new_session_id,
    new_signal_id,
)

from .store_bench import CONFIRMED, HANDED_OVER, LEASE, SCOPE, StoreBench, StoreSuite, ids
from .suite import all_at_once, scenario

DAY = 24 * 3600.0
MONTH = timedelta(days=30)


class StoreProgress(StoreSuite):
    """What becomes of a signal outside a lease."""

    @scenario("S20")
    async def test_confirm_marks_what_was_delivered_once(self, bench: StoreBench) -> None:
        delivered = (await bench.send()).signal.signal_id
        await bench.deliver(new_session_id())
        waiting = (await bench.send()).signal.signal_id
        moment = bench.clock.now()
        every = [delivered, waiting, new_signal_id()]
        assert await bench.store.confirm(SCOPE, "texi", every) == 0
        assert await bench.store.confirm(SCOPE, "donna", every) == 1
        bench.advance(5)
        assert await bench.store.confirm(SCOPE, "donna", every) == 0
        confirmed = await bench.delivery(delivered)
        assert (confirmed.confirmed_at, confirmed.state) == (moment, DeliveryState.DELIVERED)
        assert (await bench.delivery(waiting)).confirmed_at is None
        assert await bench.store.confirm(SCOPE, "donna", []) == 0

    @scenario("S21")
    async def test_hand_over_marks_what_is_pending(self, bench: StoreBench) -> None:
        donna, texi = new_session_id(), new_session_id()
        leased = (await bench.send()).signal.signal_id
        assert ids(await bench.lease(donna)) == [leased]
        waiting = (await bench.send()).signal.signal_id
        system = (await bench.system(("Donna", texi))).signal.signal_id
        every = [leased, waiting, system]
        assert await bench.store.hand_over(SCOPE, "texi", texi, every, "read") == 0
        assert await bench.store.hand_over(SCOPE, "donna", donna, every, "read") == 1
        moment = bench.clock.now()
        bench.advance(5)
        assert await bench.store.hand_over(SCOPE, "donna", donna, every, "again") == 0
        read = await bench.delivery(waiting)
        assert (read.state, read.delivery_method) == (DeliveryState.DELIVERED, "read")
        assert (read.delivered_at, read.session_id, read.offers) == (moment, donna, 1)
        assert read.confirmed_at is None
        assert (await bench.delivery(leased)).state is DeliveryState.LEASED
        assert (await bench.delivery(system)).state is DeliveryState.PENDING

    @scenario("S22")
    async def test_ack_answers_for_each_id(self, bench: StoreBench) -> None:
        mine = [(await bench.send()).signal.signal_id for _ in range(2)]
        theirs = (await bench.send("Texi")).signal.signal_id
        over = (await bench.send(expires_in=1)).signal.signal_id
        bench.advance(2)
        await bench.store.expire()
        moment = bench.clock.now()
        wanted = [mine[0].upper(), theirs, new_signal_id(), "no id", over, mine[0]]
        assert await bench.ack("Donna", *wanted) == [
            AckStatus.ACKED,
            AckStatus.NOT_YOURS,
            AckStatus.UNKNOWN,
            AckStatus.UNKNOWN,
            AckStatus.ENDED,
            AckStatus.ALREADY_ACKED,
        ]
        bench.advance(5)
        assert await bench.ack("Donna", mine[0]) == [AckStatus.ALREADY_ACKED]
        acked = await bench.delivery(mine[0])
        assert (acked.state, acked.acked_at) == (DeliveryState.ACKED, moment)
        assert (await bench.delivery(theirs, "Texi")).state is DeliveryState.PENDING
        assert (await bench.delivery(over)).state is DeliveryState.EXPIRED
        assert ids(await bench.lease(new_session_id())) == [mine[1]]

    @scenario("S22")
    async def test_ack_wins_over_a_running_lease(self, bench: StoreBench) -> None:
        signal_id = (await bench.send()).signal.signal_id
        lease = (await bench.lease(new_session_id()))[0]
        assert await bench.ack("Donna", signal_id) == [AckStatus.ACKED]
        acked = await bench.delivery(signal_id)
        assert (acked.lease_token, acked.lease_until) == (None, None)
        assert not await bench.store.settle(lease, HANDED_OVER)
        assert not await bench.store.extend(lease, LEASE)
        assert await bench.delivery(signal_id) == acked, "acked is final"

    @scenario("S22")
    async def test_acks_at_the_same_moment_count_once(self, bench: StoreBench) -> None:
        signal_id = (await bench.send()).signal.signal_id

        async def one() -> AckStatus:
            return (await bench.ack("Donna", signal_id))[0]

        answers = await all_at_once(*[one] * 6)
        assert sorted(answers) == [AckStatus.ACKED] + [AckStatus.ALREADY_ACKED] * 5

    @scenario("S23")
    async def test_recall_takes_back_what_nobody_has(self, bench: StoreBench) -> None:
        signal_id = (await bench.send()).signal.signal_id
        assert await _recall(bench, signal_id, "texi") is RecallStatus.NOT_YOURS
        assert await _recall(bench, new_signal_id()) is RecallStatus.UNKNOWN
        assert await _recall(bench, "no id") is RecallStatus.UNKNOWN
        assert (await bench.delivery(signal_id)).state is DeliveryState.PENDING
        done = await bench.store.recall(SCOPE, "lola", signal_id)
        assert done.status is RecallStatus.RECALLED
        assert [d.state for d in done.deliveries] == [DeliveryState.RECALLED]
        assert await _recall(bench, signal_id) is RecallStatus.RECALLED
        assert not await bench.verb(new_session_id())
        assert await bench.ack("Donna", signal_id) == [AckStatus.ENDED]
        assert await bench.unread() == []

    @scenario("S23")
    async def test_recall_comes_too_late_for_what_is_being_shown(self, bench: StoreBench) -> None:
        donna = new_session_id()
        signal_id = (await bench.send()).signal.signal_id
        lease = (await bench.lease(donna))[0]
        assert await _recall(bench, signal_id) is RecallStatus.IN_FLIGHT
        assert await bench.store.settle(lease, HANDED_OVER)
        assert await _recall(bench, signal_id) is RecallStatus.TOO_LATE
        assert (await bench.delivery(signal_id)).state is DeliveryState.DELIVERED
        await bench.ack("Donna", signal_id)
        assert await _recall(bench, signal_id) is RecallStatus.TOO_LATE

    @scenario("S23")
    async def test_a_broadcast_is_recalled_in_part(self, bench: StoreBench) -> None:
        await bench.seen("Donna", "Texi")
        signal_id = (await bench.send("*")).signal.signal_id
        await bench.deliver(new_session_id())
        assert await _recall(bench, signal_id) is RecallStatus.PARTLY
        assert (await bench.delivery(signal_id)).state is DeliveryState.DELIVERED
        assert (await bench.delivery(signal_id, "Texi")).state is DeliveryState.RECALLED

    @scenario("S26")
    async def test_expire_ends_what_is_past_its_time(self, bench: StoreBench) -> None:
        donna = new_session_id()
        shown = (await bench.send(expires_in=60)).signal.signal_id
        await bench.deliver(donna)
        due = [(await bench.send(expires_in=60)).signal.signal_id for _ in range(3)]
        lasting = (await bench.send()).signal.signal_id
        longer = (await bench.send(expires_in=3600)).signal.signal_id
        bench.advance(59)
        assert (await bench.store.expire()).expired == 0
        bench.advance(2)
        assert await bench.unread() == [shown, lasting, longer]
        assert await bench.store.hand_over(SCOPE, "donna", donna, due, "read") == 0
        assert (await bench.store.counts(SCOPE, "donna")).pending == 2
        assert (await bench.store.expire(2)).expired == 2
        assert (await bench.store.expire()).expired == 1
        assert (await bench.store.expire()).expired == 0
        assert [(await bench.delivery(s)).state for s in due] == [DeliveryState.EXPIRED] * 3
        assert (await bench.delivery(shown)).state is DeliveryState.DELIVERED
        assert ids(await bench.verb(donna)) == [lasting, longer]

    @scenario("S26")
    async def test_a_running_lease_ends_before_its_delivery_expires(
        self, bench: StoreBench
    ) -> None:
        signal_id = (await bench.send(expires_in=5)).signal.signal_id
        lease = (await bench.lease(new_session_id()))[0]
        bench.advance(10)
        assert (await bench.store.expire()).expired == 0
        assert await bench.store.extend(lease, LEASE)
        bench.advance(LEASE.total_seconds() + 1)
        assert not await bench.verb(new_session_id())
        assert (await bench.store.expire()).expired == 1
        assert (await bench.delivery(signal_id)).state is DeliveryState.EXPIRED
        assert not await bench.store.settle(lease, HANDED_OVER)

    @scenario("S27")
    async def test_old_finished_signals_are_archived(self, bench: StoreBench) -> None:
        donna = new_session_id()
        acked, delivered, late, waiting = [(await bench.send()).signal for _ in range(4)]
        for signal in (acked, delivered):
            await bench.store.hand_over(SCOPE, "donna", donna, [signal.signal_id], "read")
        await bench.ack("Donna", acked.signal_id)
        bench.advance(29 * DAY)
        await bench.store.hand_over(SCOPE, "donna", donna, [late.signal_id], "read")
        assert (await bench.store.archive(MONTH)).archived == 0
        bench.advance(2 * DAY)
        assert (await bench.store.archive(MONTH, 1)).archived == 1
        assert (await bench.store.archive(MONTH)).archived == 1
        assert (await bench.store.archive(MONTH)).archived == 0
        hot = await bench.store.read(Query(SCOPE, recipient="donna"))
        assert [e.signal.signal_id for e in hot.entries] == [late.signal_id, waiting.signal_id]

    @scenario("S27")
    async def test_the_archive_stays_readable(self, bench: StoreBench) -> None:
        donna = new_session_id()
        root = (await bench.send()).signal
        await bench.deliver(donna, how=CONFIRMED)
        before = await bench.entry(root.signal_id)
        bench.advance(31 * DAY)
        assert (await bench.store.archive(MONTH)).archived == 1
        assert await bench.entry(root.signal_id) == before
        reply = (await bench.send("Donna", "Lola", reply_to=root)).signal
        thread = await bench.store.thread(SCOPE, root.thread_id)
        assert [e.signal.signal_id for e in thread] == [root.signal_id, reply.signal_id]
        assert await _history(bench, archived=False) == [reply.signal_id]
        assert await _history(bench, archived=True) == [reply.signal_id, root.signal_id]
        assert ids(await bench.lease(new_session_id())) == [reply.signal_id]
        assert await bench.ack("Donna", root.signal_id) == [AckStatus.ACKED]
        assert await bench.ack("Donna", root.signal_id) == [AckStatus.ALREADY_ACKED]
        assert (await bench.delivery(root.signal_id)).state is DeliveryState.ACKED

    @scenario("S28")
    async def test_the_signal_mirrors_its_deliveries(self, bench: StoreBench) -> None:
        await bench.seen("Donna", "Texi", "Max")
        sessions = {who: new_session_id() for who in ("Donna", "Texi")}
        signal_id = (await bench.send("*")).signal.signal_id
        for who, method in (("Donna", "one"), ("Texi", "two")):
            assert (await bench.entry(signal_id)).signal.delivered_at is None
            await _read(bench, who, sessions[who], signal_id, method)
            bench.advance(5)
        assert (await bench.entry(signal_id)).signal.delivered_at is None, "Max has not got it"
        await bench.store.recall(SCOPE, "lola", signal_id)
        whole = (await bench.entry(signal_id)).signal
        assert whole.delivered_at is not None
        assert whole.delivery_method == "mixed"

    @scenario("S28")
    async def test_one_method_is_told_by_name(self, bench: StoreBench) -> None:
        signal_id = (await bench.send()).signal.signal_id
        assert (await bench.entry(signal_id)).signal.delivered_at is None
        await _read(bench, "Donna", new_session_id(), signal_id, "read")
        moment = bench.clock.now()
        signal = (await bench.entry(signal_id)).signal
        assert (signal.delivered_at, signal.delivery_method) == (moment, "read")
        recalled = (await bench.send()).signal.signal_id
        await bench.store.recall(SCOPE, "lola", recalled)
        assert (await bench.entry(recalled)).signal.delivered_at is None


async def _recall(bench: StoreBench, signal_id: str, sender: str = "lola") -> RecallStatus:
    return (await bench.store.recall(SCOPE, sender, signal_id)).status


async def _read(
    bench: StoreBench, who: str, session: SessionId, signal_id: str, method: str
) -> None:
    sid = (await bench.entry(signal_id)).signal.signal_id
    done = await bench.store.hand_over(SCOPE, who.lower(), session, [sid], method)
    assert done == 1, f"{who} could not be handed {signal_id}"


async def _history(bench: StoreBench, *, archived: bool) -> list[str]:
    page = await bench.store.history(Query(SCOPE, archived=archived))
    return [e.signal.signal_id for e in page.entries]


__all__ = ["StoreProgress"]
