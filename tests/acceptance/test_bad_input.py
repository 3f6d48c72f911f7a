"""Issue A, "Bad input and faults": refused with a code and what to do, and nothing changes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client import Gateway, Refused, RpcError, Stage, World, until

FINE = {"message": "hello"}
KIBIBYTES_64 = 64 * 1024
NOTHING = str(uuid.UUID(int=0x018F << 112 | 0x7 << 76 | 0x8 << 60 | 1))


def _deep(levels: int) -> dict[str, Any]:
    payload: dict[str, Any] = {"message": "x"}
    for _ in range(levels):
        payload = {"message": "x", "inner": payload}
    return payload


NAMES = {
    "empty": "",
    "65 characters": "a" * 65,
    "double dot": "a..b",
    "leading dot": ".a",
    "trailing dot": "a.",
    "trailing newline": "Donna\n",
    "path": "../x",
    "emoji": "Donna🎉",
    "blank": "Don na",
    "look-alike": "D\u043enna",  # a Cyrillic letter
    "zero width": "Don\u200bna",
    "turned around": "Donna\u202e",
    "reserved": "system",
    "wildcard": "Don%",
}

SIGNALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown type": ("unknown_signal_type", {"signal_type": "ReviewRequest"}, "ReviewRequested"),
    "empty type": ("unknown_signal_type", {"signal_type": ""}, "Known types"),
    "system type": ("system_type_refused", {"signal_type": "PeerLeft"}, "controller"),
    "missing field": ("invalid_payload", {"payload": {"text": "hello"}}, "'message'"),
    "wrong field": ("invalid_payload", {"payload": {"message": 7}}, "'message'"),
    "array": ("invalid_payload", {"payload": ["hello"]}, "an array"),
    "string": ("invalid_payload", {"payload": "hello"}, "a string"),
    "null": ("invalid_payload", {"payload": None}, "null"),
    "deep": ("invalid_payload", {"payload": _deep(40)}, "Flatten"),
    "deeper": ("invalid_payload", {"payload": _deep(150)}, "Flatten"),
    "NaN": ("invalid_payload", {"payload": {"message": "x", "n": float("nan")}}, "'n'"),
    "infinity": ("invalid_payload", {"payload": {"message": "x", "n": float("inf")}}, "'n'"),
    "empty pid": ("foreign_project", {"pid": ""}, "project"),
    "malformed pid": ("foreign_project", {"pid": "no such\nproject"}, "project"),
    "foreign pid": ("foreign_project", {"pid": "PID-ELSEWHERE"}, "own project"),
    "reply to nothing": ("unknown_signal", {"in_reply_to": NOTHING}, "signal_id"),
    "reply to no id": ("unknown_signal", {"in_reply_to": "that one"}, "signal_id"),
    "reply to empty": ("unknown_signal", {"in_reply_to": ""}, "signal_id"),
    "priority": ("invalid_argument", {"priority": "asap"}, "urgent"),
    "expiry": ("invalid_argument", {"expires_in": -1}, "above 0"),
    "key": ("invalid_argument", {"idempotency_key": "k" * 201}, "200"),
    "forged sender": ("invalid_argument", {"from_identity": "Frank"}, "from_identity"),
}
ALSO = {"empty pid": "invalid_project", "malformed pid": "invalid_project"}
"""Where the first rule that is broken depends on whether a project is configured."""


def _refused(act: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        act()
    error = caught.value.error
    assert set(error) >= {"code", "message"}
    assert "Traceback" not in error["message"]
    assert error["message"].rstrip().endswith((".", "?", "!"))
    return caught.value


@pytest.fixture
def lola(stage: Stage) -> Gateway:
    """A sender with a session; Donna is away, so that nothing else moves in the store."""
    stage.enter("Donna").wrap()
    return stage.enter("Lola")


def _changes_nothing(stage: Stage, act: Callable[[], Refused]) -> Refused:
    before = stage.world.content()
    refused = act()
    assert stage.world.content() == before
    return refused


@pytest.mark.parametrize("case", SIGNALS)
def test_a_bad_signal(stage: Stage, lola: Gateway, case: str) -> None:
    """Unknown types, payloads that do not fit, foreign projects, replies to nothing, …."""
    code, wrong, hint = SIGNALS[case]
    arguments = {**lola.draft("Donna", "Question", FINE), **wrong}
    refused = _changes_nothing(
        stage, lambda: _refused(lambda: lola.verb("prism_signal", **arguments))
    )
    assert refused.code in {code, ALSO.get(case)}
    assert hint in refused.message


@pytest.mark.parametrize("case", NAMES)
def test_a_malformed_name(stage: Stage, lola: Gateway, case: str) -> None:
    """Empty, too long, dotted, invisible or look-alike letters: as recipient and as one's own."""
    bad = NAMES[case]
    refused = _changes_nothing(stage, lambda: _refused(lambda: lola.signal(bad, "Question", FINE)))
    assert refused.code == "invalid_name"
    refused.message.encode("ascii")  # whatever the name held, the message cannot be mistaken
    newcomer = stage.seat()
    mine = _changes_nothing(stage, lambda: _refused(lambda: newcomer.start(agent_identity=bad)))
    assert mine.code == "invalid_name"


