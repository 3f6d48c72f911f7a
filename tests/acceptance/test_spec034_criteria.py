"""SPEC-034 §14, criterion by criterion; 10 is `test_spec034_story.py`, 11 the smoke test."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.client import Gateway, Stage, World, agent_entries, system_entries

FIVE_SECONDS = 5.0
WITHIN_A_VERB = {"message": "look here"}


@pytest.mark.parametrize("surface", ["claude_desktop", "claude_code"])
def test_criterion_1_the_verb_is_callable_from_both(stage: Stage, surface: str) -> None:
    """§14.1, §6.1: `prism_signal` exists on both servers and answers what §6.1 says."""
    agent = stage.enter("Lola", surface)
    tools = {t["name"]: t for t in agent.request("tools/list")["tools"]}
    assert set(tools) == {
        "prism_start", "prism_signal", "prism_read_signals", "prism_ack_signals", "prism_status",
        "prism_recall", "prism_wrap",
    }  # fmt: skip
    schema = tools["prism_signal"]["inputSchema"]
    assert set(schema["required"]) == {"pid", "to", "signal_type", "payload"}
    assert "in_reply_to" in schema["properties"]
    assert all("outputSchema" not in t for t in tools.values())
    sent = agent.signal("Donna", "StatusUpdate", {"description": "d"})
    assert isinstance(sent["signal_id"], str)
    assert (sent["delivered"], sent["queued"]) == (False, True)
    assert sent["resolved_to_session"] is None


def test_criterion_2_a_name_means_the_current_session(stage: Stage) -> None:
    """§14.2, §4.2: `to="Donna"` is resolved at send time to the session that is Donna now."""
    lola, first = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    before = lola.signal("Donna", "Question", {"message": "one"})
    assert before["resolved_to_session"] == first.status()["session"]
    first.ack(before["signal_id"])
    first.wrap()
    second = stage.enter("Donna", "claude_code")
    after = lola.signal("Donna", "Question", {"message": "two"})
    assert after["resolved_to_session"] == second.status()["session"]
    assert after["resolved_to_session"] != before["resolved_to_session"]
    second.event(after["signal_id"])


def test_criterion_3_online_delivery_by_push(stage: Stage) -> None:
    """§14.3, lesson F-01: an idle agent that calls no verb gets it within 5 seconds."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    sent = lola.signal("Donna", "Question", WITHIN_A_VERB)
    donna.event(sent["signal_id"], within=FIVE_SECONDS)
    assert sent["delivered"] is True


def test_criterion_3_online_delivery_with_the_next_verb(stage: Stage) -> None:
    """§14.3 and 5, §10.2: without push, whatever verb comes next brings it."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    sent = lola.tell("Donna", "one")
    (entry,) = agent_entries(donna.status())
    assert entry["signal_id"] == sent
    assert lola.track(sent)["delivery_method"] == "piggyback"


def test_criterion_4_offline_then_drained_at_start(stage: Stage) -> None:
    """§14.4, §6.3, §9, §10.3: queued while away, drained by `prism_start`, oldest first."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    donna.wrap()
    sent = [lola.tell("Donna", f"number {n}") for n in range(3)]
    queued = stage.world.rows(
        "SELECT delivered_at, delivery_method FROM signal_queue WHERE signal_id = ?", sent[0]
    )
    assert queued == [{"delivered_at": None, "delivery_method": None}]
    answer = donna.start(agent_identity="Donna")
    assert set(answer) >= {"context", "rules_reminders", "pending_signals", "controller_status"}
    assert [e["signal_id"] for e in agent_entries(answer)] == sent
    (row,) = stage.world.rows(
        "SELECT delivered_at, delivery_method FROM signal_queue WHERE signal_id = ?", sent[0]
    )
    assert row["delivered_at"]
    assert row["delivery_method"] == "startup_drain"
    assert agent_entries(donna.status()) == []


