"""Verbs over the in-memory backend: answers, refusals, cancellation."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core.tests.unit.world import PID, World
from prism_signals import (
    Agent,
    ForeignProject,
    IdentityMismatch,
    InvalidArgument,
    NoIdentity,
    NoRoute,
    NotAllowed,
    PrismError,
    Query,
    Scope,
    SessionReleased,
    UnknownSignal,
)

pytestmark = pytest.mark.anyio


async def test_an_answer_is_bounded_and_says_how_many_more(world: World) -> None:
    async with (
        world.agent("Lola", sender_per_minute=999, pair_per_minute=999, pair_per_hour=999) as lola,
        world.agent("Donna") as donna,
    ):
        await lola.start()
        await donna.start()
        for n in range(25):
            await lola.signal(PID, "Donna", "inform", {"content": str(n)})
        first = await donna.status()
        assert [p["payload"]["content"] for p in first["pending_signals"]] == [
            str(n) for n in range(20)
        ]
        assert first["more"] == 5
        await lola.signal(PID, "Donna", "inform", {"content": "x" * 30_000})
        second = await donna.status()
        assert len(json.dumps(second["pending_signals"])) < 16_384 + 1024
        assert "payload_preview" in second["pending_signals"][-1]


async def test_a_preview_is_confirmed_only_by_reading_the_whole(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x" * 30_000})
        await donna.status()
        await donna.status()
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert track["confirmed_at"] is None
        whole = await donna.read_signals(signal_id=sent["signal_id"])
        assert whole["signals"][0]["payload"]["content"] == "x" * 30_000
        await donna.status()
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert track["confirmed_at"] is not None


async def test_reading_can_be_repeated_and_only_ack_acks(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        for _ in range(3):
            read = await donna.read_signals()
            mine = [s for s in read["signals"] if s["from"] == "Lola"]
            assert [s["signal_id"] for s in mine] == [sent["signal_id"]]
            assert "pending_signals" not in read
        acked = await donna.ack_signals([sent["signal_id"], "nonsense", sent["signal_id"]])
        assert [r["status"] for r in acked["results"]] == ["acked", "unknown", "already_acked"]
        assert acked["acked"] == 1
        assert [s for s in (await donna.read_signals())["signals"] if s["from"] == "Lola"] == []


async def test_recall(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        assert (await lola.recall(sent["signal_id"]))["status"] == "recalled"
        assert "Lola" not in [p["from"] for p in (await donna.status()).get("pending_signals", [])]
        late = await lola.signal(PID, "Donna", "inform", {"content": "y"})
        assert (await donna.recall(late["signal_id"]))["status"] == "not_yours"
        assert (await lola.recall(late["signal_id"]))["status"] == "too_late"  # seen meanwhile


async def test_wrap_ends_the_session_and_only_start_revives(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        first = await donna.start()
        await lola.signal(PID, "Donna", "inform", {"content": "x"})
        done = await donna.wrap()
        assert "pending_signals" not in done
        with pytest.raises(SessionReleased):
            await donna.status()
        away = await lola.signal(PID, "Donna", "inform", {"content": "y"})
        assert away["recipient_state"]["state"] == "away"
        second = await donna.start()
        assert second["context"]["session"] != first["context"]["session"]
        got = [p["payload"]["content"] for p in second["pending_signals"] if p["from"] == "Lola"]
        assert got == ["x", "y"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: a.signal("OTHER", "Donna", "inform", {"content": "x"}), ForeignProject),
        (lambda a: a.start(agent_identity="Frank"), IdentityMismatch),
        (lambda a: a.signal(PID, "Donna", "inform", {"content": "x"}, "nonsense"), UnknownSignal),
        (
            lambda a: a.signal(PID, "Donna", "inform", {"content": "x"}, priority="loud"),
            InvalidArgument,
        ),
        (
            lambda a: a.signal(PID, "Donna", "inform", {"content": "x"}, expires_in=-1),
            InvalidArgument,
        ),
        (
            lambda a: a.signal(PID, "Donna", "inform", {"content": "x"}, idempotency_key=""),
            InvalidArgument,
        ),
        (lambda a: a.read_signals(limit=0), InvalidArgument),
        (lambda a: a.read_signals(signal_id="x"), InvalidArgument),
        (lambda a: a.ack_signals([]), InvalidArgument),
        (lambda a: a.status(signal_id="11111111-2222-4333-8444-555555555555"), UnknownSignal),
    ],
)
async def test_bad_input_is_refused_and_changes_nothing(
    world: World, call: Callable[[Agent], Awaitable[Any]], error: type[PrismError]
) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        with pytest.raises(error):
            await call(lola)
        page = await world.backend.store.history(Query(Scope("default", PID)))
        assert page.entries == ()


async def test_without_an_identity_verbs_say_what_to_do(world: World) -> None:
    async with world.agent(None) as nobody:
        with pytest.raises(NoIdentity, match="prism_start"):
            await nobody.status()
        await nobody.start(agent_identity="Kai")
        assert (await nobody.status())["identity"] == "Kai"


async def test_a_probe_leaves_no_trace(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", probe=True) as donna:
        await lola.start()
        donna.connected()
        with pytest.raises(NotAllowed):
            await donna.start()
        assert [p["identity"] for p in (await lola.status())["peers"]] == ["Lola"]


async def test_an_empty_route_is_a_start_up_error(world: World) -> None:
    async with world.prism(agent_identity="x", strategy_map={"odd": []}, agent_surface="odd") as p:
        with pytest.raises(NoRoute, match="pip install"):
            p.route()


async def test_a_new_verb_of_a_plugin_carries_signals(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        await lola.signal(PID, "Donna", "inform", {"content": "x"})

        async def recall_of_memories() -> dict[str, Any]:
            return {"memories": []}

        answer = await donna.answering(recall_of_memories)
        assert answer["memories"] == []
        assert len(answer["pending_signals"]) == 1


async def test_a_cancelled_call_frees_what_it_had_claimed(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        with anyio.CancelScope() as scope:

            async def act() -> dict[str, Any]:
                scope.cancel()
                return {}

            await donna.answering(act)
        got = (await donna.status())["pending_signals"]
        assert [(p["signal_id"], p["redelivered"]) for p in got] == [(sent["signal_id"], False)]


async def test_outsiders_read_without_changing_anything(world: World) -> None:
    async with world.prism() as prism:
        lola, donna = prism.outside("Lola"), prism.outside("Donna")
        sent = await lola.signal("Donna", "query", {"content": "?"})
        assert sent["queued"]
        for _ in range(2):
            read = await donna.read_signals()
            assert [s["state"] for s in read["signals"]] == ["pending"]
        reply = await donna.signal("Lola", "Answer", {"message": "!"}, sent["signal_id"])
        assert reply["recipient_state"]["state"] == "away"  # whoever has sent can be answered
        thread = await lola.thread(reply["signal_id"])
        assert [e.signal.signal_type for e in thread] == ["query", "Answer"]
        assert thread[0].deliveries[0].state.value == "acked"
        assert len((await lola.history(involving="donna")).entries) == 2
        assert (await lola.status())["peers"] == []


async def test_starts_and_verbs_in_parallel_open_one_session(world: World) -> None:
    async with world.agent("Donna") as donna:
        sessions: list[str] = []

        async def start() -> None:
            sessions.append((await donna.start())["context"]["session"])

        async def status() -> None:
            sessions.append((await donna.status())["session"])

        for _ in range(2):  # at first, and after a wrap
            sessions.clear()
            async with anyio.create_task_group() as tasks:
                for verb in (start, start, start):
                    tasks.start_soon(verb)
            async with anyio.create_task_group() as tasks:
                for verb in (start, status, status):
                    tasks.start_soon(verb)
            assert len(sessions) == 6
            assert len(set(sessions)) == 1
            assert len(await world.backend.directory.sessions(Scope("default", PID))) == 1
            await donna.wrap()


async def test_a_verb_that_waited_for_a_wrap_is_told_of_the_wrap(world: World) -> None:
    async with world.agent("Donna") as donna:
        opening, go_on = anyio.Event(), anyio.Event()

        async def wait(*args: Any) -> None:
            opening.set()
            await go_on.wait()

        world.directory.first["register"] = wait
        told: list[str] = []

        async def verb() -> None:
            with pytest.raises(SessionReleased) as refused:
                await donna.status()
            told.append(str(refused.value))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(donna.start)
                await opening.wait()
                tasks.start_soon(donna.wrap)
                await anyio.wait_all_tasks_blocked()
                go_on.set()
            await verb()
        assert "was wrapped" in told[0]


async def test_a_signal_to_oneself_arrives_while_its_sender_waits(world: World) -> None:
    async with world.agent("Donna", "pushy") as donna:
        await donna.start()
        sent = await donna.signal(PID, "Donna", "Loopback", {"message": "?"})
        assert (sent["delivered"], sent["confirmed"]) == (True, True)
        assert "pending_signals" not in sent
    async with world.agent("Kai") as kai:
        await kai.start()
        sent = await kai.signal(PID, "Kai", "Loopback", {"message": "?"})
        assert (sent["delivered"], sent["queued"]) == (False, True)
        assert [p["signal_id"] for p in sent["pending_signals"]] == [sent["signal_id"]]


async def test_a_broadcast_is_taken_back_where_nobody_has_it_yet(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna, world.agent("Kai") as k:
        for a in (lola, donna, k):
            await a.start()
        sent = await lola.signal(PID, "*", "inform", {"content": "x"})
        await donna.status()
        taken = await lola.recall(sent["signal_id"])
        assert taken["status"] == "partly"
        ends = {d["recipient"]: d["state"] for d in taken["deliveries"]}
        assert ends == {"Donna": "delivered", "Kai": "recalled"}
        assert "inform" not in [
            p["signal_type"] for p in (await k.status()).get("pending_signals", [])
        ]