@pytest.mark.parametrize("text", ["x", "é", "🎉"])
def test_a_payload_of_64_kib_and_one_byte(stage: Stage, lola: Gateway, text: str) -> None:
    """The limit counts bytes, not characters; exactly 64 KiB still passes."""
    width = len(text.encode())
    room = KIBIBYTES_64 - len(json.dumps({"message": ""}))
    full = text * (room // width) + "x" * (room % width)
    refused = _changes_nothing(
        stage,
        lambda: _refused(lambda: lola.signal("Donna", "Question", {"message": full + "x"})),
    )
    assert refused.code == "payload_too_large"
    assert refused.error["limit"] == KIBIBYTES_64
    assert lola.signal("Donna", "Question", {"message": full})["queued"] is True


def _answer_to_line(gateway: Gateway, line: str) -> dict[str, Any]:
    """What comes back for a line that need not be JSON: an error, with or without its id."""
    start = len(gateway.frames)
    gateway.send_text(line)
    return gateway.wait(lambda f: f.get("method") is None, "an answer", start=start)


def _line(pid: str, payload: str) -> str:
    """A call of `prism_signal` with a payload that need not be JSON."""
    call: dict[str, Any] = {"name": "prism_signal", "arguments": {"pid": pid, "to": "Donna"}}
    call["arguments"] |= {"signal_type": "Question", "payload": "HERE"}
    frame = {"jsonrpc": "2.0", "id": 777777, "method": "tools/call", "params": call}
    return json.dumps(frame).replace('"HERE"', payload)


@pytest.mark.parametrize(
    "payload",
    [
        '{"message":"x","n":NaN}',
        '{"message":"x","n":-Infinity}',
        '{"message":"x","n":1e999}',
        '{"message":"x","inner":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"message":"\\ud800"}',
        '{"message":"x"',
    ],
    ids=["NaN", "-Infinity", "1e999", "100,000 levels", "half a character", "cut off"],
)
def test_a_line_that_is_no_json(stage: Stage, lola: Gateway, payload: str) -> None:
    """What `json.dumps` of no client writes: refused, and the connection goes on."""
    before = stage.world.content()
    frame = _answer_to_line(lola, _line(stage.pid, payload))
    if "error" in frame:
        assert frame["error"]["message"]
    else:
        error = json.loads(frame["result"]["content"][0]["text"])["error"]
        assert frame["result"]["isError"] is True
        assert error["code"] == "invalid_payload"
    assert stage.world.content() == before
    assert lola.status()["identity"] == "Lola"


def test_in_reply_to_of_another_project(stage: Stage, lola: Gateway, pool: Any) -> None:
    """A signal of another project is the same as none."""
    with Stage(pool) as elsewhere:
        foreign = elsewhere.enter("Lola").tell("Donna", "elsewhere")
        refused = _changes_nothing(
            stage,
            lambda: _refused(lambda: lola.signal("Donna", "Question", FINE, in_reply_to=foreign)),
        )
        for look in (
            lambda: lola.status(signal_id=foreign),
            lambda: lola.read(signal_id=foreign),
        ):
            assert _refused(look).code == "unknown_signal"
        assert lola.recall(foreign)["status"] == "unknown"
        assert lola.ack(foreign)["results"] == [{"signal_id": foreign, "status": "unknown"}]
    assert refused.code == "unknown_signal"


def test_ack_answers_per_id(stage: Stage, lola: Gateway) -> None:
    """Not yours, not there, or no id at all: each is told so, and the rest is acked."""
    vera = stage.enter("Vera")
    mine, not_mine = vera.tell("Lola", "for Lola"), vera.tell("Donna", "for Donna")
    recalled = vera.tell("Lola", "taken back")
    vera.recall(recalled)
    answer = lola.ack(not_mine, NOTHING, "no id", mine, mine, recalled)
    assert answer["results"] == [
        {"signal_id": not_mine, "status": "not_yours"},
        {"signal_id": NOTHING, "status": "unknown"},
        {"signal_id": "no id", "status": "unknown"},
        {"signal_id": mine, "status": "acked"},
        {"signal_id": mine, "status": "already_acked"},
        {"signal_id": recalled, "status": "ended"},
    ]
    assert answer["acked"] == 1
    assert vera.track(not_mine)["state"] == "pending"


@pytest.mark.parametrize("ids", [[], "all", [7], None], ids=["none", "text", "number", "null"])
def test_ack_of_no_ids(stage: Stage, lola: Gateway, ids: object) -> None:
    """Lesson U-22: nothing acks everything; an empty list is refused too."""
    refused = _changes_nothing(
        stage, lambda: _refused(lambda: lola.verb("prism_ack_signals", signal_ids=ids))
    )
    assert refused.code == "invalid_argument"
    assert "signal_ids" in refused.message


def test_recall(stage: Stage, lola: Gateway) -> None:
    """Before delivery it is taken back; after it, and for others' signals, the answer says no."""
    donna = stage.enter("Vera", "claude_code")
    early = lola.tell("Donna", "early")
    assert lola.recall(early)["status"] == "recalled"
    shown = lola.tell("Vera", "shown")
    donna.event(shown)
    late = lola.recall(shown)
    assert late["status"] == "too_late"
    assert late["hint"]
    assert lola.track(shown)["state"] == "delivered"
    theirs = donna.tell("Donna", "theirs")
    assert lola.recall(theirs)["status"] == "not_yours"
    assert lola.recall(NOTHING)["status"] == "unknown"
    assert _refused(lambda: lola.recall("that one")).code == "invalid_argument"


@pytest.fixture(scope="module")
def nobody() -> Iterator[Gateway]:
    """A server without a configured identity, on which `prism_start` was never called."""
    with World() as world:
        gateway = world.gateway("claude_desktop")
        yield gateway


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("prism_signal", {"to": "D", "signal_type": "Question", "payload": FINE, "pid": "P"}),
        ("prism_read_signals", {"pid": "P"}),
        ("prism_ack_signals", {"signal_ids": [NOTHING], "pid": "P"}),
        ("prism_status", {"pid": "P"}),
        ("prism_recall", {"signal_id": NOTHING, "pid": "P"}),
        ("prism_start", {"pid": "P"}),
        ("prism_wrap", {}),
    ],
)
def test_a_verb_without_an_identity(nobody: Gateway, verb: str, arguments: dict[str, Any]) -> None:
    """No identity is configured and `prism_start` was not called: the answer says to call it."""
    refused = _refused(lambda: nobody.verb(verb, **arguments))
    assert refused.code == "no_identity"
    assert "prism_start" in refused.message


