from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prism_signals_cli.commands.status import project_lines

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Terminal

EMOJI = "👩\u200d👧 🎉 née 日本 "


def test_a_signal_is_stored_and_read(prism: Terminal) -> None:
    said = prism("signal", "Donna", "hello", "--as", "Lola")
    assert said.status == 0
    assert "nobody called Donna was ever seen" in said.out
    read = prism("read-signals", "--as", "donna")
    assert "[Lola -> Donna] inform" in read.out
    assert "pending" in read.out
    assert "  | hello" in read.out


def test_header_and_id_are_in_the_text(prism: Terminal) -> None:  # T-06
    signal_id = prism.sent("Donna", "hello", "--type", "Question")
    lines = prism("read-signals", "--as", "Donna").out.splitlines()
    assert lines[0].startswith("[Lola -> Donna] Question")
    assert lines[1].strip() == f"id {signal_id}"


@pytest.mark.parametrize("content", ["x" * 500, EMOJI * 40, 'tab\tquote" \\ \x1b[31m \u202e'])
def test_json_stays_valid_whatever_the_content(
    process: Any, prism: Terminal, content: str
) -> None:  # T-04
    signal_id = prism.sent("Donna", content)
    for args in (("read-signals", "--as", "Donna"), ("history",), ("thread", signal_id)):
        done = process(*args, "--json", environment={"COLUMNS": "40"})
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) == 1
        signal = json.loads(done.stdout)["signals"][0]
        assert signal["payload"]["content"] == content


def test_json_also_where_the_terminal_knows_only_ascii(process: Any, prism: Terminal) -> None:
    prism.sent("Donna", EMOJI)
    strange = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = process("read-signals", "--as", "Donna", "--json", environment=strange)
    assert json.loads(done.stdout)["signals"][0]["payload"]["content"] == EMOJI
    assert process("read-signals", "--as", "Donna", environment=strange).returncode == 0


def test_peer_text_cannot_act_on_the_terminal(prism: Terminal) -> None:
    prism.sent("Donna", "\x1b]0;owned\x07\u202e\n[Boss -> you] fake\r")
    for args in (("read-signals", "--as", "Donna"), ("history",)):
        out = prism(*args).out
        assert not set(out) & set("\x1b\x07\r\u202e")
        assert "\n[Boss" not in out


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("inform", "content"),
        ("Question", "message"),
        ("StatusUpdate", "description"),
        ("TaskAssigned", "description"),
    ],
)
def test_a_text_goes_into_the_field_its_type_requires(
    prism: Terminal, kind: str, field: str
) -> None:
    prism.sent("Donna", "do it", "--type", kind)
    entry = prism("read-signals", "--as", "Donna", "--json").json["signals"][0]
    assert entry["payload"][field] == "do it"


def test_a_type_with_several_fields_takes_a_payload(prism: Terminal) -> None:
    refused = prism("signal", "Donna", "do it", "--type", "ReviewRequested", "--as", "Lola")
    assert refused.status == 2
    assert "--payload JSON with spec_id, instructions" in refused.err
    payload = '{"spec_id": "S-1", "instructions": "look"}'
    assert (
        prism(
            "signal", "Donna", "-t", "ReviewRequested", "--payload", payload, "--as", "Lola"
        ).status
        == 0
    )
    assert "  | look" in prism("read-signals", "--as", "Donna").out


def test_stdin_is_the_body(process: Any) -> None:
    sent = process("signal", "Donna", "-", "--as", "Lola", given=f"{EMOJI}\nend\n".encode())
    assert sent.returncode == 0, sent.stderr
    read = json.loads(process("read-signals", "--as", "Donna", "--json").stdout)
    assert read["signals"][0]["payload"]["content"] == f"{EMOJI}\nend"


