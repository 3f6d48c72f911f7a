"""Signal types and payloads: what is known, what fits, and how refusals read."""

from __future__ import annotations

import math
from typing import Any

import pytest

from prism_signals import (
    InvalidPayload,
    Lane,
    PayloadTooLarge,
    Priority,
    SignalType,
    SystemTypeRefused,
    TypeRegistry,
    UnknownSignalType,
    check_payload,
    headline,
)
from prism_signals.model.builtin_types import BUILTIN_TYPES

TYPES = TypeRegistry(BUILTIN_TYPES)
GOOD: dict[str, dict[str, Any]] = {
    "ReviewRequested": {"spec_id": "S", "instructions": "look"},
    "ReviewCompleted": {"spec_id": "S", "summary": "ok", "gaps": ["a"], "recommendation": "yes"},
    "Acknowledgment": {"message": "thanks"},
    "TaskAssigned": {"description": "do", "todo_number": 3, "priority": "urgent"},
    "StatusUpdate": {"description": "done", "artifacts": ["x"]},
    "SpecStatusChanged": {"spec_id": "S", "status": "final"},
    "Question": {"message": "?"},
    "Answer": {"message": "!"},
    "Loopback": {"message": "1"},
    **{t: {"content": "c"} for t in ("inform", "query", "delegate", "ack", "warn", "urgent")},
    "MasterPreempted": {"preempted_by": "L", "new_master_session": "s"},
    "PeerJoined": {"identity": "D", "surface": "x", "session_id": "s"},
    "PeerLeft": {"identity": "D", "surface": "x", "reason": "released"},
}


def check(name: str, payload: Any, most: int = 65536) -> dict[str, Any]:
    return check_payload(TYPES.get(name), payload, max_bytes=most)


def test_every_specified_type_is_known_with_its_payload() -> None:
    assert {t.name for t in TYPES} == set(GOOD)
    for name, payload in GOOD.items():
        assert check(name, payload) == payload


@pytest.mark.parametrize("name", sorted(GOOD))
def test_each_missing_required_field_is_named(name: str) -> None:
    model = TYPES.get(name).payload
    assert model is not None
    for field, info in model.model_fields.items():
        if info.is_required():
            with pytest.raises(InvalidPayload, match=field):
                check(name, {k: v for k, v in GOOD[name].items() if k != field})
            with pytest.raises(InvalidPayload, match=field):
                check(name, {**GOOD[name], field: 7})


def test_further_fields_are_kept() -> None:
    assert check("inform", {"content": "c", "extra": {"a": [1]}})["extra"] == {"a": [1]}


@pytest.mark.parametrize("payload", [None, [], "x", 3, True, 1.5])
def test_a_payload_is_an_object(payload: Any) -> None:
    with pytest.raises(InvalidPayload, match="JSON object"):
        check("inform", payload)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, object(), {1: 2}, b"x", "\ud800"])
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(InvalidPayload):
        check("inform", {"content": "c", "bad": value})


def test_deep_nesting_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"a": deep}
    with pytest.raises(InvalidPayload, match="nested"):
        check("inform", {"content": "c", "deep": deep})


def test_the_size_limit_counts_bytes_and_is_exact() -> None:
    room = 65536 - len('{"content": ""}')
    assert check("inform", {"content": "x" * room})
    with pytest.raises(PayloadTooLarge, match="65537"):
        check("inform", {"content": "x" * (room + 1)})
    with pytest.raises(PayloadTooLarge):
        check("inform", {"content": "é" * room})


def test_an_unknown_type_lists_the_known_ones_and_the_way_to_add_one() -> None:
    with pytest.raises(UnknownSignalType) as caught:
        TYPES.get("ReviewRequest")
    assert "Did you mean ReviewRequested?" in caught.value.message
    assert "prism_signal_types" in caught.value.message
    assert "Question" in caught.value.message
    for bad in (None, 3, ["inform"]):
        with pytest.raises(UnknownSignalType):
            TYPES.get(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [t.name for t in BUILTIN_TYPES if t.lane is Lane.SYSTEM])
def test_system_types_cannot_be_sent(name: str) -> None:
    with pytest.raises(SystemTypeRefused, match="controller"):
        TYPES.sendable(name)


def test_what_escalates() -> None:
    always = {t.name for t in TYPES if t.escalates(Priority.NORMAL)}
    urgent = {t.name for t in TYPES if t.escalates(Priority.URGENT)}
    assert always == {"urgent", "delegate"}
    assert urgent == {"urgent", "delegate", "TaskAssigned"}


def test_what_expects_action() -> None:
    assert {t.name for t in TYPES if t.expects_action} == {
        "ReviewRequested",
        "TaskAssigned",
        "Question",
        "query",
        "delegate",
        "urgent",
    }


def test_acknowledgements_and_inform_never_wake() -> None:
    assert not any(TYPES.get(n).wakes for n in ("Acknowledgment", "ack", "inform"))
    assert all(t.wakes for t in TYPES if t.expects_action)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_type_has_a_headline(name: str) -> None:
    text = headline(GOOD[name])
    assert text
    assert "Unknown" not in text


def test_the_same_type_twice_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="twice"):
        TypeRegistry([SignalType("a", "b"), SignalType("a", "c")])