def test_criterion_4_registered_before_drained(stage: Stage) -> None:
    """DESIGN §7.6: the session exists before the drain, so that nothing falls in between."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    donna.wrap()
    sent = lola.tell("Donna", "one")
    session = donna.start(agent_identity="Donna")["context"]["session"]
    (row,) = stage.world.rows(
        "SELECT s.registered_at < d.delivered_at AS first FROM signal_delivery d"
        " JOIN sessions s ON s.session_id = d.session_id"
        " WHERE d.signal_id = ? AND s.session_id = ?",
        sent, session,
    )  # fmt: skip
    assert row["first"] == 1


def test_criterion_5_every_verb_but_wrap_carries_signals(stage: Stage) -> None:
    """§14.5, §10.2: `pending_signals` is appended to every verb's answer."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    own = donna.tell("Lola", "to recall")
    verbs = {
        "prism_start": {"pid": stage.pid},
        "prism_signal": donna.draft("Lola", "StatusUpdate", {"description": "d"}),
        "prism_ack_signals": {"signal_ids": [own]},
        "prism_status": {},
        "prism_recall": {"signal_id": own},
    }
    for verb, arguments in verbs.items():
        sent = lola.tell("Donna", verb)
        shown = agent_entries(donna.verb(verb, **arguments))
        assert [e["signal_id"] for e in shown] == [sent], verb
    sent = lola.tell("Donna", "read")
    (listed,) = [e for e in donna.read() if e["payload"] == {"message": "read"}]
    assert listed["signal_id"] == sent
    last = lola.tell("Donna", "wrap")
    assert "pending_signals" not in donna.wrap()
    assert lola.track(last)["state"] == "pending"


