"""The conformance class for directories: D1 to D15."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from prism_signals import (
    Departure,
    Fingerprint,
    Heartbeat,
    LeftReason,
    SessionToken,
    new_session_id,
    of_this_process,
)

from .directory_bench import (
    ELSEWHERE,
    SCOPE,
    TIME_TO_LIVE,
    DirectoryBench,
    DirectorySuite,
)
from .directory_election import DirectoryElection
from .process import other_process
from .suite import all_at_once, need, scenario

FORGED = SessionToken("forged")


class DirectorySessions(DirectorySuite):
    """Sessions come, live and go."""

    @scenario("D1")
    async def test_a_registered_session_is_found_at_once(self, bench: DirectoryBench) -> None:
        assert await bench.resolved() is None
        registration = bench.registration()
        done = await bench.directory.register(registration)
        session = done.session
        assert session.registration == registration
        assert session.registered_at == session.heartbeat_at == bench.clock.now()
        assert session.last_verb_at is None
        assert session.expires_at - session.heartbeat_at == timedelta(seconds=TIME_TO_LIVE)
        assert done.departed == ()
        assert await bench.directory.resolve(SCOPE, "donna") == session
        assert list(await bench.directory.sessions(SCOPE)) == [session]
        assert list(await bench.directory.sessions(SCOPE, "texi")) == []
        if bench.harness.shared:
            async with bench.harness.open(bench.clock) as other:
                assert await other.resolve(SCOPE, "donna") == session

    @scenario("D1")
    async def test_sessions_outlive_the_handle_that_registered_them(
        self, bench: DirectoryBench
    ) -> None:
        need(bench.harness.durable and bench.harness.shared, "durable directory")
        async with bench.harness.open(bench.clock) as other:
            member = await replace(bench, directory=other).join()
        async with bench.harness.reopen(bench.clock) as again:
            after = replace(bench, directory=again)
            assert await after.resolved() == member.session_id
            assert await after.beat(member) is Heartbeat.OK

    @scenario("D2")
    async def test_registering_again_keeps_one_session(self, bench: DirectoryBench) -> None:
        here = of_this_process() if bench.harness.local else None
        first = await bench.join(fingerprint=here)
        assert await bench.act(first)
        bench.advance(10)
        again = await bench.join(session_id=first.session_id, fingerprint=here)
        assert again.session_id == first.session_id
        assert again.departed == ()
        assert await bench.listed() == {first.session_id}
        assert await bench.beat(again) is Heartbeat.OK
        session = await bench.directory.resolve(SCOPE, "donna")
        assert session is not None
        assert session.heartbeat_at == bench.clock.now()

    @scenario("D3")
    async def test_a_session_ends_without_heartbeats(self, bench: DirectoryBench) -> None:
        silent, beating = await bench.join(), await bench.join("Texi")
        for _ in range(2):
            bench.advance(TIME_TO_LIVE / 2 - 1)
            assert await bench.beat(beating) is Heartbeat.OK
        assert await bench.resolved() == silent.session_id
        bench.advance(3)
        assert await bench.resolved() is None
        assert await bench.listed() == {beating.session_id}
        assert not await bench.act(silent)

    @scenario("D4")
    async def test_a_heartbeat_tells_what_became_of_the_session(
        self, bench: DirectoryBench
    ) -> None:
        silent, released = await bench.join(), await bench.join("Texi")
        assert await bench.beat(silent) is Heartbeat.OK
        assert await bench.directory.heartbeat(new_session_id(), FORGED) is Heartbeat.EXPIRED
        assert await bench.leave(released) is not None
        bench.advance(TIME_TO_LIVE + 1)
        for swept in (False, True):
            assert await bench.beat(silent) is Heartbeat.EXPIRED
            assert await bench.beat(released) is Heartbeat.RELEASED, "for good"
            if not swept:
                await bench.directory.sweep()
        again = await bench.join(session_id=silent.session_id)
        assert await bench.beat(again) is Heartbeat.OK

    @scenario("D5")
    async def test_a_wrong_token_changes_nothing(self, bench: DirectoryBench) -> None:
        member = await bench.join()
        before = await bench.directory.resolve(SCOPE, "donna")
        bench.advance(5)
        wrong = replace(member, token=FORGED)
        assert await bench.beat(wrong) is not Heartbeat.OK
        assert not await bench.act(wrong)
        assert await bench.leave(wrong) is None
        assert await bench.directory.resolve(SCOPE, "donna") == before
        other = await bench.join("Texi")
        assert await bench.leave(replace(member, token=other.token)) is None
        assert await bench.resolved() == member.session_id

    @scenario("D6")
    async def test_release_ends_a_session_once(self, bench: DirectoryBench) -> None:
        member = await bench.join()
        answers = await all_at_once(*[partial(bench.leave, member)] * 4)
        departures = [a for a in answers if a is not None]
        assert [d.session.session_id for d in departures] == [member.session_id]
        assert departures[0].reason is LeftReason.RELEASED
        assert await bench.leave(member) is None
        assert await bench.listed() == set()
        assert not await bench.act(member)
        assert not await bench.directory.sweep(), "it was reported already"

    @scenario("D7")
    async def test_a_name_means_its_newest_verb_then_heartbeat_then_id(
        self, bench: DirectoryBench
    ) -> None:
        members = sorted(
            [await bench.join(who) for who in ("Donna", "DONNA", "donna")],
            key=lambda m: m.session_id,
        )
        small, middle, great = members
        assert await bench.resolved() == great.session_id
        bench.advance(1)
        await bench.beat(middle)
        assert await bench.resolved() == middle.session_id
        bench.advance(1)
        assert await bench.act(small)
        bench.advance(1)
        await bench.beat(great)
        assert await bench.resolved() == small.session_id, "heartbeats prove no agent"
        assert await bench.listed("donna") == {m.session_id for m in members}

    @scenario("D8")
    async def test_engage_makes_a_session_the_one_signals_go_to(
        self, bench: DirectoryBench
    ) -> None:
        one, two = await bench.join(), await bench.join()
        for member in (one, two, one):
            bench.advance(1)
            assert await bench.act(member)
            assert await bench.resolved() == member.session_id
            session = await bench.directory.resolve(SCOPE, "donna")
            assert session is not None
            assert session.last_verb_at == bench.clock.now()

    @scenario("D9")
    async def test_two_sessions_of_one_identity_may_live(self, bench: DirectoryBench) -> None:
        here = of_this_process() if bench.harness.local else None
        one = await bench.join(fingerprint=here)
        two = await bench.join(fingerprint=here)
        assert two.departed == ()
        assert await bench.listed("donna") == {one.session_id, two.session_id}
        assert await bench.beat(one) is Heartbeat.OK
        await bench.leave(one)
        assert await bench.resolved() == two.session_id

    @scenario("D10")
    async def test_a_session_of_a_dead_process_is_replaced(self, bench: DirectoryBench) -> None:
        need(bench.harness.local, "fingerprints")
        with other_process() as process:
            dead = await bench.join(fingerprint=process.fingerprint)
            texi = await bench.join("Texi", fingerprint=process.fingerprint)
            far = await bench.join(fingerprint=_far_away())
            early = await bench.join(fingerprint=of_this_process())
            assert early.departed == (), "its process lives"
            process.end()
            late = await bench.join("DONNA", fingerprint=of_this_process())
        assert _told(late.departed) == [(dead.session_id, LeftReason.REPLACED)]
        assert await bench.beat(dead) is Heartbeat.RELEASED
        assert await bench.listed("donna") == {far.session_id, early.session_id, late.session_id}
        assert texi.session_id not in {d.session.session_id for d in late.departed}

    @scenario("D11")
    async def test_sweep_tells_each_departure_to_one_caller(self, bench: DirectoryBench) -> None:
        silent = {(await bench.join(f"Peer-{n}")).session_id for n in range(6)}
        bench.advance(TIME_TO_LIVE - 1)
        beating = await bench.join("Texi")
        assert not await bench.directory.sweep()
        bench.advance(2)
        assert len(await bench.directory.sweep(2)) == 2
        answers = await all_at_once(*[bench.directory.sweep] * 4)
        told = [d for answer in answers for d in answer]
        assert len(told) == 4
        assert {d.reason for d in told} == {LeftReason.EXPIRED}
        assert len({d.session.session_id for d in told} & silent) == 4
        assert not await bench.directory.sweep()
        assert await bench.listed() == {beating.session_id}

    @scenario("D11")
    async def test_a_session_whose_process_lives_here_does_not_time_out(
        self, bench: DirectoryBench
    ) -> None:
        need(bench.harness.local, "fingerprints")
        here = await bench.join(fingerprint=of_this_process())
        far = await bench.join("Texi", fingerprint=_far_away())
        bench.advance(TIME_TO_LIVE * 10)
        assert _told(await bench.directory.sweep()) == [(far.session_id, LeftReason.EXPIRED)]
        assert await bench.resolved() == here.session_id
        assert await bench.beat(here) is Heartbeat.OK

    @scenario("D14")
    async def test_other_tenants_and_projects_are_never_seen(self, bench: DirectoryBench) -> None:
        member = await bench.join()
        for scope in ELSEWHERE:
            there = replace(bench, scope=scope)
            assert await there.resolved() is None
            assert await there.listed() == set()
            assert await there.master() is None
            assert (await there.directory.elect(scope, member.session_id)).master is None
            other = await there.join()
            assert other.departed == ()
            assert await there.resolved() == other.session_id
        assert await bench.listed() == {member.session_id}

    @scenario("D15")
    async def test_tokens_are_shown_nowhere(self, bench: DirectoryBench) -> None:
        done = await bench.directory.register(bench.registration())
        secret = done.token.reveal()
        assert len(secret) >= 16, "a token that can be guessed"
        other = await bench.directory.register(bench.registration())
        assert other.token != done.token
        shown = [
            done,
            done.session,
            await bench.directory.resolve(SCOPE, "donna"),
            await bench.directory.sessions(SCOPE),
            bench.directory,
        ]
        left = await bench.directory.release(done.session.session_id, done.token)
        for thing in (*shown, left, done.session.as_dict()):
            assert secret not in f"{thing!r} {thing}"


class DirectoryConformance(DirectorySessions, DirectoryElection):
    """Every clause of `Directory`, shown on the directory that the fixture `harness` opens.

    The harness is a `DirectoryHarness`: one empty directory for each test.
    """


def _far_away() -> Fingerprint:
    return Fingerprint("another machine", 1, "1")


def _told(departures: Sequence[Departure]) -> list[tuple[str, LeftReason]]:
    return [(d.session.session_id, d.reason) for d in departures]


__all__ = ["DirectoryConformance"]
