"""The delivery machine: a table of single decisions, then Hypothesis over whole histories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from prism_signals import (
    CONFIRMED,
    HANDED_OVER,
    Delivery,
    DeliveryOutcome,
    DeliveryState,
    Lease,
    LeaseToken,
    SessionId,
    Settlement,
    Signal,
    deferred,
    new_signal_id,
    refused,
    unknown,
)
from prism_signals.engine.machine import DeliveryMachine, Look, Offer, Rearm, Rest, Settle, Step

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUSH, OTHER, WAKER = Step("push"), Step("other"), Step("waker", wakes=True)
FLOOR = Step("floor", push=False)


def a_lease(*, attempts: int = 0, wakes: bool = True) -> Lease:
    sid = new_signal_id()
    session = SessionId("00000000-0000-0000-0000-0000000000aa")
    signal = Signal(sid, "default", "P", "Lola", session, "Donna", "inform", {}, NOW, sid)
    delivery = Delivery(sid, "donna", "Donna", DeliveryState.LEASED, attempts=attempts, wakes=wakes)
    return Lease(signal, delivery, LeaseToken(f"t-{sid}"), redelivered=False)


def offered(machine: DeliveryMachine, lease: Lease) -> Offer:
    assert isinstance(machine.next(NOW), Look)
    machine.leased(lease, NOW)
    command = machine.next(NOW)
    assert isinstance(command, Offer)
    return command


def settlement(
    steps: list[Step], outcome: DeliveryOutcome, lease: Lease, *, bug: bool = False
) -> Settlement:
    machine = DeliveryMachine(steps)
    offered(machine, lease)
    machine.answered(outcome, NOW, bug=bug)
    command = machine.next(NOW)
    assert isinstance(command, Settle)
    assert command.lease is lease
    return command.settlement


@pytest.mark.parametrize(
    ("outcome", "state", "confirmed", "shown", "counts"),
    [
        (CONFIRMED, DeliveryState.DELIVERED, True, True, False),
        (HANDED_OVER, DeliveryState.DELIVERED, False, True, False),
        (deferred("busy"), DeliveryState.PENDING, False, False, False),
        (unknown("cut"), DeliveryState.PENDING, False, True, True),
        (refused("no"), DeliveryState.DEAD, False, False, False),
    ],
)
def test_each_outcome_settles_as_the_design_says(
    outcome: DeliveryOutcome, state: DeliveryState, confirmed: bool, shown: bool, counts: bool
) -> None:
    s = settlement([PUSH], outcome, a_lease())
    assert (s.state, s.confirmed, s.shown, s.counts) == (state, confirmed, shown, counts)
    assert s.method == ("push" if state is DeliveryState.DELIVERED else None)


def test_refused_goes_to_the_next_strategy_and_then_waits_for_the_floor() -> None:
    machine = DeliveryMachine([PUSH, OTHER, FLOOR])
    lease = a_lease()
    assert offered(machine, lease).strategy == "push"
    machine.answered(refused("too long"), NOW)
    second = machine.next(NOW)
    assert isinstance(second, Offer)
    assert second.strategy == "other"
    machine.answered(refused("too long"), NOW)
    end = machine.next(NOW)
    assert isinstance(end, Settle)
    assert end.settlement.state is DeliveryState.PENDING
    machine.settled()
    look = machine.next(NOW)
    assert isinstance(look, Look)
    assert lease.signal.signal_id in look.exclude  # never pushed to it again


def test_the_last_attempt_without_a_floor_is_the_end() -> None:
    assert settlement([PUSH], unknown(), a_lease(attempts=7)).state is DeliveryState.DEAD
    assert settlement([PUSH, FLOOR], unknown(), a_lease(attempts=7)).state is DeliveryState.PENDING


def test_waits_between_unknown_ends_grow() -> None:
    waits = [
        settlement([PUSH, FLOOR], unknown(), a_lease(attempts=n)).retry_after for n in range(5)
    ]
    assert all(w is not None for w in waits)
    assert waits == sorted(set(waits), key=lambda w: w or timedelta())


def test_a_strategy_states_its_own_waits() -> None:
    step = Step("hook", retries=(timedelta(seconds=5), timedelta(minutes=5)))
    assert settlement([step, FLOOR], unknown(), a_lease()).retry_after == timedelta(seconds=5)
    late = settlement([step, FLOOR], unknown(), a_lease(attempts=6))
    assert late.retry_after == timedelta(minutes=5)


def test_deferred_holds_the_path_until_ready_says_otherwise() -> None:
    machine = DeliveryMachine([PUSH])
    offered(machine, a_lease())
    machine.answered(deferred("busy", after=timedelta(minutes=1)), NOW)
    machine.settled()
    assert machine.next(NOW) == Rest(NOW + timedelta(minutes=1))
    machine.rang()
    assert isinstance(machine.next(NOW), Rest)  # a ring does not break the hold
    machine.ready()
    assert isinstance(machine.next(NOW), Rearm)
    machine.rearmed()
    assert isinstance(machine.next(NOW), Look)


def test_what_does_not_wake_is_pushed_by_a_waking_strategy_only_while_engaged() -> None:
    machine = DeliveryMachine([WAKER, FLOOR])
    idle = machine.next(NOW)
    assert isinstance(idle, Look)
    assert not idle.quiet
    machine.leased(None, NOW)
    machine.engaged(NOW)
    busy = machine.next(NOW)
    assert isinstance(busy, Look)
    assert busy.quiet
    machine.leased(a_lease(wakes=False), NOW)
    assert isinstance(machine.next(NOW), Offer)
    later = DeliveryMachine([WAKER])
    later.engaged(NOW)
    look = later.next(NOW + timedelta(minutes=11))
    assert isinstance(look, Look)
    assert not look.quiet


def test_a_strategy_that_can_show_without_waking_gets_everything() -> None:
    look = DeliveryMachine([PUSH]).next(NOW)
    assert isinstance(look, Look)
    assert look.quiet


def test_three_bugs_open_the_circuit_and_the_neighbour_takes_over() -> None:
    machine = DeliveryMachine([PUSH, OTHER, FLOOR])
    for _ in range(3):
        assert offered(machine, a_lease()).strategy == "push"
        machine.answered(unknown("boom"), NOW, bug=True)
        machine.next(NOW)
        machine.settled()
    assert offered(machine, a_lease()).strategy == "other"
    machine.answered(HANDED_OVER, NOW)
    machine.next(NOW)
    machine.settled()
    later = NOW + timedelta(minutes=1)
    assert isinstance(machine.next(later), Look)
    machine.leased(a_lease(), later)
    again = machine.next(later)
    assert isinstance(again, Offer)
    assert again.strategy == "push"  # half open: tried once more


def test_a_route_of_floors_never_looks() -> None:
    machine = DeliveryMachine([FLOOR])
    machine.rang()
    assert machine.next(NOW) == Rest(None)


def test_nothing_available_rests_until_something_comes_up() -> None:
    machine = DeliveryMachine([PUSH])
    machine.available("push", up=False)
    assert machine.next(NOW) == Rest(None)
    machine.available("push", up=True)
    assert isinstance(machine.next(NOW), Look)


def test_a_store_failure_pauses_whatever_happens_meanwhile() -> None:
    machine = DeliveryMachine([PUSH])
    assert isinstance(machine.next(NOW), Look)
    machine.failed(NOW, timedelta(seconds=1))
    machine.ready()
    machine.rang()
    assert machine.next(NOW) == Rest(NOW + timedelta(seconds=1))
    assert isinstance(machine.next(NOW + timedelta(seconds=1)), Rearm)


def test_a_settlement_outlives_a_store_failure() -> None:
    """Or what was shown would be shown again when its lease has run out."""
    machine = DeliveryMachine([PUSH])
    lease = a_lease()
    offered(machine, lease)
    machine.answered(CONFIRMED, NOW)
    machine.failed(NOW, timedelta(seconds=1))
    assert machine.next(NOW) == Rest(NOW + timedelta(seconds=1))
    again = machine.next(NOW + timedelta(seconds=1))
    assert isinstance(again, Settle)
    assert again.lease is lease
    assert again.settlement.confirmed


def test_a_strategy_that_comes_up_is_asked_about_what_others_refused() -> None:
    machine = DeliveryMachine([PUSH, OTHER, FLOOR])
    machine.available("other", up=False)
    lease = a_lease()
    offered(machine, lease)
    machine.answered(refused("too long"), NOW)
    machine.settled()
    look = machine.next(NOW)
    assert isinstance(look, Look)
    assert look.exclude == {lease.signal.signal_id}
    machine.available("other", up=True)
    assert machine.next(NOW) == Look(quiet=True, exclude=frozenset())


class Histories(RuleBasedStateMachine):
    """Any order of events: one lease at most, settled once, and no rest while one is held."""

    @initialize(
        route=st.lists(
            st.sampled_from([PUSH, OTHER, WAKER, FLOOR]), min_size=1, max_size=4, unique=True
        )
    )
    def begin(self, route: list[Step]) -> None:
        self.machine = DeliveryMachine(route)
        self.route = route
        self.now = self.pause = NOW
        self.held: Lease | None = None
        self.granted = 0
        self.settled = 0

    @rule(seconds=st.integers(0, 700))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(what=st.sampled_from(["rang", "ready", "engaged"]))
    def something_happens(self, what: str) -> None:
        if what == "engaged":
            self.machine.engaged(self.now)
        else:
            getattr(self.machine, what)()

    @rule(name=st.sampled_from(["push", "other", "waker"]), up=st.booleans())
    def availability(self, name: str, up: bool) -> None:
        self.machine.available(name, up=up)

    @rule(
        outcome=st.sampled_from([CONFIRMED, HANDED_OVER, deferred(), unknown(), refused("r")]),
        bug=st.booleans(),
        found=st.booleans(),
        wakes=st.booleans(),
        attempts=st.integers(0, 9),
    )
    def drive(
        self, outcome: DeliveryOutcome, bug: bool, found: bool, wakes: bool, attempts: int
    ) -> None:
        command = self.machine.next(self.now)
        assert command == self.machine.next(self.now)  # asking changes nothing
        if isinstance(command, Look):
            assert self.held is None
            if found and (wakes or command.quiet):
                self.held = a_lease(attempts=attempts, wakes=wakes)
                self.granted += 1
            self.machine.leased(self.held, self.now)
        elif isinstance(command, Offer):
            assert command.lease is self.held
            step = next(s for s in self.route if s.name == command.strategy)
            assert step.push
            self.machine.answered(unknown("bug") if bug else outcome, self.now, bug=bug)
        elif isinstance(command, Settle):
            assert command.lease is self.held
            assert command.settlement.state in (
                DeliveryState.DELIVERED,
                DeliveryState.PENDING,
                DeliveryState.DEAD,
            )
            if command.settlement.state is DeliveryState.DEAD:
                assert all(s.push for s in self.route)
            self.held = None
            self.settled += 1
            self.machine.settled()
        elif isinstance(command, Rearm):
            self.machine.rearmed()

    @precondition(lambda self: self.held is None or not isinstance(self.command(), Offer))
    @rule()
    def the_store_fails(self) -> None:
        self.machine.failed(self.now, timedelta(seconds=1))
        self.pause = self.now + timedelta(seconds=1)

    def command(self) -> object:
        return self.machine.next(self.now)

    @precondition(lambda self: self.held is not None and self.now >= self.pause)
    @rule()
    def a_held_lease_is_always_worked_on(self) -> None:
        assert isinstance(self.machine.next(self.now), (Offer, Settle))

    @invariant()
    def one_lease_at_most(self) -> None:
        if hasattr(self, "machine"):
            assert self.granted - self.settled == (self.held is not None)
            assert self.machine.lease is self.held


TestHistories = Histories.TestCase
TestHistories.settings = hypothesis_settings(
    max_examples=200, stateful_step_count=40, deadline=None
)


def test_a_poll_asks_for_just_what_could_be_pushed_now() -> None:
    machine = DeliveryMachine([WAKER, FLOOR])
    assert machine.poll(NOW) == Look(quiet=False, exclude=frozenset())
    lease = a_lease()
    offered(machine, lease)
    machine.answered(refused("too long"), NOW)
    assert isinstance(machine.next(NOW), Settle)
    machine.settled()
    machine.engaged(NOW)
    refused_before = frozenset({lease.signal.signal_id})
    assert machine.poll(NOW) == Look(quiet=True, exclude=refused_before)
    machine.failed(NOW, timedelta(seconds=1))
    assert machine.poll(NOW) is None  # it pauses
    assert DeliveryMachine([FLOOR]).poll(NOW) is None
