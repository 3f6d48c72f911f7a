"""The life of one delivery: each transition by table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prism_signals import (
    ENDED_STATES,
    Claim,
    Delivery,
    DeliveryState,
    Lane,
    LeaseToken,
    SessionId,
    Settlement,
    Signal,
    SignalId,
)
from prism_signals.engine import lifecycle

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
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
TOKEN = LeaseToken("token")
CLAIM = Claim(SIGNAL.scope, "donna", ME, others=(OTHER,))
VERB = replace(CLAIM, push=False)

S = DeliveryState
PENDING = Delivery(SIGNAL.signal_id, "donna", "Donna", expects_action=True)
LEASED = replace(
    PENDING, state=S.LEASED, lease_token=TOKEN, lease_until=NOW + MINUTE, session_id=ME
)
DELIVERED = replace(
    PENDING, state=S.DELIVERED, session_id=GONE, delivered_at=NOW, delivery_method="one", offers=1
)
LEASED_AGAIN = replace(DELIVERED, state=S.LEASED, lease_token=TOKEN, lease_until=NOW + MINUTE)
ENDED = [replace(DELIVERED, state=state) for state in sorted(ENDED_STATES)]
EVERY = [PENDING, LEASED, DELIVERED, LEASED_AGAIN, *ENDED]


Transition = Callable[[Delivery], Delivery | None]
TRANSITIONS: dict[str, tuple[Transition, list[Delivery]]] = {
    "leased": (lambda d: lifecycle.leased(d, TOKEN, NOW + MINUTE, ME), [PENDING, DELIVERED]),
    "extended": (
        lambda d: lifecycle.extended(d, TOKEN, NOW + 2 * MINUTE, NOW),
        [LEASED, LEASED_AGAIN],
    ),
    "settled": (
        lambda d: lifecycle.settled(d, Settlement(S.PENDING), TOKEN, ME, NOW),
        [LEASED, LEASED_AGAIN],
    ),
    "handed_over": (lambda d: lifecycle.handed_over(d, None, ME, "read", NOW), [PENDING]),
    "confirmed": (lambda d: lifecycle.confirmed(d, NOW), [DELIVERED, LEASED_AGAIN]),
    "acked": (lambda d: lifecycle.acked(d, NOW), [PENDING, LEASED, DELIVERED, LEASED_AGAIN]),
    "recalled": (lifecycle.recalled, [PENDING]),
    "expired": (lambda d: lifecycle.expired(d, NOW, NOW), [PENDING]),
    "superseded": (lifecycle.superseded, [PENDING]),
    "given_up": (lambda d: lifecycle.given_up(replace(d, offers=3), [ME]), [DELIVERED]),
}


@pytest.mark.parametrize("name", TRANSITIONS)
@pytest.mark.parametrize("before", EVERY, ids=lambda d: f"{d.state}-{d.lease_token}")
def test_a_transition_applies_where_it_is_said_to(name: str, before: Delivery) -> None:
    transition, applies_to = TRANSITIONS[name]
    assert (transition(before) is not None) is (before in applies_to)


@pytest.mark.parametrize(
    ("before", "settlement", "expected"),
    [
        (
            LEASED,
            Settlement(S.DELIVERED, "new"),
            {
                "state": S.DELIVERED,
                "delivered_at": NOW,
                "delivery_method": "new",
                "offers": 1,
                "session_id": ME,
                "confirmed_at": None,
                "attempts": 0,
            },
        ),
        (
            LEASED,
            Settlement(S.DELIVERED, "new", confirmed=True, shown=True),
            {
                "state": S.DELIVERED,
                "confirmed_at": NOW,
                "offers": 1,
            },
        ),
        (
            LEASED,
            Settlement(S.PENDING, retry_after=MINUTE, error="busy"),
            {
                "state": S.PENDING,
                "next_attempt_at": NOW + MINUTE,
                "offers": 0,
                "attempts": 0,
                "last_error": "busy",
                "delivered_at": None,
            },
        ),
        (
            LEASED,
            Settlement(S.PENDING, shown=True, counts=True),
            {
                "state": S.PENDING,
                "offers": 1,
                "attempts": 1,
                "next_attempt_at": None,
            },
        ),
        (LEASED, Settlement(S.DEAD, error="refused"), {"state": S.DEAD, "last_error": "refused"}),
        (
            LEASED_AGAIN,
            Settlement(S.PENDING, retry_after=MINUTE),
            {
                "state": S.DELIVERED,
                "next_attempt_at": NOW + MINUTE,
                "session_id": GONE,
                "offers": 1,
            },
        ),
        (
            LEASED_AGAIN,
            Settlement(S.DELIVERED, "new", shown=True),
            {
                "state": S.DELIVERED,
                "session_id": ME,
                "delivery_method": "new",
                "delivered_at": NOW,
                "offers": 2,
            },
        ),
    ],
)
def test_settlements(before: Delivery, settlement: Settlement, expected: dict[str, object]) -> None:
    after = lifecycle.settled(before, settlement, TOKEN, ME, NOW)
    assert after is not None
    assert {k: getattr(after, k) for k in expected} == expected
    assert (after.lease_token, after.lease_until) == (None, None)


@pytest.mark.parametrize("before", [LEASED, LEASED_AGAIN])
@pytest.mark.parametrize(
    ("token", "later"),
    [
        (LeaseToken("other"), timedelta(0)),
        (TOKEN, MINUTE),
        (TOKEN, 2 * MINUTE),
    ],
)
def test_late_and_forged_settlements_do_not_apply(
    before: Delivery, token: LeaseToken, later: timedelta
) -> None:
    settlement = Settlement(S.DELIVERED, "late")
    assert lifecycle.settled(before, settlement, token, ME, NOW + later) is None
    assert lifecycle.extended(before, token, NOW + MINUTE * 9, NOW + later) is None


@pytest.mark.parametrize(
    ("before", "state"),
    [
        (LEASED, S.PENDING),
        (LEASED_AGAIN, S.DELIVERED),
    ],
)
def test_a_lease_that_ran_out_ended_unknown(before: Delivery, state: DeliveryState) -> None:
    assert lifecycle.lapsed(before, NOW + MINUTE - SECOND) is before
    after = lifecycle.lapsed(before, NOW + MINUTE)
    assert after.state is state
    assert (after.offers, after.attempts) == (before.offers + 1, before.attempts + 1)
    assert (after.lease_token, after.lease_until) == (None, None)
    assert lifecycle.lapsed(after, NOW + MINUTE) is after


CLAIMS: dict[str, tuple[Delivery, Claim, bool]] = {
    "pending": (PENDING, CLAIM, True),
    "mine": (replace(PENDING, session_id=ME), CLAIM, True),
    "another's": (replace(PENDING, session_id=OTHER), CLAIM, False),
    "another's, by a verb": (replace(PENDING, session_id=OTHER), VERB, True),
    "of one that ended": (replace(PENDING, session_id=GONE), CLAIM, True),
    "not due": (replace(PENDING, next_attempt_at=NOW + SECOND), CLAIM, False),
    "not due, by a verb": (replace(PENDING, next_attempt_at=NOW + SECOND), VERB, True),
    "due": (replace(PENDING, next_attempt_at=NOW), CLAIM, True),
    "tried too often": (replace(PENDING, attempts=8), CLAIM, False),
    "tried too often, by a verb": (replace(PENDING, attempts=8), VERB, True),
    "without limit": (replace(PENDING, attempts=8), replace(CLAIM, max_attempts=None), True),
    "quiet": (replace(PENDING, wakes=False), CLAIM, True),
    "no quiet ones": (replace(PENDING, wakes=False), replace(CLAIM, quiet=False), False),
    "too old": (PENDING, replace(CLAIM, created_after=NOW + SECOND), False),
    "new enough": (PENDING, replace(CLAIM, created_after=NOW), True),
    "excluded": (PENDING, replace(VERB, exclude=(SIGNAL.signal_id,)), False),
    "for this session": (replace(PENDING, to_session=ME), VERB, True),
    "for another session": (replace(PENDING, to_session=OTHER), VERB, False),
    "leased": (LEASED, VERB, False),
    "unacted": (DELIVERED, CLAIM, True),
    "unacted, of a living one": (replace(DELIVERED, session_id=OTHER), VERB, False),
    "unacted, my own": (replace(DELIVERED, session_id=ME), VERB, False),
    "unacted thrice": (replace(DELIVERED, offers=3), CLAIM, False),
    "no act expected": (replace(DELIVERED, expects_action=False), VERB, False),
    "handed over": (
        replace(DELIVERED, expects_action=False),
        replace(VERB, reoffer_after=timedelta(0)),
        True,
    ),
    "handed over, my own": (
        replace(DELIVERED, session_id=ME),
        replace(VERB, reoffer_after=timedelta(0)),
        True,
    ),
    "handed over lately": (
        replace(DELIVERED, session_id=ME),
        replace(VERB, reoffer_after=SECOND),
        False,
    ),
    "handed over twice": (
        replace(DELIVERED, session_id=ME, offers=2),
        replace(VERB, reoffer_after=timedelta(0)),
        False,
    ),
    "confirmed": (
        replace(DELIVERED, session_id=ME, confirmed_at=NOW),
        replace(VERB, reoffer_after=timedelta(0)),
        False,
    ),
    **{f"{d.state}": (d, replace(VERB, reoffer_after=timedelta(0)), False) for d in ENDED},
}


@pytest.mark.parametrize("case", CLAIMS)
def test_what_a_claim_may_lease(case: str) -> None:
    d, claim, expected = CLAIMS[case]
    assert lifecycle.claimable(d, SIGNAL, None, claim, NOW) is expected
    assert not lifecycle.claimable(d, SIGNAL, NOW, claim, NOW), "nothing past its time"


def test_push_never_leases_the_system_lane() -> None:
    system = replace(SIGNAL, lane=Lane.SYSTEM)
    assert not lifecycle.claimable(PENDING, system, None, CLAIM, NOW)
    assert lifecycle.claimable(PENDING, system, None, VERB, NOW)


def test_only_unseen_deliveries_expire_or_stop_being_unread() -> None:
    assert lifecycle.unread(PENDING, NOW + SECOND, NOW)
    assert not lifecycle.unread(PENDING, NOW, NOW)
    assert lifecycle.unread(DELIVERED, NOW, NOW)
    assert lifecycle.expired(PENDING, NOW + SECOND, NOW) is None


def test_given_up_waits_for_the_third_session_to_end() -> None:
    third = replace(DELIVERED, offers=3)
    assert lifecycle.given_up(third, [GONE]) is None
    assert lifecycle.given_up(replace(third, offers=2), [ME]) is None
    assert lifecycle.given_up(replace(third, expects_action=False), [ME]) is None
    dead = lifecycle.given_up(third, [ME])
    assert dead is not None
    assert (dead.state, dead.last_error) == (S.DEAD, "unacted")


def test_the_signal_mirrors_its_deliveries() -> None:
    two = replace(DELIVERED, delivered_at=NOW + SECOND, delivery_method="two")
    expired = replace(PENDING, state=S.EXPIRED)
    cases: list[tuple[list[Delivery], datetime | None, str | None]] = [
        ([], None, None),
        ([PENDING], None, None),
        ([DELIVERED, PENDING], None, None),
        ([DELIVERED], NOW, "one"),
        ([LEASED_AGAIN], NOW, "one"),
        ([DELIVERED, expired], NOW, "one"),
        ([DELIVERED, two], NOW + SECOND, "mixed"),
        ([expired], None, None),
    ]
    for deliveries, moment, method in cases:
        signal = lifecycle.mirrored(SIGNAL, deliveries)
        assert (signal.delivered_at, signal.delivery_method) == (moment, method)
