"""`prism mcp` as a client sees it: both protocol eras, tools, answers and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_signals_gateway_mcp.verbs import INSTRUCTIONS, VERBS

from .raw_client import LEGACY, MODERN, Server, environment

TOOLS = [
    "prism_start", "prism_signal", "prism_read_signals", "prism_ack_signals", "prism_status",
    "prism_recall", "prism_wrap",
]  # fmt: skip
UNKNOWN = "0197a3c0-0000-7000-8000-000000000000"


def discover(server: Server) -> dict[str, Any]:
    server.modern = True
    answer = server.ask("server/discover")
    server.modern = False
    return answer


# -- eras -----------------------------------------------------------------------------------------


def test_a_route_with_channels_refuses_discovery_and_then_shakes_hands(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert discover(server)["error"]["code"] == -32601
        hello = server.initialize()
        assert hello["protocolVersion"] == LEGACY
        # Never the permission capability: a peer could approve tool calls.
        assert hello["capabilities"]["experimental"] == {"claude/channel": {}}
        assert hello["capabilities"]["tools"] == {"listChanged": False}
        taken = {s["strategy"]: s["state"] for s in server.call("prism_status")["route"]}
        assert taken == {"channels_push": "taken", "piggyback": "floor"}


def test_a_route_without_channels_declares_none(tmp_path: Path) -> None:
    with Server(tmp_path, AGENT_SURFACE="claude_desktop") as server:
        assert not server.initialize()["capabilities"].get("experimental")


def test_a_route_without_channels_serves_the_newest_revision_too(tmp_path: Path) -> None:
    with Server(tmp_path, AGENT_SURFACE="claude_desktop") as server:
        found = discover(server)["result"]
        assert found["supportedVersions"] == [MODERN]
        assert found["capabilities"]["tools"].get("listChanged") in (None, False)
        assert not found["capabilities"].get("experimental")
        assert found["instructions"] == INSTRUCTIONS
        server.modern = True
        listed = server.ask("tools/list")["result"]
        assert [t["name"] for t in listed["tools"]] == TOOLS
        assert listed["resultType"] == "complete"
        assert server.call("prism_status")["identity"] == "Donna"
        assert server.refused("prism_status", signal_id=UNKNOWN)["code"] == "unknown_signal"


def test_a_forced_newest_revision_promises_no_channel(tmp_path: Path) -> None:
    with Server(tmp_path, MCP_ERA="both") as server:
        assert not discover(server)["result"]["capabilities"].get("experimental")
        server.modern = True
        route = {s["strategy"]: s for s in server.call("prism_status")["route"]}
        assert route["channels_push"]["state"] == "skipped"
        assert "PRISM_MCP_ERA=legacy" in route["channels_push"]["reason"]


def test_the_handshake_can_be_forced(tmp_path: Path) -> None:
    with Server(tmp_path, AGENT_SURFACE="claude_desktop", MCP_ERA="legacy") as server:
        assert discover(server)["error"]["code"] == -32601
        assert server.initialize()["protocolVersion"] == LEGACY


# -- tools ----------------------------------------------------------------------------------------


def test_tools_are_listed_in_a_fixed_order_without_output_schemas(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.initialize()["instructions"] == INSTRUCTIONS
        tools = server.ask("tools/list")["result"]["tools"]
        assert tools == server.ask("tools/list")["result"]["tools"]
        assert [t["name"] for t in tools] == TOOLS
        assert all("outputSchema" not in t for t in tools)
        at_hand = [t["name"] for t in tools if t.get("_meta") == {"anthropic/alwaysLoad": True}]
        assert at_hand == ["prism_signal", "prism_read_signals", "prism_ack_signals"]
        text = json.dumps(tools)
        assert len(text) / 4 < 1200  # the whole list, schemas included
    descriptions = " ".join(f"{v.purpose} {' '.join(p.about for p in v.parameters)}" for v in VERBS)
    assert len(descriptions.split()) * 1.4 < 1200


def test_the_signal_verb_has_the_specified_signature(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.initialize()
        tools = {t["name"]: t["inputSchema"] for t in server.ask("tools/list")["result"]["tools"]}
        schema = tools["prism_signal"]
        assert schema["required"] == ["pid", "to", "signal_type", "payload"]  # SPEC-034 §6.1
        assert list(schema["properties"])[:5] == [*schema["required"], "in_reply_to"]


def test_instructions_name_the_read_and_the_reply_verb() -> None:
    assert {w.strip(".,;") for w in INSTRUCTIONS.split() if w.startswith("prism_")} == {
        "prism_read_signals", "prism_signal",
    }  # fmt: skip


def test_a_signal_goes_out_and_its_answer_is_one_text(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.initialize()
        sent = server.call(
            "prism_signal", pid="PID-1", to="Lola", signal_type="inform",
            payload={"content": "Grüße, 世界 🌍"},
        )  # fmt: skip
        assert sent["queued"] is True
        assert sent["delivered"] is False
        told = server.call("prism_status", signal_id=sent["signal_id"])
        assert told["signal"]["payload"] == {"content": "Grüße, 世界 🌍"}
        assert server.call("prism_recall", signal_id=sent["signal_id"])


def test_an_answer_hides_nothing_and_loses_nothing(shared: Server) -> None:
    text = "a\x9b31m \u202egnp.exe \u2028\u200b\U000e0041 \u00a0é 🌍 \x00\x7f"
    sent = shared.call(
        "prism_signal", pid="PID-1", to="Lola", signal_type="Question", payload={"message": text}
    )
    frame = shared.answer(shared.begin_tool("prism_status", signal_id=sent["signal_id"]))
    raw = frame["result"]["content"][0]["text"]
    assert shared.read(frame, is_error=False)["signal"]["payload"] == {"message": text}
    assert {c for c in raw if not c.isprintable()} == {"\u00a0"}
    assert "é 🌍" in raw


def test_a_session_that_was_wrapped_comes_back_with_start(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.initialize()
        first = server.call("prism_start")["context"]["session"]
        assert server.call("prism_start")["context"]["session"] == first
        assert server.call("prism_wrap")["released"] is True
        assert server.refused("prism_status")["code"] == "session_released"
        assert server.call("prism_start")["context"]["session"] != first


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "arguments", "code", "named"),
    [
        ("prism_signal", {"pid": "PID-1"}, "invalid_argument", "to"),
        ("prism_signal", {"pid": 5}, "invalid_argument", "pid"),
        ("prism_status", {"signalid": "x"}, "invalid_argument", "signalid"),
        ("prism_ack_signals", {"signal_ids": "a,b"}, "invalid_argument", "signal_ids"),
        ("prism_wrap", {"force": True}, "invalid_argument", "force"),
    ],
)
def test_a_wrong_argument_is_named(
    shared: Server, verb: str, arguments: dict[str, Any], code: str, named: str
) -> None:
    error = shared.refused(verb, **arguments)
    assert error["code"] == code
    assert error["argument"] == named
    assert named in error["message"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"pid": "PID-2"}, "foreign_project"),
        ({"pid": ""}, "invalid_project"),
        ({"to": ""}, "invalid_name"),
        ({"to": "a..b"}, "invalid_name"),
        ({"to": "Lola\n"}, "invalid_name"),
        ({"to": "../x"}, "invalid_name"),
        ({"to": "🌍"}, "invalid_name"),
        ({"signal_type": "Nope"}, "unknown_signal_type"),
        ({"signal_type": "PeerLeft"}, "system_type_refused"),
        ({"payload": "text"}, "invalid_payload"),
        ({"payload": {"message": 5}}, "invalid_payload"),
        ({"payload": {"message": float("nan")}}, "invalid_payload"),
        ({"payload": {"message": "x" * 65_536}}, "payload_too_large"),
        ({"in_reply_to": UNKNOWN}, "unknown_signal"),
        ({"priority": "high"}, "invalid_argument"),
        ({"expires_in": -1}, "invalid_argument"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_a_code(
    shared: Server, change: dict[str, Any], code: str
) -> None:
    good = {"pid": "PID-1", "to": "Lola", "signal_type": "Question", "payload": {"message": "?"}}
    error = shared.refused("prism_signal", **{**good, **change})
    assert error["code"] == code
    assert error["message"]


def test_an_unknown_tool_is_a_protocol_error_that_names_the_known_ones(shared: Server) -> None:
    error = shared.answer(shared.begin_tool("prism_nope\n"))["error"]
    assert error["code"] == -32602
    assert "prism_read_signals" in error["message"]


@pytest.mark.parametrize("line", ["nonsense", "[" * 5000, '{"id":"x"}', '{"jsonrpc":"2.0"}', "[]"])
def test_garbage_is_answered_and_the_server_lives(shared: Server, line: str) -> None:
    before = len(shared.frames)
    shared.send_line(line)
    shared.ask("ping")
    assert shared.frames[before]["error"]["code"] in (-32700, -32600)


def test_without_an_identity_the_answer_says_what_to_do(tmp_path: Path) -> None:
    with Server(tmp_path, AGENT_IDENTITY="") as server:
        server.initialize()
        assert "prism_start" in server.refused("prism_status")["message"]
        assert server.call("prism_start", agent_identity="Donna")["context"]["identity"] == "Donna"


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"MCP_ERA": "future"}, "PRISM_MCP_ERA"),
        ({"STORE_URL": "nosuch://x"}, "nosuch"),
        ({"STRATEGY_MAP": '{"claude_code": "nosuch"}'}, "nosuch"),
    ],
)
def test_what_cannot_work_is_said_on_standard_error(
    tmp_path: Path, variables: dict[str, Any], says: str
) -> None:
    with Server(tmp_path, **variables) as server:
        assert server.wait_for_end(15) == 6
        assert says in server.log
        assert "Traceback" not in server.log
        assert server.frames == []


@pytest.mark.parametrize(("arguments", "status"), [(("--help",), 0), (("--nope",), 2)])
def test_usage(tmp_path: Path, arguments: tuple[str, ...], status: int) -> None:
    with Server(tmp_path, arguments=arguments, listen=False) as server:
        assert server.wait_for_end(15) == status
        assert server.process.stdout is not None
        printed = server.process.stdout.read().decode() + server.log
        assert "PRISM_MCP_ERA" in printed


def test_a_probe_leaves_no_trace(tmp_path: Path) -> None:
    with Server(tmp_path, PROBE="1") as probe, Server(tmp_path, AGENT_IDENTITY="Lola") as peer:
        probe.initialize()
        probe.ask("tools/list")
        peer.initialize()
        assert [p["identity"] for p in peer.call("prism_status")["peers"]] == ["Lola"]


def test_the_raw_client_passes_no_variables_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_MASTER", "1")
    assert "PRISM_MASTER" not in environment(Path("/nowhere"), None, {})