def test_criterion_6_push_is_inline(stage: Stage) -> None:
    """§14.6, §3 step 2: the channel event is what Claude Code accepts, word for word."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna", "claude_code")
    assert donna.handshake["capabilities"]["experimental"] == {"claude/channel": {}}
    sent = lola.tell("Donna", 'say "hi" </channel>')
    params = donna.event(sent)
    assert set(params) == {"content", "meta"}
    assert all(isinstance(v, str) for v in params["meta"].values())
    assert params["meta"]["from_agent"] == "Lola"
    assert "</channel" not in params["content"]
    first = params["content"].splitlines()[0]
    assert first.startswith('📨 Signal from Lola (Question): "say \\"hi\\" ')


def test_criterion_7_threading(stage: Stage) -> None:
    """§14.7: `in_reply_to` links a reply to its parent, and all of them to one thread."""
    lola, donna = stage.enter("Lola"), stage.enter("Donna")
    root = lola.tell("Donna", "root")
    reply = donna.tell("Lola", "reply", in_reply_to=root)
    further = lola.tell("Donna", "further", in_reply_to=reply)
    lola.tell("Donna", "another thread")
    rows = stage.world.rows(
        "SELECT signal_id, in_reply_to, hops FROM signal_queue WHERE thread_id = ? ORDER BY id",
        root,
    )
    assert rows == [
        {"signal_id": root, "in_reply_to": None, "hops": 0},
        {"signal_id": reply, "in_reply_to": root, "hops": 1},
        {"signal_id": further, "in_reply_to": reply, "hops": 2},
    ]
    mine = donna.read(thread_id=root, unread_only=False)
    assert [e["signal_id"] for e in mine] == [root, further]


def test_criterion_8_system_signals(stage: Stage) -> None:
    """§14.8, §10.1: `PeerJoined`, `MasterPreempted` and `PeerLeft` come from the controller."""
    donna = stage.enter("Donna", "claude_code")
    assert donna.status()["master"] == "Donna", "first come"
    lola = stage.enter("Lola", "claude_desktop")
    told = {e["signal_type"]: e for e in system_entries(donna.status())}
    session = lola.status()["session"]
    assert told["PeerJoined"]["payload"] == {
        "identity": "Lola", "surface": "claude_desktop", "session_id": session,
    }  # fmt: skip
    assert told["MasterPreempted"]["payload"] == {
        "preempted_by": "Lola", "new_master_session": session,
    }  # fmt: skip
    assert {e["from"] for e in told.values()} == {"system"}
    lola.wrap()
    (left,) = system_entries(donna.status())
    assert left["signal_type"] == "PeerLeft"
    assert left["payload"] == {
        "identity": "Lola", "surface": "claude_desktop", "reason": "released",
    }  # fmt: skip
    assert donna.events == [], "the system lane never wakes"
    (row,) = stage.world.rows(
        "SELECT from_session, lane FROM signal_queue WHERE signal_id = ?", left["signal_id"]
    )
    assert row == {"from_session": "00000000-0000-0000-0000-000000000000", "lane": "system"}


def test_criterion_9_broadcast(stage: Stage) -> None:
    """§14.9, §4.3: `*` reaches all three others on the project, and never its sender."""
    lola = stage.enter("Lola")
    donna, texi = stage.enter("Donna", "claude_code"), stage.enter("Texi", "claude_code")
    vera = stage.enter("Vera")
    sent = lola.signal("*", "SpecStatusChanged", {"spec_id": "SPEC-034", "status": "draft"})
    assert (sent["delivered"], sent["resolved_to_session"]) == (False, None)
    assert sorted((r["name"], r["state"]) for r in sent["recipients"]) == [
        ("Donna", "live"), ("Texi", "live"), ("Vera", "live"),
    ]  # fmt: skip
    for pushed in (donna, texi):
        pushed.event(sent["signal_id"], within=FIVE_SECONDS)
    (entry,) = agent_entries(vera.status())
    assert entry["signal_id"] == sent["signal_id"]
    assert agent_entries(lola.status()) == []
    recipients = {d["recipient"] for d in lola.status(signal_id=sent["signal_id"])["deliveries"]}
    assert recipients == {"Donna", "Texi", "Vera"}


def test_criterion_12_the_table(stage: Stage) -> None:
    """§14.12, §9: `signal_queue` has its columns and its partial index."""
    stage.enter("Lola").tell("Donna", "one")
    columns = {r["name"]: r for r in stage.world.rows("PRAGMA table_info(signal_queue)")}
    assert set(columns) >= {
        "id", "tenant_id", "project_id", "signal_id", "from_identity", "from_session",
        "to_identity", "signal_type", "payload", "in_reply_to", "created_at", "delivered_at",
        "delivery_method",
    }  # fmt: skip
    optional = {"in_reply_to", "delivered_at", "delivery_method"}
    required = {"tenant_id", "project_id", "signal_id", "from_identity", "from_session"}
    required |= {"to_identity", "signal_type", "payload", "created_at"}
    assert {n for n in optional | required if columns[n]["notnull"]} == required
    index = "idx_signal_queue_undelivered"
    assert [r["name"] for r in stage.world.rows(f"PRAGMA index_info({index})")] == [
        "to_identity", "delivered_at",
    ]  # fmt: skip
    (made,) = stage.world.rows("SELECT sql FROM sqlite_master WHERE name = ?", index)
    assert made["sql"].endswith("WHERE delivered_at IS NULL")
    unique = stage.world.rows("PRAGMA index_list(signal_queue)")
    assert any(
        i["unique"]
        and [r["name"] for r in stage.world.rows(f"PRAGMA index_info({i['name']})")]
        == ["signal_id"]
        for i in unique
    )


@pytest.mark.parametrize(
    ("surface", "taken"),
    [("claude_code", "channels_push"), ("claude_desktop", None), ("cursor", None)],
)
def test_criterion_13_the_surface_decides(stage: Stage, surface: str, taken: str | None) -> None:
    """§14.13, §7.4: `PRISM_AGENT_SURFACE` selects the strategy; nothing else is looked at."""
    route = {r["strategy"]: r["state"] for r in stage.enter("Donna", surface).status()["route"]}
    assert route.pop("piggyback") == "floor"
    assert route == ({taken: "taken"} if taken else {})


def test_criterion_14_a_strategy_is_a_class_and_one_entry(world: World) -> None:
    """§14.14, §7.1: a class in the shape of §7.1 and one entry in `PRISM_STRATEGY_MAP`."""
    code = """
        from pathlib import Path

        class AppServerInjectStrategy:
            async def deliver(self, signal):
                with Path("injected").open("a") as f:
                    f.write(f"{signal.from_identity}: {signal.payload['message']}\\n")
                return True

            def supports_push(self):
                return True
        """
    (world.folder / "their_adapter.py").write_text(textwrap.dedent(code), "utf-8")
    entry = {"codex": "their_adapter:AppServerInjectStrategy"}
    donna = world.agent(
        "Donna", "codex", project="P", strategy_map=json.dumps(entry), python_path=[world.folder]
    )
    lola = world.agent("Lola", project="P")
    sent = lola.signal("Donna", "Question", {"message": "hello"})
    assert (sent["delivered"], sent["confirmed"]) == (True, True)
    assert (world.folder / "injected").read_text("utf-8") == "Lola: hello\n"
    assert lola.track(sent["signal_id"])["delivery_method"] == "AppServerInjectStrategy"
    assert {r["strategy"]: r["state"] for r in donna.status()["route"]} == {
        "AppServerInjectStrategy": "taken", "piggyback": "floor",
    }  # fmt: skip


BARE = {
    "of nothing": """
        class Strategy:
            def __init__(self):
                self.count = 0

            async def deliver(self, signal):
                self.count += 1
                with Path("seen").open("a") as f:
                    f.write(f"{self.count} {signal.payload['message']}\\n")
                return ANSWER

            def supports_push(self):
                return PUSHES
        """,
    "of the interface": """
        from prism_signals import PrismSignal, SignalDeliveryStrategy

        class Strategy(SignalDeliveryStrategy):
            def __init__(self):
                super().__init__()
                self.count = 0

            async def deliver(self, signal: PrismSignal) -> bool:
                self.count += 1
                with Path("seen").open("a") as f:
                    f.write(f"{self.count} {signal.payload['message']}\\n")
                return ANSWER

            def supports_push(self) -> bool:
                return PUSHES
        """,
}
"""Classes in the shape of §7.1: built without arguments, with state of their own."""


def bare(
    world: World, kind: str = "of nothing", *, answer: bool = True, pushes: bool = True
) -> Gateway:
    """Donna, whose surface has a class of this kind and one entry in the map."""
    constants = f"ANSWER, PUSHES = {answer}, {pushes}"
    source = f"from pathlib import Path\n{constants}\n{textwrap.dedent(BARE[kind])}"
    (world.folder / "adapter.py").write_text(source, "utf-8")
    return world.agent(
        "Donna", "their_editor", project="P", python_path=[world.folder],
        strategy_map=json.dumps({"their_editor": "adapter:Strategy"}),
    )  # fmt: skip


@pytest.mark.parametrize("kind", BARE)
def test_criterion_14_one_object_serves_the_whole_session(world: World, kind: str) -> None:
    """§14.14, §13.1: with or without the abstract class, and no argument to build it."""
    donna, lola = bare(world, kind), world.agent("Lola", project="P")
    for text in ("one", "two", "three"):
        sent = lola.signal("Donna", "Question", {"message": text})
        assert (sent["delivered"], sent["confirmed"]) == (True, True)
        assert lola.track(sent["signal_id"])["delivery_method"] == "Strategy"
    assert (world.folder / "seen").read_text("utf-8") == "1 one\n2 two\n3 three\n"
    assert agent_entries(donna.status()) == []


def test_criterion_14_false_keeps_the_signal_for_the_next_verb(world: World) -> None:
    """§14.14, §7.1: what it did not deliver is delivered with the next verb."""
    donna = bare(world, answer=False)
    lola = world.agent("Lola", project="P", delivery_wait="0.1")
    sent = lola.signal("Donna", "Question", {"message": "one"})
    assert (sent["delivered"], sent["queued"]) == (False, True)
    assert [e["signal_id"] for e in agent_entries(donna.status())] == [sent["signal_id"]]
    assert lola.track(sent["signal_id"])["delivery_method"] == "piggyback"


def test_criterion_14_one_that_waits_for_verbs(world: World) -> None:
    """§14.14, §7.1: `supports_push()` False makes it the first of the floor."""
    donna, lola = bare(world, pushes=False), world.agent("Lola", project="P")
    sent = lola.signal("Donna", "Question", {"message": "one"})
    assert (sent["delivered"], sent["queued"]) == (False, True)
    route = {r["strategy"]: r["state"] for r in donna.status()["route"]}
    assert route == {"Strategy": "floor", "piggyback": "floor"}
    # It was also asked about the controller's signals, which have no message.
    assert (world.folder / "seen").read_text("utf-8").endswith(" one\n")
    assert lola.track(sent["signal_id"])["delivery_method"] == "Strategy"
