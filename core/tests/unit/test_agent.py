"""Agents over the in-memory backend: verbs, pushing, attaching, truth about progress."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from prism_signals import (
    CONFIRMED,
    HANDED_OVER,
    Agent,
    AnswerBuilder,
    BackendURL,
    BusPlugin,
    Clock,
    DeliveryOutcome,
    DirectoryPlugin,
    ForeignProject,
    IdentityMismatch,
    InvalidArgument,
    ManualClock,
    MemoryBackend,
    NoIdentity,
    NoRoute,
    NotAllowed,
    Prism,
    PrismError,
    Registry,
    SessionReleased,
    Settings,
    Signal,
    SignalDeliveryStrategy,
    StorePlugin,
    StrategyContext,
    StrategyPlugin,
    UnknownSignal,
    deferred,
    hookimpl,
)

pytestmark = pytest.mark.anyio
PID = "PID-PGR01"
REVIEW = {"spec_id": "SPEC-033", "instructions": "Summarize it."}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Floor(SignalDeliveryStrategy):
    def __init__(self, context: StrategyContext) -> None:
        self._context = context

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        answer = self._context.offered(AnswerBuilder)
        return HANDED_OVER if answer and answer.add(signal) else deferred("no room")

    def supports_push(self) -> bool:
        return False


class Pusher(SignalDeliveryStrategy):
    """Shows signals in a list; what it answers can be scripted."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        return await self._world.act(signal)

    def supports_push(self) -> bool:
        return True


