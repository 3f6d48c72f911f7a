"""The life of one delivery: what holds of every sequence of calls, by Hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from prism_signals import (
    ENDED_STATES,
    Claim,
    Delivery,
    DeliveryState,
    LeaseToken,
    SessionId,
    Settlement,
    Signal,
    SignalId,
)
from prism_signals.engine import lifecycle

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SIGNAL = Signal(
    signal_id=SignalId("s"),
    tenant="default",
    pid="PID-1",
    from_identity="Lola",
    from_session=SessionId("lola"),
    to_identity="Donna",
    signal_type="Question",
    payload={},
    created_at=NOW,
    thread_id=SignalId("s"),
)
ME, OTHER, GONE = SessionId("me"), SessionId("other"), SessionId("gone")
S = DeliveryState
PENDING = Delivery(SIGNAL.signal_id, "donna", "Donna", expects_action=True)

SESSIONS = (ME, OTHER, GONE)
SETTLEMENTS = st.builds(
    Settlement,
    st.sampled_from([S.DELIVERED, S.PENDING, S.DEAD]),
    method=st.just("one"),
    confirmed=st.booleans(),
    shown=st.booleans(),
    counts=st.booleans(),
    retry_after=st.sampled_from([None, SECOND]),
)


@dataclass
class Life:
    """One delivery, led through a sequence of calls as a store makes them."""

    expires_at: datetime | None
    d: Delivery
    now: datetime = NOW
    holder: tuple[LeaseToken, SessionId] | None = None
    stale: list[LeaseToken] = field(default_factory=list)
    tokens: int = 0

    def lease(self, session: SessionId, push: bool, reoffer: bool) -> None:
        claim = Claim(
            SIGNAL.scope,
            "donna",
            session,
            push=push,
            reoffer_after=timedelta(0) if reoffer else None,
        )
        as_is = lifecycle.lapsed(self.d, self.now)
        as_is = lifecycle.given_up(as_is, [session]) or as_is
        self.become(as_is)
        if not lifecycle.claimable(as_is, SIGNAL, self.expires_at, claim, self.now):
            return
        self.tokens += 1
        token = LeaseToken(f"token-{self.tokens}")
        after = lifecycle.leased(as_is, token, self.now + 3 * SECOND, session)
        assert after is not None, "what may be leased can be leased"
        assert not lifecycle.runs(self.d, self.now), "it was leased while a lease was running"
        self.become(after)
        if self.holder:
            self.stale.append(self.holder[0])
        self.holder = (token, session)

    def settle(self, settlement: Settlement, stale: int | None) -> None:
        if stale is not None and self.stale:
            token = self.stale[stale % len(self.stale)]
            wrong = lifecycle.settled(self.d, settlement, token, ME, self.now)
            assert wrong is None, "a stale token changed something"
        elif self.holder:
            after = lifecycle.settled(self.d, settlement, *self.holder, self.now)
            if after is not None:
                assert lifecycle.settled(after, settlement, *self.holder, self.now) is None
                self.become(after)

    def apply(self, name: str, session: SessionId) -> None:
        as_is = lifecycle.lapsed(self.d, self.now)
        after = {
            "confirm": lambda: lifecycle.confirmed(as_is, self.now),
            "hand_over": lambda: lifecycle.handed_over(
                as_is, self.expires_at, session, "read", self.now
            ),
            "ack": lambda: lifecycle.acked(as_is, self.now),
            "recall": lambda: lifecycle.recalled(as_is),
            "expire": lambda: lifecycle.expired(as_is, self.expires_at, self.now),
            "rearm": lambda: lifecycle.rearmed(as_is),
        }[name]()
        self.become(after or self.d)

    def become(self, after: Delivery) -> None:
        """Take the next step, which must keep what holds of every step."""
        before, self.d = self.d, after
        if before.state in ENDED_STATES:
            assert after == before, "an end is final"
        if before.delivered_at is not None:
            assert after.delivered_at == before.delivered_at, "delivered_at moved"
        if before.confirmed_at is not None:
            assert after.confirmed_at == before.confirmed_at
        assert after.offers >= before.offers
        assert after.attempts >= before.attempts
        assert (after.lease_token is not None) is (after.state is S.LEASED)
        assert (after.lease_until is not None) is (after.state is S.LEASED)
        assert (after.acked_at is not None) is (after.state is S.ACKED)
        if after.state is S.PENDING:
            assert after.delivered_at is None, "what was delivered is not pending"
        if after.state is S.DELIVERED:
            assert after.delivered_at is not None
            assert after.session_id is not None
            assert after.offers >= 1, "what was delivered was offered"
        if after.state in (S.RECALLED, S.EXPIRED):
            assert after.delivered_at is None, "what was delivered is not taken back"

    def is_not_lost(self) -> None:
        """From here there is a way to the model, or it has been there."""
        later = self.now + 10 * SECOND
        d = lifecycle.lapsed(self.d, later)
        if d.state in ENDED_STATES or lifecycle.overdue(d, self.expires_at, later):
            return
        fresh = Claim(SIGNAL.scope, "donna", SessionId("fresh"), push=False)
        if lifecycle.given_up(d, [fresh.session_id]) is not None:
            assert d.offers >= lifecycle.MOST_OFFERS
            return
        reoffer = replace(fresh, reoffer_after=timedelta(0))
        known = d.confirmed_at is not None and not d.expects_action
        offered_twice = d.state is S.DELIVERED and d.offers >= 2
        assert (
            lifecycle.claimable(d, SIGNAL, self.expires_at, reoffer, later)
            or known
            or offered_twice
        ), "nobody can ever lease it again"


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.sampled_from(SESSIONS), st.booleans(), st.booleans()),
        st.tuples(st.just("settle"), SETTLEMENTS, st.none() | st.integers(0, 9)),
        st.tuples(st.just("advance"), st.integers(1, 5)),
        st.tuples(
            st.sampled_from(["confirm", "hand_over", "ack", "recall", "expire", "rearm"]),
            st.sampled_from(SESSIONS),
        ),
    ),
    max_size=30,
)


@given(
    steps=STEPS,
    expects_action=st.booleans(),
    ttl=st.none() | st.integers(1, 30).map(lambda n: n * SECOND),
)
def test_every_life_keeps_its_promises(
    steps: list[tuple[object, ...]], expects_action: bool, ttl: timedelta | None
) -> None:
    life = Life(NOW + ttl if ttl else None, replace(PENDING, expects_action=expects_action))
    for verb, *args in steps:
        if verb == "advance":
            life.now += SECOND * args[0]  # type: ignore[operator]
        elif verb in ("lease", "settle"):
            getattr(life, verb)(*args)
        else:
            life.apply(verb, *args)  # type: ignore[arg-type]
        life.is_not_lost()


@given(steps=STEPS)
def test_an_ack_always_wins(steps: list[tuple[object, ...]]) -> None:
    life = Life(None, PENDING)
    for verb, *args in steps:
        if verb in ("lease", "settle"):
            getattr(life, verb)(*args)
    life.apply("ack", ME)
    ended = life.d
    assert ended.state in ENDED_STATES
    for verb, *args in steps:
        if verb in ("lease", "settle"):
            getattr(life, verb)(*args)
        elif verb != "advance":
            life.apply(verb, *args)  # type: ignore[arg-type]
    assert life.d == ended
