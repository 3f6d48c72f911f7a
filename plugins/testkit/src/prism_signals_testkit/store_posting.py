"""Scenarios of `put`: S1 to S10 and S29."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from prism_signals import (
    DeliveryState,
    IdempotencyConflict,
    InboxFull,
    Limit,
    Posted,
    Query,
    RateLimited,
    RecipientState,
    new_session_id,
)

from .harness import StoreHarness
from .store_bench import HANDED_OVER, SCOPE, StoreBench, StoreSuite, ids
from .suite import all_at_once, need, scenario

MINUTE = timedelta(minutes=1)
DAY = 24 * 3600.0

PAYLOADS: tuple[dict[str, Any], ...] = (
    {},
    {"message": ""},
    {"message": "Grüße, 你好, שלום, नमस्ते, 👩🏽‍🚀, e\u0301, \u202eabc, \ufeff, \U0010ffff"},
    {"message": "a\x00b\x1b[31m\r\n\t\u2028\x7f'\";--</script>%s{}\\"},
    {"numbers": [0, -1, 1.5, 1e300, 2**53 + 1, -0.25], "truth": [True, False, None]},
    {"deep": {"deeper": {"deepest": [[[{"x": []}]]]}}, "": "an empty key", "ключ": 1},
    {"long": "x" * 60_000},
)
"""Any JSON and any Unicode."""


class StorePosting(StoreSuite):
    """What `put` promises."""

    @scenario("S1")
    async def test_what_put_returned_is_found_at_once(self, bench: StoreBench) -> None:
        posted = await bench.send()
        signal = posted.signal
        entry = await bench.entry(signal.signal_id)
        assert entry.signal == signal
        assert [d.recipient for d in entry.deliveries] == ["donna"]
        assert entry.deliveries[0].state is DeliveryState.PENDING
        assert await bench.unread() == [signal.signal_id]
        assert signal.created_at == bench.clock.now(), "the store sets created_at"
        if bench.harness.shared:
            async with bench.harness.open(bench.clock) as other:
                assert await other.find(SCOPE, signal.signal_id) == entry

    @scenario("S1", opened=False)
    async def test_what_put_returned_outlives_a_crash(self, harness: StoreHarness) -> None:
        need(harness.durable, "durable store")
        clock = harness.clock()
        async with harness.open(clock) as store:  # still open below: nothing was closed in order
            bench = StoreBench(harness, store, clock)
            sent = [(await bench.send(payload={"message": str(n)})).signal for n in range(5)]
            donna = new_session_id()
            lease = (await bench.lease(donna, limit=1))[0]
            async with harness.reopen(clock) as again:
                after = replace(bench, store=again)
                assert [(await after.entry(s.signal_id)).signal for s in sent] == sent
                assert await again.settle(lease, HANDED_OVER), "leases outlive a crash too"
                assert ids(await after.lease(donna)) == [s.signal_id for s in sent[1:]]

    @scenario("S2")
    async def test_a_refused_put_leaves_no_trace(self, bench: StoreBench) -> None:
        limit, once = Limit("lola", 2, MINUTE), Limit("lola to donna", 1, MINUTE)
        first = await bench.send(key="k", limits=(limit, once))
        refusals = (
            (IdempotencyConflict, bench.posting(key="k", payload={}, limits=(limit,))),
            (InboxFull, bench.posting(inbox_cap=1, limits=(limit,), reply_to=first.signal)),
            (RateLimited, bench.posting(limits=(limit, once))),
        )
        for error, posting in refusals:
            with pytest.raises(error):
                await bench.store.put(posting)
            assert await bench.store.find(SCOPE, posting.signal.signal_id) is None
        page = await bench.store.history(Query(SCOPE))
        assert [e.signal.signal_id for e in page.entries] == [first.signal.signal_id]
        assert (await bench.delivery(first.signal.signal_id)).state is DeliveryState.PENDING
        await bench.send(limits=(limit,))  # the refused ones were not counted

    @scenario("S3")
    async def test_a_dotted_name_reaches_its_nearest_known_parent(self, bench: StoreBench) -> None:
        assert await _recipients(bench, "donna.critic") == ["donna.critic"]
        await bench.seen("Donna")
        assert await _recipients(bench, "donna.critic") == ["donna"]
        assert await _recipients(bench, "DONNA.critic.style") == ["donna"]
        await bench.seen("Donna.Critic")
        assert await _recipients(bench, "donna.critic") == ["donna.critic"]
        assert await _recipients(bench, "donna.critic.style") == ["donna.critic"]
        assert await _recipients(bench, "donna") == ["donna"]
        assert await _recipients(bench, "donn_") == ["donn_"], "a name is no pattern"

    @scenario("S3")
    async def test_a_direct_signal_is_assigned_to_the_session_given(
        self, bench: StoreBench
    ) -> None:
        session = new_session_id()
        posted = await bench.send("donna", sessions={"donna": session})
        assert posted.recipients[0].session_id == session
        assert (await bench.delivery(posted.signal.signal_id)).session_id == session

    @scenario("S4")
    async def test_a_broadcast_reaches_who_is_live_or_was_here_lately(
        self, bench: StoreBench
    ) -> None:
        await bench.seen("Ida")
        bench.advance(2 * DAY)
        await bench.seen("Lola", "Donna", "Texi")
        live = {"lola": new_session_id(), "donna": new_session_id(), "max": new_session_id()}
        posted = await bench.send("*", sessions=live, seen_within=timedelta(days=1))
        reached = [r.name.canonical for r in posted.recipients]
        assert reached == ["donna", "max", "texi"], "in order, never its sender, nobody twice"
        states = [d.recipient for d in (await bench.entry(posted.signal.signal_id)).deliveries]
        assert sorted(states) == reached
        everyone = await bench.send("*", seen_within=timedelta(days=3))
        assert [r.name.canonical for r in everyone.recipients] == ["donna", "ida", "texi"]

    @scenario("S4")
    async def test_a_broadcast_expires_and_may_have_no_audience(self, bench: StoreBench) -> None:
        nobody = await bench.send("*")
        assert nobody.recipients == ()
        assert (await bench.entry(nobody.signal.signal_id)).deliveries == ()
        await bench.seen("Donna")
        posted = await bench.send("*", broadcast_ttl=timedelta(hours=1))
        bench.advance(3601)
        assert not await bench.lease(new_session_id())
        await bench.store.expire()
        state = (await bench.delivery(posted.signal.signal_id)).state
        assert state is DeliveryState.EXPIRED

    @scenario("S5")
    async def test_a_system_signal_goes_to_its_sessions_only(self, bench: StoreBench) -> None:
        one, two, other = (new_session_id() for _ in range(3))
        posted = await bench.system(("Donna", one), ("Donna", two), ("Texi", other))
        signal_id = posted.signal.signal_id
        assert not await bench.verb(new_session_id())
        assert not await bench.lease(one), "no push path gets it"
        for session, who in ((one, "Donna"), (two, "Donna"), (other, "Texi")):
            assert ids(await bench.verb(session, who)) == [signal_id]

    @scenario("S5")
    async def test_system_signals_coalesce_and_are_capped(self, bench: StoreBench) -> None:
        donna, texi = new_session_id(), new_session_id()
        elsewhere = await bench.system(("Texi", texi), coalesce="peer:1")
        await bench.system(("Donna", donna), coalesce="peer:1")
        kept = [await bench.system(("Donna", donna), coalesce="peer:1")]
        kept += [await bench.system(("Donna", donna), coalesce=f"peer:{n}") for n in (2, 3)]
        waiting = await bench.unread(session_id=donna)
        assert waiting == [p.signal.signal_id for p in kept]
        last = await bench.system(("Donna", donna), system_cap=2)
        waiting = [kept[-1].signal.signal_id, last.signal.signal_id]
        assert ids(await bench.verb(donna)) == waiting, "the oldest go"
        assert ids(await bench.verb(texi, "Texi")) == [elsewhere.signal.signal_id]

    @scenario("S6")
    async def test_put_tells_what_it_knows_of_a_recipient(self, bench: StoreBench) -> None:
        await bench.seen("Donna")
        seen_at = bench.clock.now()
        bench.advance(100)
        session = new_session_id()
        live = (await bench.send("donna", sessions={"donna": session})).recipients[0]
        assert (live.state, live.session_id) == (RecipientState.LIVE, session)
        assert live.name.display == "Donna", "as its owner writes it"
        away = (await bench.send("DONNA")).recipients[0]
        assert (away.state, away.last_seen) == (RecipientState.AWAY, seen_at)
        unknown = (await bench.send("Dona")).recipients[0]
        assert (unknown.state, unknown.last_seen) == (RecipientState.UNKNOWN, None)
        assert "Donna" in unknown.near
        assert (await bench.send("Zacharias")).recipients[0].near == ()

    @scenario("S6")
    async def test_identities_are_remembered_with_when_they_were_seen(
        self, bench: StoreBench
    ) -> None:
        await bench.seen("Texi", "Donna")
        bench.advance(10)
        await bench.seen("DONNA")
        known = {n.canonical: at for n, at in await bench.store.identities(SCOPE)}
        assert set(known) == {"donna", "texi"}
        assert known["donna"] - known["texi"] == timedelta(seconds=10)

    @scenario("S7")
    async def test_a_key_used_again_gives_the_earlier_signal(self, bench: StoreBench) -> None:
        first = await bench.send(key="k")
        bench.advance(DAY - 1)
        again = await bench.send(key="k")
        assert again.duplicate
        assert not first.duplicate
        assert again.signal.signal_id == first.signal.signal_id
        assert [r.name.canonical for r in again.recipients] == ["donna"]
        assert (await bench.store.counts(SCOPE, "donna")).pending == 1
        for other in ({"payload": {"message": "else"}}, {"to": "Texi"}, {"signal_type": "query"}):
            with pytest.raises(IdempotencyConflict):
                await bench.send(key="k", **other)
        assert not (await bench.send(sender="Max", key="k")).duplicate, "a key is its sender's own"
        bench.advance(2)
        later = await bench.send(key="k")
        assert not later.duplicate
        assert later.signal.signal_id != first.signal.signal_id

    @scenario("S7")
    async def test_a_key_used_at_the_same_moment_stores_one_signal(self, bench: StoreBench) -> None:
        calls = [partial(bench.send, key="k") for _ in range(8)]
        answers: list[Posted] = await all_at_once(*calls)
        assert len({a.signal.signal_id for a in answers}) == 1
        assert sum(not a.duplicate for a in answers) == 1
        assert (await bench.store.counts(SCOPE, "donna")).pending == 1

    @scenario("S8")
    async def test_a_limit_counts_any_window_of_its_length(self, bench: StoreBench) -> None:
        limit = Limit("pair:lola:donna", 2, MINUTE)
        await bench.send(limits=(limit,), key="k")
        bench.advance(40)
        await bench.send(limits=(limit,))
        with pytest.raises(RateLimited) as refused:
            await bench.send(limits=(limit,))
        assert 19 <= refused.value.retry_after <= 21
        assert (await bench.send(limits=(limit,), key="k")).duplicate, "a repeat counts nothing"
        await bench.send(limits=(Limit("pair:lola:texi", 2, MINUTE),))
        bench.advance(refused.value.retry_after + 0.01)
        await bench.send(limits=(limit,))
        with pytest.raises(RateLimited):
            await bench.send(limits=(limit,))

    @scenario("S8")
    async def test_a_limit_holds_when_many_send_at_once(self, bench: StoreBench) -> None:
        limit = Limit("lola", 5, MINUTE)

        async def one() -> bool:
            try:
                await bench.send(limits=(limit,))
            except RateLimited:
                return False
            return True

        assert sum(await all_at_once(*[one] * 12)) == 5
        assert (await bench.store.counts(SCOPE, "donna")).pending == 5

    @scenario("S9")
    async def test_a_full_inbox_takes_no_more(self, bench: StoreBench) -> None:
        await bench.seen("Donna", "Texi")
        donna = new_session_id()
        await bench.system(("Donna", donna))
        posted = await bench.send("Donna", inbox_cap=1)
        with pytest.raises(InboxFull):
            await bench.send("Donna", inbox_cap=1)
        broadcast = await bench.send("*", inbox_cap=1)
        assert [r.name.canonical for r in broadcast.recipients] == ["texi"]
        await bench.deliver(donna)
        await bench.send("Donna", inbox_cap=1)
        assert await bench.ack("Donna", posted.signal.signal_id)

    @scenario("S10")
    async def test_a_reply_acks_what_it_answers(self, bench: StoreBench) -> None:
        asked = (await bench.send("Donna", "Lola")).signal
        other = (await bench.send("Donna", "Lola")).signal
        reply = await bench.send("Lola", "Donna", reply_to=asked, signal_type="Answer")
        assert reply.acked == (asked.signal_id,)
        acked = await bench.delivery(asked.signal_id)
        assert (acked.state, acked.acked_at) == (DeliveryState.ACKED, bench.clock.now())
        assert (await bench.delivery(other.signal_id)).state is DeliveryState.PENDING
        again = await bench.send("Lola", "Donna", reply_to=asked, signal_type="Answer")
        assert again.acked == ()
        stranger = await bench.send("Lola", "Texi", reply_to=other, signal_type="Answer")
        assert stranger.acked == ()
        assert (await bench.delivery(other.signal_id)).state is DeliveryState.PENDING

    @scenario("S10")
    async def test_a_reply_to_ones_own_signal_acks_what_came_back(self, bench: StoreBench) -> None:
        lola = new_session_id()
        asked = (await bench.send("Donna", "Lola")).signal
        answer = (await bench.send("Lola", "Donna", reply_to=asked)).signal
        await bench.deliver(lola, "Lola")
        unseen = (await bench.send("Lola", "Donna", reply_to=asked)).signal
        aside = (await bench.send("Lola", "Texi", reply_to=asked)).signal
        thanks = await bench.send("Donna", "Lola", reply_to=asked, signal_type="ack")
        assert thanks.acked == (answer.signal_id,)
        for left in (unseen, aside):
            state = (await bench.delivery(left.signal_id, "Lola")).state
            assert state is DeliveryState.PENDING

    @scenario("S29")
    async def test_payloads_come_back_as_they_were_stored(self, bench: StoreBench) -> None:
        donna = new_session_id()
        for payload in PAYLOADS:
            posted = await bench.send(payload=payload)
            assert posted.signal.payload == payload
            assert (await bench.entry(posted.signal.signal_id)).signal.payload == payload
            leases = await bench.lease(donna)
            assert [lease.signal.payload for lease in leases] == [payload]
            await bench.ack("Donna", posted.signal.signal_id)

    @scenario("S29")
    async def test_every_field_of_a_signal_comes_back(self, bench: StoreBench) -> None:
        parent = (await bench.send("Lola", "Donna")).signal
        posting = bench.posting(reply_to=parent, key="kéy", expires_in=3600)
        whole = replace(posting.signal, traceparent="00-0af7651916cd43dd8448eb211c80319c-01-00")
        posted = await bench.store.put(replace(posting, signal=whole))
        assert posted.signal == replace(whole, created_at=bench.clock.now())
        assert (await bench.entry(whole.signal_id)).signal == posted.signal


async def _recipients(bench: StoreBench, to: str) -> list[str]:
    posted = await bench.send(to)
    names = [r.name.canonical for r in posted.recipients]
    entry = await bench.entry(posted.signal.signal_id)
    assert [d.recipient for d in entry.deliveries] == names
    return names


__all__ = ["PAYLOADS", "StorePosting"]
