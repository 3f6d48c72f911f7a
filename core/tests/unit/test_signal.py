"""The signal's JSON form, ids and outcomes."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_signals import (
    CONFIRMED,
    HANDED_OVER,
    DeliveryOutcome,
    InvalidInput,
    OutcomeKind,
    Priority,
    PrismSignal,
    SessionId,
    Signal,
    deferred,
    from_iso,
    iso,
    new_signal_id,
    project_uuid,
    refused,
    tenant_uuid,
    unknown,
    uuid7,
)

WIRE = {  # SPEC-034 §5.3, as it stands
    "signal_id": "11111111-2222-4333-8444-555555555555",
    "signal_type": "ReviewRequested",
    "from_identity": "Lola",
    "from_session": "77016bac-0000-4000-8000-000000000000",
    "to_identity": "Donna",
    "payload": {"spec_id": "SPEC-033"},
    "in_reply_to": None,
    "created_at": "2026-04-23T23:00:00Z",
}
SPEC_FIELDS = {
    "signal_id",
    "pid",
    "from_identity",
    "from_session",
    "to_identity",
    "signal_type",
    "payload",
    "in_reply_to",
    "created_at",
    "delivered_at",
    "delivery_method",
}


def test_the_specified_message_is_read() -> None:
    signal = Signal.from_json(json.dumps(WIRE))
    assert signal.from_identity == "Lola"
    assert signal.created_at == datetime(2026, 4, 23, 23, tzinfo=UTC)
    assert signal.thread_id == signal.signal_id


def test_what_we_write_has_the_specified_keys_and_reads_back() -> None:
    signal = Signal.from_json(json.dumps(WIRE))
    written = json.loads(signal.to_json())
    assert set(WIRE) <= set(written)
    assert Signal.from_json(signal.to_json()) == signal


def test_unknown_keys_are_ignored() -> None:
    assert Signal.from_json(json.dumps({**WIRE, "future": [1]})).signal_type == "ReviewRequested"


def test_prism_signal_offers_all_eleven_fields() -> None:
    assert {f.name for f in fields(PrismSignal)} >= SPEC_FIELDS


def test_a_signal_is_frozen() -> None:
    signal = Signal.from_json(json.dumps(WIRE))
    with pytest.raises(FrozenInstanceError):
        signal.pid = "other"  # type: ignore[misc]
    assert hash(signal)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("signal_id", "x"),
        ("signal_id", None),
        ("payload", []),
        ("payload", None),
        ("created_at", "yesterday"),
        ("created_at", None),
        ("from_session", 3),
        ("hops", -1),
        ("hops", True),
        ("priority", "loud"),
        ("lane", "fast"),
        ("in_reply_to", "x"),
        ("to_identity", None),
        ("expires_at", "x"),
    ],
)
def test_a_malformed_key_is_named(key: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=key):
        Signal.from_json(json.dumps({**WIRE, key: value}))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"x"', b"\xff"])
def test_what_is_no_signal_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidInput):
        Signal.from_json(text)


texts = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(texts, json_values, max_size=4),
    st.sampled_from(Priority),
    st.integers(0, 99),
)
def test_json_round_trip(payload: dict[str, Any], priority: Priority, hops: int) -> None:
    sid = new_signal_id()
    signal = Signal(
        sid,
        "t",
        "P",
        "L",
        SessionId(str(uuid7())),
        "D",
        "inform",
        payload,
        datetime(2026, 1, 1, 1, 2, 3, 456, tzinfo=UTC),
        sid,
        priority=priority,
        hops=hops,
    )
    assert Signal.from_json(signal.to_json()) == signal


def test_ids_are_version_7_and_ordered_in_time() -> None:
    ids = [uuid7() for _ in range(1000)]
    assert {i.version for i in ids} == {7}
    assert len(set(ids)) == 1000
    stamps = [i.int >> 80 for i in ids]
    assert stamps == sorted(stamps)


def test_scope_ids_are_stable() -> None:
    assert tenant_uuid("a") == tenant_uuid("a") != tenant_uuid("b")
    assert project_uuid("a", "p") != project_uuid("b", "p")
    assert tenant_uuid("a").version == 5


def test_moments_sort_as_text() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert iso(early) < iso(late)
    assert from_iso(iso(late)) == late
    assert from_iso("2026-01-01T01:00:00+01:00") == early
    assert from_iso("2026-01-01") == early


@pytest.mark.parametrize(
    ("outcome", "truth"),
    [
        (CONFIRMED, True),
        (HANDED_OVER, True),
        (deferred(), False),
        (unknown(), False),
        (refused("x"), False),
    ],
)
def test_truthiness_agrees_with_the_outcome(outcome: DeliveryOutcome, truth: bool) -> None:
    assert bool(outcome) is truth
    assert DeliveryOutcome.of(outcome) is outcome


def test_a_bool_is_an_outcome() -> None:
    assert DeliveryOutcome.of(True) is CONFIRMED
    assert DeliveryOutcome.of(False).kind is OutcomeKind.DEFERRED
    with pytest.raises(TypeError):
        DeliveryOutcome.of(None)  # type: ignore[arg-type]