class World:
    """One backend and plugins that several agents share; `shown` is what models saw by push."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.backend = MemoryBackend(self.clock)
        self.shown: list[Signal] = []
        self.act: Callable[[Signal], Awaitable[DeliveryOutcome | bool]] = self.confirm
        self.changed = anyio.Event()

    async def confirm(self, signal: Signal) -> DeliveryOutcome:
        self.shown.append(signal)
        self.changed.set()
        self.changed = anyio.Event()
        return CONFIRMED

    async def shows(self, count: int) -> list[Signal]:
        with anyio.fail_after(5):
            while len(self.shown) < count:
                await self.changed.wait()
        return self.shown

    @hookimpl
    def prism_strategies(self) -> list[StrategyPlugin]:
        @asynccontextmanager
        async def floor(settings: Any, context: StrategyContext) -> AsyncIterator[Floor]:
            yield Floor(context)

        @asynccontextmanager
        async def push(settings: Any, context: StrategyContext) -> AsyncIterator[Pusher]:
            yield Pusher(self)

        return [
            StrategyPlugin("piggyback", ("*",), floor, rank=1000),
            StrategyPlugin("push", ("pushy",), push, wakes=True),
        ]

    @hookimpl
    def prism_stores(self) -> list[StorePlugin]:
        return [StorePlugin("memory", ("memory",), self._open(lambda: self.backend.store))]

    @hookimpl
    def prism_directories(self) -> list[DirectoryPlugin]:
        return [DirectoryPlugin("memory", ("memory",), self._open(lambda: self.backend.directory))]

    @hookimpl
    def prism_buses(self) -> list[BusPlugin]:
        return [BusPlugin("memory", ("memory",), self._open(lambda: self.backend.bus))]

    def _open(self, get: Callable[[], Any]) -> Any:
        @asynccontextmanager
        async def opener(url: BackendURL, clock: Clock) -> AsyncIterator[Any]:
            yield get()

        return opener

    @asynccontextmanager
    async def prism(self, **settings: Any) -> AsyncIterator[Prism]:
        chosen = {
            "store_url": "memory:",
            "project": PID,
            "register_after": 0.0,
            "delivery_wait": 2.0,
            **settings,
        }
        async with Prism.open(
            Settings.load(**chosen), registry=Registry.of(self), clock=self.clock
        ) as prism:
            yield prism

    @asynccontextmanager
    async def agent(
        self, name: str | None, surface: str = "desktop", **s: Any
    ) -> AsyncIterator[Agent]:
        async with (
            self.prism(agent_identity=name, agent_surface=surface, **s) as prism,
            prism.host() as agent,
        ):
            yield agent


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    import os

    for n in [n for n in os.environ if n.startswith("PRISM_")]:
        monkeypatch.delenv(n)
    return World()


async def test_the_loop_of_the_specification_closes(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        asked = await lola.signal(PID, "Donna", "ReviewRequested", REVIEW)
        assert asked["delivered"]
        assert not asked["queued"]
        assert asked["confirmed"]
        assert donna.session is not None
        assert asked["resolved_to_session"] == donna.session.session_id
        assert asked["recipient_state"] == {"state": "live", "can_wake": True}
        done = await donna.signal(
            PID,
            "lola",
            "ReviewCompleted",
            {"spec_id": "S", "summary": "x", "gaps": ["a"], "recommendation": "y"},
            asked["signal_id"],
        )
        assert not done["delivered"]
        assert done["queued"]  # a live peer that is only reached by its verbs
        answer = await lola.status()
        (got,) = [p for p in answer["pending_signals"] if p["signal_type"] == "ReviewCompleted"]
        assert got["from"] == "Donna"
        assert got["in_reply_to"] == asked["signal_id"]
        assert got["redelivered"] is False
        closed = await lola.signal(
            PID, "Donna", "Acknowledgment", {"message": "Thanks"}, asked["signal_id"]
        )
        assert closed["delivered"]  # Donna is engaged: she used a verb just now
        assert [s.signal_type for s in world.shown] == ["ReviewRequested", "Acknowledgment"]
        ends = [
            (await lola.status(signal_id=i))["deliveries"][0]
            for i in (asked["signal_id"], done["signal_id"])
        ]
        assert [d["state"] for d in ends] == ["acked", "acked"]


async def test_a_configured_agent_is_reached_before_it_calls_anything(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        donna.connected()
        with anyio.fail_after(5):
            while donna.session is None:
                await anyio.lowlevel.checkpoint()
        await lola.start()
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        assert sent["delivered"]


async def test_older_signals_wait_for_the_first_verb_newer_ones_do_not(world: World) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        old = await lola.signal(PID, "Donna", "query", {"content": "old"})
        assert old["recipient_state"]["state"] == "unknown"
        world.clock.advance(1)
        async with world.agent("Donna", "pushy") as donna:
            donna.connected()
            with anyio.fail_after(5):
                while donna.session is None:
                    await anyio.lowlevel.checkpoint()
            new = await lola.signal(PID, "Donna", "query", {"content": "new"})
            assert new["delivered"]
            assert [s.payload["content"] for s in world.shown] == ["new"]
            drained = await donna.start()
            agents = [p for p in drained["pending_signals"] if p["from"] != "system"]
            assert [p["payload"]["content"] for p in agents] == ["old"]
            track = await lola.status(signal_id=old["signal_id"])
            assert track["deliveries"][0]["delivery_method"] == "startup_drain"


async def test_start_answers_what_the_specification_names(world: World) -> None:
    async with world.agent("Lola", rules_reminders=["Be kind."]) as lola:
        answer = await lola.start()
        assert set(answer) >= {"context", "rules_reminders", "pending_signals", "controller_status"}
        assert answer["rules_reminders"] == ["Be kind."]
        assert answer["controller_status"]["role"] == "master"
        again = await lola.start()
        assert again["context"]["session"] == answer["context"]["session"]  # idempotent


async def test_the_next_verb_confirms_and_nothing_comes_twice(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        first = await donna.status()
        assert [p["from"] for p in first["pending_signals"]] == ["Lola"]
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert (track["state"], track["confirmed_at"]) == ("delivered", None)
        world.clock.advance(60)
        assert "pending_signals" not in await donna.status()
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert track["confirmed_at"] is not None


async def test_an_ignored_push_comes_back_once_with_a_verb(world: World) -> None:
    async def lost(signal: Signal) -> DeliveryOutcome:
        return HANDED_OVER  # the surface took it and never showed it

    world.act = lost
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "query", {"content": "x"})
        assert sent["delivered"]
        assert not sent["confirmed"]
        assert "pending_signals" not in await donna.status()  # not before ten seconds
        world.clock.advance(11)
        again = (await donna.status())["pending_signals"]
        assert [(p["signal_id"], p["redelivered"]) for p in again] == [(sent["signal_id"], True)]
        world.clock.advance(60)
        assert "pending_signals" not in await donna.status()


async def test_unfinished_work_goes_to_the_next_session_and_ends_as_unacted(world: World) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        sent = await lola.signal(PID, "Donna", "TaskAssigned", {"description": "d"})
        seen = []
        for _ in range(4):
            async with world.agent("Donna") as donna:
                drained = await donna.start()
                seen += [
                    p["redelivered"]
                    for p in drained["pending_signals"]
                    if p["signal_id"] == sent["signal_id"]
                ]
                await donna.status()
            world.clock.advance(1)
        assert seen == [False, True, True]
        end = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert (end["state"], end["last_error"]) == ("dead", "unacted")


async def test_what_does_not_wake_waits_for_an_idle_agent(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        world.clock.advance(3600)
        note = await lola.signal(PID, "Donna", "Acknowledgment", {"message": "ok"})
        assert note["queued"]
        assert world.shown == []
        got = (await donna.status())["pending_signals"]
        assert [p["signal_type"] for p in got] == ["Acknowledgment"]


async def test_a_broadcast_reaches_everyone_but_its_sender(world: World) -> None:
    async with (
        world.agent("Lola") as lola,
        world.agent("Donna") as donna,
        world.agent("Texi") as texi,
        world.agent("Kai") as kai,
    ):
        for a in (lola, donna, texi, kai):
            await a.start()
        sent = await lola.signal(PID, "*", "SpecStatusChanged", {"spec_id": "S", "status": "x"})
        assert sent["resolved_to_session"] is None
        assert {r["name"] for r in sent["recipients"]} == {"Donna", "Texi", "Kai"}
        for a in (donna, texi, kai):
            got = (await a.status())["pending_signals"]
            assert "SpecStatusChanged" in [p["signal_type"] for p in got]
        own = (await lola.status()).get("pending_signals", [])
        assert "SpecStatusChanged" not in [p["signal_type"] for p in own]


async def test_system_signals_tell_of_peers_and_of_the_master(world: World) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        async with world.agent("Donna", "claude_desktop") as donna:
            await donna.start()
            got = {p["signal_type"]: p for p in (await lola.status())["pending_signals"]}
            assert got["PeerJoined"]["payload"]["identity"] == "Donna"
            assert got["MasterPreempted"]["payload"]["preempted_by"] == "Donna"
            assert got["PeerJoined"]["from"] == "system"
        got = {p["signal_type"]: p for p in (await lola.status())["pending_signals"]}
        assert got["PeerLeft"]["payload"] == {
            "identity": "Donna",
            "surface": "claude_desktop",
            "reason": "released",
        }


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
        page = await lola._around.store.history(
            __import__("prism_signals").Query(lola.session.scope)
        )  # type: ignore[union-attr]
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
        thread = await lola.thread(reply["signal_id"])
        assert [e.signal.signal_type for e in thread] == ["query", "Answer"]
        assert thread[0].deliveries[0].state.value == "acked"
        assert len((await lola.history(involving="donna")).entries) == 2
        assert (await lola.status())["peers"] == []
