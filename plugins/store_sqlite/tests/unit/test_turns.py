"""Taking turns: deadlines, frozen processes, cancellation, and writers who know no turnstile."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import anyio
import pytest

from prism_signals import StoreBusy

from .sending import SCOPE, claim, opened, pipe, posting, running, told

QUICK = "?deadline=0.3"
SOON = 5.0


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("what", ["gate", "turn", "write"])
def test_a_frozen_holder_stops_nobody_for_longer_than_the_deadline(
    tmp_path: Path, backend: str, what: str
) -> None:
    async def scenario() -> None:
        path = tmp_path / "prism.db"
        async with opened(path, QUICK) as store:
            before = (await store.put(posting())).signal.signal_id
            with running("holder", path, what) as holder:
                assert told(holder) == "held"
                os.kill(holder.pid, signal.SIGSTOP)
                refused = posting()
                for _ in range(2):
                    begun = time.monotonic()
                    with pytest.raises(StoreBusy, match="nothing was changed"):
                        await store.put(refused)
                    assert time.monotonic() - begun < SOON
                # Reading waits for nobody, and a lease that finds nothing writes nothing.
                assert await store.find(SCOPE, before)
                assert await store.pending(claim())
                assert not await store.lease(claim(exclude=[before]))
                os.kill(holder.pid, signal.SIGCONT)
                pipe(holder.stdin).close()
                assert holder.wait(20) == 0
            after = (await store.put(posting())).signal.signal_id
            assert await store.find(SCOPE, refused.signal.signal_id) is None, "it ran later"
            assert await store.find(SCOPE, after)
            assert (await store.counts(SCOPE, "donna")).pending == 2

    anyio.run(scenario, backend=backend)


def test_a_killed_holder_gives_its_turn_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "prism.db"
        async with opened(path) as store:
            for what in ("gate", "turn", "write"):
                with running("holder", path, what) as holder:
                    assert told(holder) == "held"
                    async with anyio.create_task_group() as group:
                        group.start_soon(store.put, posting())
                        await anyio.lowlevel.checkpoint()
                        holder.kill()
            assert (await store.counts(SCOPE, "donna")).pending == 3

    anyio.run(scenario)


def test_opening_a_fresh_file_has_the_deadline_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "prism.db"
        path.with_name("prism.db-turn").touch()
        with running("holder", path, "turn") as holder:
            assert told(holder) == "held"
            with pytest.raises(StoreBusy):
                async with opened(path, QUICK):
                    pass
        async with opened(path, QUICK) as store:
            await store.put(posting())

    anyio.run(scenario)


def test_what_was_cancelled_while_it_waited_never_runs(tmp_path: Path, backend: str) -> None:
    async def scenario() -> None:
        path = tmp_path / "prism.db"
        async with opened(path) as store:
            cancelled = posting()
            with running("holder", path, "turn") as holder:
                assert told(holder) == "held"
                with anyio.move_on_after(0.2) as scope:
                    await store.put(cancelled)
                assert scope.cancelled_caught
                pipe(holder.stdin).close()
                holder.wait(20)
            await store.put(posting())
            assert await store.find(SCOPE, cancelled.signal.signal_id) is None

    anyio.run(scenario, backend=backend)


def test_closing_does_not_wait_for_a_frozen_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "prism.db"
        async with opened(path):
            pass
        with running("holder", path, "turn") as holder:
            assert told(holder) == "held"
            async with opened(path, QUICK) as store:
                with pytest.raises(StoreBusy):
                    await store.put(posting())
                begun = time.monotonic()
            assert time.monotonic() - begun < SOON

    anyio.run(scenario)


def test_many_tasks_of_one_process_take_turns(tmp_path: Path, backend: str) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "prism.db") as store:
            async with anyio.create_task_group() as group:
                for n in range(100):
                    group.start_soon(store.put, posting(content=str(n)))
            assert (await store.counts(SCOPE, "donna")).pending == 100

    anyio.run(scenario, backend=backend)
