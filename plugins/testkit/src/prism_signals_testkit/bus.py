"""The conformance class for buses: B1 to B8."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import anyio
import pytest

from prism_signals import (
    Bell,
    BellKind,
    Bus,
    ManualClock,
    Scope,
    SessionId,
    Signal,
    SignalId,
    new_session_id,
    new_signal_id,
)

from .harness import BusHarness
from .suite import Suite, need, scenario

SCOPE = Scope("default", "PID-KIT01")
SOON = 2.0
"""Seconds in which a ring is heard, generously, and a ring to nobody has returned."""
FLOOD = 2_000
"""More rings than any queue holds."""
GARBAGE = (
    b"",
    b"\x00",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe\xfd",
    b"{}",
    b'{"kind": "signal"}' * 9,
    b'{"kind":"no such kind","signal_id":"x"}',
    b"x" * 60_000,
    '{"тип":"сигнал"}'.encode(),
)
"""What may arrive at a bell and is none."""


@dataclass(slots=True)
class BusBench:
    """An opened bus."""

    harness: BusHarness
    bus: Bus
    clock: ManualClock

    def soon(self, times: int = 1) -> AbstractContextManager[object]:
        """A deadline for what is heard usually within milliseconds."""
        return anyio.fail_after(SOON * times * self.harness.patience)

    def bell(self, *sessions: SessionId, kind: BellKind = BellKind.SIGNAL) -> Bell:
        """A bell about a new signal."""
        return Bell(kind, SCOPE, sessions, new_signal_id())

    async def hears(
        self, bells: AsyncIterator[Bell], signal_id: SignalId | None, kind: BellKind
    ) -> None:
        """The next ring there is of this kind and about this signal."""
        with self.soon():
            bell = await anext(bells)
        assert (bell.kind, bell.signal_id) == (kind, signal_id)

    async def hears_nothing_before(self, bells: AsyncIterator[Bell], session_id: SessionId) -> None:
        """Nothing was heard yet: the next ring is the one sent now."""
        last = self.bell(session_id)
        await self.bus.ring(last)
        await self.hears(bells, last.signal_id, last.kind)


class BusSuite(Suite):
    """What the scenarios of a bus are run with."""

    @asynccontextmanager
    async def bench(self, harness: BusHarness) -> AsyncIterator[BusBench]:
        """The bus, opened."""
        clock = harness.clock()
        async with harness.open(clock) as bus:
            yield BusBench(harness, bus, clock)


class BusConformance(BusSuite):
    """Every clause of `Bus`, shown on the bus that the fixture `harness` opens.

    The harness is a `BusHarness`: a bus without listeners for each test.
    """

    @scenario("B1")
    async def test_ringing_waits_for_nobody(self, bench: BusBench) -> None:
        here, gone = new_session_id(), new_session_id()
        async with bench.bus.listen(SCOPE, gone):
            pass
        async with bench.bus.listen(SCOPE, here) as bells:
            with bench.soon():
                for sessions in ((), (gone,), (new_session_id(),), (gone, here)):
                    last = bench.bell(*sessions)
                    await bench.bus.ring(last)
            await bench.hears(bells, last.signal_id, last.kind)

    @scenario("B1", "B4")
    async def test_a_slow_listener_blocks_nobody_and_keeps_a_ring(self, bench: BusBench) -> None:
        slow = new_session_id()
        async with bench.bus.listen(SCOPE, slow) as bells:
            with bench.soon(5):
                for _ in range(FLOOD):
                    await bench.bus.ring(bench.bell(slow))
            with bench.soon():
                assert (await anext(bells)).kind is BellKind.SIGNAL
            heard = await _drain(bells)
            assert heard < FLOOD, "every queue is bounded"
            last = bench.bell(slow)
            await bench.bus.ring(last)
            await bench.hears(bells, last.signal_id, last.kind)

    @scenario("B2")
    async def test_a_listener_hears_what_it_is_told(self, bench: BusBench) -> None:
        me = new_session_id()
        async with bench.bus.listen(SCOPE, me) as bells:
            for kind in BellKind:
                bell = bench.bell(me, kind=kind)
                await bench.bus.ring(bell)
                await bench.hears(bells, bell.signal_id, kind)

    @scenario("B2")
    async def test_a_bell_may_carry_its_signal(self, bench: BusBench) -> None:
        me = new_session_id()
        sid = new_signal_id()
        signal = Signal(
            signal_id=sid,
            tenant=SCOPE.tenant,
            pid=SCOPE.pid,
            from_identity="Lola",
            from_session=new_session_id(),
            to_identity="Donna",
            signal_type="Question",
            payload={"message": "Grüße 🙂 " + "x" * 60_000},
            created_at=bench.clock.now(),
            thread_id=sid,
        )
        async with bench.bus.listen(SCOPE, me) as bells:
            await bench.bus.ring(replace(bench.bell(me), signal_id=sid, signal=signal))
            await bench.hears(bells, sid, BellKind.SIGNAL)

    @scenario("B2")
    async def test_another_process_is_heard(self, bench: BusBench) -> None:
        need(bench.harness.shared, "second handle")
        me = new_session_id()
        async with bench.harness.open(bench.clock) as other, bench.bus.listen(SCOPE, me) as bells:
            bell = bench.bell(me)
            await other.ring(bell)
            await bench.hears(bells, bell.signal_id, bell.kind)

    @scenario("B3")
    async def test_a_ring_reaches_whom_it_names(self, bench: BusBench) -> None:
        one, two, three = (new_session_id() for _ in range(3))
        async with AsyncExitStack() as stack:
            bells = {
                s: await stack.enter_async_context(bench.bus.listen(SCOPE, s))
                for s in (one, two, three)
            }
            bell = bench.bell(one, three)
            await bench.bus.ring(bell)
            for session in (one, three):
                await bench.hears(bells[session], bell.signal_id, bell.kind)
            await bench.hears_nothing_before(bells[two], two)

    @scenario("B3")
    async def test_a_broadcast_stays_in_its_project(self, bench: BusBench) -> None:
        here, there, other = (new_session_id() for _ in range(3))
        project = Scope(SCOPE.tenant, "PID-KIT02")
        tenant = Scope("other", SCOPE.pid)
        async with (
            bench.bus.listen(SCOPE, here) as bells,
            bench.bus.listen(project, there) as theirs,
            bench.bus.listen(tenant, other) as others,
        ):
            bell = replace(bench.bell(here), broadcast=True)
            await bench.bus.ring(bell)
            await bench.hears(bells, bell.signal_id, bell.kind)
            for scope, session, quiet in ((project, there, theirs), (tenant, other, others)):
                last = replace(bench.bell(session), scope=scope)
                await bench.bus.ring(last)
                await bench.hears(quiet, last.signal_id, last.kind)

    @scenario("B5")
    async def test_what_is_no_bell_is_dropped(self, bench: BusBench) -> None:
        need(bench.harness.wire, "bytes on the wire")
        me = new_session_id()
        async with bench.bus.listen(SCOPE, me) as bells:
            for data in GARBAGE:
                await bench.harness.inject(me, data)
                bell = bench.bell(me)
                await bench.bus.ring(bell)
                with bench.soon():
                    while (heard := await anext(bells)).signal_id != bell.signal_id:
                        # A bus may take bytes it cannot read for "look": that costs a look.
                        assert isinstance(heard.kind, BellKind)
                        assert heard.signal_id is None or isinstance(heard.signal_id, str)

    @scenario("B6")
    async def test_nothing_is_left_of_a_listener(self, bench: BusBench) -> None:
        before = sorted(bench.harness.leftovers())
        sessions = [new_session_id() for _ in range(3)]
        for _ in range(2):
            for session in sessions:
                async with bench.bus.listen(SCOPE, session):
                    assert sorted(bench.harness.leftovers()) != before, (
                        "leftovers() of the harness does not see an open listener"
                    )
                    await bench.bus.ring(bench.bell(session))
            assert sorted(bench.harness.leftovers()) == before

    @scenario("B6")
    async def test_nothing_is_left_of_a_listener_that_was_cancelled_or_failed(
        self, bench: BusBench
    ) -> None:
        before = sorted(bench.harness.leftovers())
        with anyio.CancelScope() as scope:
            async with bench.bus.listen(SCOPE, new_session_id()) as bells:
                scope.cancel()
                await anext(bells)
        assert scope.cancelled_caught, "cancellation was swallowed"
        with pytest.raises(LookupError):
            await _fail_while_listening(bench.bus)
        assert sorted(bench.harness.leftovers()) == before

    @scenario("B7")
    async def test_a_listener_is_ready_when_it_is_entered(self, bench: BusBench) -> None:
        me = new_session_id()
        for _ in range(10):
            async with bench.bus.listen(SCOPE, me) as bells:
                bell = bench.bell(me)
                await bench.bus.ring(bell)
                await bench.hears(bells, bell.signal_id, bell.kind)

    @scenario("B7")
    async def test_rings_before_listening_are_not_needed(self, bench: BusBench) -> None:
        me = new_session_id()
        with bench.soon():
            await bench.bus.ring(bench.bell(me))
        async with bench.bus.listen(SCOPE, me) as bells:
            await bench.hears_nothing_before(bells, me)

    @scenario("B8")
    async def test_the_poll_interval_is_positive(self, bench: BusBench) -> None:
        assert timedelta(0) < bench.bus.poll_interval <= timedelta(minutes=1)


async def _fail_while_listening(bus: Bus) -> None:
    async with bus.listen(SCOPE, new_session_id()):
        raise LookupError


async def _drain(bells: AsyncIterator[Bell]) -> int:
    """Take what is queued; gives how much it was."""
    heard = 0
    with anyio.move_on_after(0.2):
        while True:
            await anext(bells)
            heard += 1
    return heard


__all__ = ["BusConformance"]
