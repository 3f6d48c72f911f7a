"""Scenarios of the election: D12 and D13."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from prism_signals import Election, MasterClaim, new_session_id

from .directory_bench import SCOPE, TIME_TO_LIVE, DirectoryBench, DirectorySuite
from .suite import all_at_once, scenario


class DirectoryElection(DirectorySuite):
    """A project has one master."""

    @scenario("D12")
    async def test_the_highest_claim_wins_and_the_first_of_equals_stays(
        self, bench: DirectoryBench
    ) -> None:
        assert await bench.master() is None
        first, second = await bench.join("Lola"), await bench.join("Donna")
        surface = await bench.join("Texi", claim=MasterClaim.SURFACE)
        declared = await bench.join("Max", claim=MasterClaim.DECLARED)
        assert await bench.master() is None, "asking elects nobody"
        sequence = (
            (first, Election(first.session_id)),
            (second, Election(first.session_id)),
            (surface, Election(surface.session_id, first.session_id)),
            (first, Election(surface.session_id)),
            (declared, Election(declared.session_id, surface.session_id)),
            (surface, Election(declared.session_id)),
            (declared, Election(declared.session_id)),
        )
        for candidate, expected in sequence:
            got = await bench.directory.elect(SCOPE, candidate.session_id)
            assert got == expected
            assert await bench.master() == expected.master

    @scenario("D12")
    async def test_a_lost_mastership_is_told_to_one_caller(self, bench: DirectoryBench) -> None:
        former = await bench.join("Lola")
        await bench.directory.elect(SCOPE, former.session_id)
        rivals = [await bench.join(f"Peer-{n}", claim=MasterClaim.DECLARED) for n in range(5)]
        calls = [partial(bench.directory.elect, SCOPE, r.session_id) for r in rivals]
        answers: list[Election] = await all_at_once(*calls)
        assert [a.preempted for a in answers if a.preempted] == [former.session_id]
        assert len({a.master for a in answers}) == 1
        assert await bench.master() == answers[0].master

    @scenario("D12")
    async def test_a_stranger_is_not_elected(self, bench: DirectoryBench) -> None:
        assert (await bench.directory.elect(SCOPE, new_session_id())).master is None
        member = await bench.join()
        await bench.directory.elect(SCOPE, member.session_id)
        stranger = await bench.directory.elect(SCOPE, new_session_id())
        assert stranger == Election(member.session_id)

    @scenario("D13")
    async def test_a_master_that_ended_is_no_master(self, bench: DirectoryBench) -> None:
        master = await bench.join("Lola", claim=MasterClaim.DECLARED)
        other = await bench.join("Donna")
        for member in (master, other):
            await bench.directory.elect(SCOPE, member.session_id)
        await bench.leave(master)
        assert await bench.master() != master.session_id
        found = await bench.directory.elect(SCOPE, other.session_id)
        assert found == Election(other.session_id), "nobody living was preempted"
        assert await bench.master() == other.session_id
        bench.advance(TIME_TO_LIVE + 1)
        assert await bench.master() is None
        late = await bench.join("Texi")
        assert (await bench.directory.elect(SCOPE, late.session_id)).master == late.session_id

    @scenario("D13")
    async def test_each_project_has_its_own_master(self, bench: DirectoryBench) -> None:
        there = replace(bench, scope=replace(SCOPE, pid="PID-KIT03"))
        one, two = await bench.join(), await there.join()
        await bench.directory.elect(SCOPE, one.session_id)
        answer = await there.directory.elect(there.scope, two.session_id)
        assert answer == Election(two.session_id)
        assert await bench.master() == one.session_id


__all__ = ["DirectoryElection"]