def test_a_session_speaks_for_one_identity(world: World) -> None:
    """Lesson U-17: another name than the configured one is refused, and so is another pid."""
    donna = world.agent("Donna", project="P")
    before = world.content()
    assert _refused(lambda: donna.start(agent_identity="Frank")).code == "identity_mismatch"
    assert _refused(lambda: donna.start(pid="Q")).code == "foreign_project"
    assert world.content() == before
    assert donna.start(agent_identity="DONNA")["context"]["identity"] == "Donna"


def test_unknown_verbs_and_arguments(stage: Stage, lola: Gateway) -> None:
    """A typing error is named, with the nearest right word."""
    with pytest.raises(RpcError, match="prism_signal"):
        lola.verb("prism_send")
    wrong = lola.draft("Donna", "Question", FINE, in_reply="x")
    refused = _changes_nothing(stage, lambda: _refused(lambda: lola.verb("prism_signal", **wrong)))
    assert refused.code == "invalid_argument"
    assert "'in_reply_to'" in refused.message
    missing = _refused(lambda: lola.verb("prism_signal", pid=stage.pid, to="Donna"))
    assert "'signal_type'" in missing.message


def test_expired_is_not_delivered(stage: Stage, lola: Gateway) -> None:
    """A signal past its time is neither shown nor counted as delivered."""
    sent = lola.signal("Donna", "Question", FINE, expires_in=0.05)["signal_id"]
    until(
        lambda: stage.world.rows(
            "SELECT 1 FROM signal_delivery WHERE signal_id = ? AND expires_at <"
            " strftime('%Y-%m-%dT%H:%M:%f', 'now')",
            sent,
        ),
        "the end of its time",
    )
    assert "pending_signals" not in stage.enter("Donna").status()
    assert lola.track(sent)["delivered_at"] is None