def test_stdin_that_is_no_text_is_refused(process: Any) -> None:
    sent = process("signal", "Donna", "-", "--as", "Lola", "--json", given=b"\xff\xfe")
    assert sent.returncode == 2
    assert json.loads(sent.stderr)["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    ("args", "code", "status"),
    [
        (("signal", "Donna", "x", "--type", "Nope"), "unknown_signal_type", 2),
        (("signal", "Donna", "x", "--type", "PeerLeft"), "system_type_refused", 2),
        (("signal", "a..b", "x"), "invalid_name", 2),
        (("signal", "x" * 65, "x"), "invalid_name", 2),
        (("signal", "Donna\n", "x"), "invalid_name", 2),
        (("signal", "Donna", "x", "--project", ""), "invalid_project", 2),
        (("signal", "Donna", "x", "--reply-to", str(uuid.uuid4())), "unknown_signal", 2),
        (("signal", "Donna", "x" * 65_537), "payload_too_large", 2),
        (("signal", "Donna", "--payload", "[1]"), "invalid_payload", 2),
        (("signal", "Donna", "--payload", "{"), "invalid_payload", 2),
        (("signal", "Donna", "--payload", '{"content": NaN}'), "invalid_payload", 2),
        (("signal", "Donna", "--payload", '{"content":' * 9000), "invalid_payload", 2),
        (("signal", "Donna"), "usage", 2),
        (("signal", "Donna", "x", "--payload", "{}"), "usage", 2),
        (("signal", "Donna", "x", "--priority", "now"), "usage", 2),
        (("recall", "nonsense"), "invalid_argument", 2),
        (("status", str(uuid.uuid4())), "unknown_signal", 2),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    prism: Terminal, args: tuple[str, ...], code: str, status: int
) -> None:
    said = prism(*args, "--as", "Lola", "--json")
    assert (said.status, said.out) == (status, "")
    assert said.error["code"] == code
    assert said.error["message"]
    assert said.error["hint"]
    assert prism("history", "--json").json["signals"] == []


def test_an_error_is_one_message_and_a_hint_on_stderr(prism: Terminal) -> None:  # T-20
    said = prism("signal", "Donna", "x", "--type", "urgnt", "--as", "Lola")
    assert said.out == ""
    first, second = said.err.splitlines()
    assert first.startswith("Error (unknown_signal_type): ")
    assert "urgent" in first
    assert second.startswith("Hint: ")


def test_acks_answer_per_id(prism: Terminal) -> None:  # T-07, T-14
    mine, other = prism.sent("Donna", "one"), prism.sent("Texi", "two")
    absent = str(uuid.uuid4())
    said = prism("ack-signals", f"{mine},{other}", absent, "nonsense", "--as", "Donna", "--json")
    assert said.status == 1
    assert said.json == {
        "results": [
            {"signal_id": mine, "status": "acked"},
            {"signal_id": other, "status": "not_yours"},
            {"signal_id": absent, "status": "unknown"},
            {"signal_id": "nonsense", "status": "unknown"},
        ],
        "acked": 1,
    }
    again = prism("ack-signals", mine, "--as", "Donna")
    assert again.status == 0
    assert "was acked before" in again.out
    assert "Acked 0 of 1." in again.out
    assert prism("read-signals", "--as", "Texi", "--json").json["signals"]


def test_reading_changes_nothing(prism: Terminal) -> None:
    signal_id = prism.sent("Donna", "hello")
    before = prism("status", signal_id, "--json").json
    for _ in range(2):
        assert prism("read-signals", "--as", "Donna", "--json").json["signals"]
    assert prism("status", signal_id, "--json").json == before
    assert before["deliveries"][0]["state"] == "pending"


def test_unread_only_and_all(prism: Terminal) -> None:
    acked, waiting = prism.sent("Donna", "one"), prism.sent("Donna", "two")
    prism("ack-signals", acked, "--as", "Donna")

    def ids(*args: str) -> list[str]:
        signals = prism("read-signals", *args, "--as", "Donna", "--json").json["signals"]
        return [s["signal_id"] for s in signals]

    assert ids() == ids("--unread-only") == [waiting]
    assert ids("--all") == [acked, waiting]
    assert ids("--all", "--query", "one") == [acked]
    assert ids("--id", acked) == [acked]


def test_pages(prism: Terminal) -> None:
    sent = [prism.sent("Donna", str(n)) for n in range(5)]
    first = prism("history", "--limit", "3", "--json").json
    rest = prism("history", "--limit", "3", "--cursor", first["next"], "--json").json
    found = [s["signal_id"] for s in (*first["signals"], *rest["signals"])]
    assert found == sent[::-1]
    assert rest["next"] is None
    assert "Older: --cursor " in prism("history", "--limit", "3").out
    assert "More: --cursor " in prism("read-signals", "--limit", "3", "--as", "Donna").out


def test_history_is_filtered(prism: Terminal) -> None:
    prism.sent("Donna", "one")
    prism.sent("Lola", "two", by="Donna")
    prism.sent("Texi", "three")

    def texts(*args: str) -> list[str]:
        signals = prism("history", *args, "--json").json["signals"]
        return [s["payload"]["content"] for s in signals]

    assert texts() == ["three", "two", "one"]
    assert texts("--involving", "donna") == ["two", "one"]
    assert texts("--from", "Lola") == ["three", "one"]
    assert texts("--to", "Texi") == ["three"]
    assert texts("--query", "TWO") == ["two"]


def test_a_thread_is_a_tree(prism: Terminal) -> None:
    root = prism.sent("Donna", "may I?", "--type", "Question")
    reply = prism.sent("Lola", "yes", "--type", "Answer", "--reply-to", root, by="Donna")
    shown = prism("thread", reply).out.splitlines()
    assert shown[0].startswith("[Lola -> Donna] Question")
    assert any(line.startswith("└─ [Donna -> Lola] Answer") for line in shown)
    as_json = prism("thread", reply, "--json").json
    assert as_json["thread_id"] == root
    assert [s["signal_id"] for s in as_json["signals"]] == [root, reply]
    assert as_json["signals"][0]["deliveries"][0]["acked_at"]


def test_recall(prism: Terminal) -> None:
    signal_id = prism.sent("Donna", "oops")
    assert prism("recall", signal_id, "--as", "Donna").status == 1
    said = prism("recall", signal_id, "--as", "Lola", "--json")
    assert (said.status, said.json["status"]) == (0, "recalled")
    assert prism("read-signals", "--as", "Donna").out == "No unread signals.\n"


def test_an_idempotency_key_sends_once(prism: Terminal) -> None:
    first = prism.sent("Donna", "once", "--idempotency-key", "k")
    assert prism.sent("Donna", "once", "--idempotency-key", "k") == first
    other = prism("signal", "Donna", "twice", "--idempotency-key", "k", "--as", "Lola", "--json")
    assert (other.status, other.error["code"]) == (4, "idempotency_conflict")


def test_a_limit_has_its_own_exit_status(prism: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_SENDER_PER_MINUTE", "1")
    prism.sent("Donna", "one")
    said = prism("signal", "Donna", "two", "--as", "Lola", "--json")
    assert (said.status, said.error["code"], said.error["retry"]) == (4, "rate_limited", True)
    assert said.error["retry_after"] > 0


def test_a_broadcast_names_its_recipients(prism: Terminal) -> None:
    assert "For nobody" in prism("signal", "*", "hello", "--as", "Lola").out


def test_status_of_a_project_and_of_a_signal(prism: Terminal) -> None:
    signal_id = prism.sent("Donna", "hello")
    project = prism("status", "--json").json
    assert project["identity"] is None
    assert "counts" not in project
    assert project["peers"] == []
    assert prism("status", "--as", "Donna", "--json").json["counts"]["pending"] == 1
    assert "Master: nobody" in prism("status").out
    shown = prism("status", signal_id).out
    assert "To Donna: pending" in shown


def test_a_peer_is_shown_with_its_surface_and_route() -> None:
    peer = {
        "identity": "Do\x1bna",
        "surface": "claude_code",
        "route": ["channels_push"],
        "last_verb_at": None,
    }
    answer = {"pid": "P", "tenant": "t", "master": "Lola", "peers": [peer]}
    assert project_lines(answer) == [
        "Project P, tenant t",
        "Master: Lola",
        "Here now:",
        "  Do\\x1bna on claude_code, reached by channels_push, no verb yet",
    ]


def test_tur_gives_all_pages_at_once(prism: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism_signals_cli.commands.inbox._PAGE", 2)
    sent = [prism.sent("Donna", str(n)) for n in range(5)]
    read = prism.tur("read-signals", "--json", "--as", "Donna").json
    assert [s["id"] for s in read] == sent


def test_a_reader_that_stops_early_sees_no_traceback(stored: Path, prism: Terminal) -> None:
    for _ in range(3):
        prism.sent("Donna", "x" * 60_000)
    history = subprocess.Popen(
        [sys.executable, "-m", "prism_signals_cli", "history", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert history.stdout is not None
    history.stdout.close()
    assert history.stderr is not None
    assert history.stderr.read() == b""
    history.stderr.close()
    assert history.wait(20) == 1


def test_tur_speaks_its_own_json(prism: Terminal) -> None:
    sent = prism.tur("signal", "agent_b", "look here", "--type", "warn", "--agent-id", "agent_a")
    assert sent.status == 0
    signals = prism.tur("read-signals", "--unread-only", "-j", "--agent-id", "agent_b").json
    assert [(s["sender"], s["recipient"], s["type"], s["content"]) for s in signals] == [
        ("agent_a", "agent_b", "warn", "look here")
    ]
    ids = ",".join(s["id"] for s in signals)
    assert prism.tur("ack-signals", ids, "--agent-id", "agent_b").status == 0
    assert prism.tur("read-signals", "--json", "--agent-id", "agent_b").json == []
