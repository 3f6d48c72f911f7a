"""The doorbell's sockets and their folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from prism_signals import Bell, BellKind, SessionId, StoreUnavailable, new_session_id, new_signal_id
from prism_signals_store_sqlite import doorbell, runtime_folder
from prism_signals_store_sqlite.doorbell import Doorbell
from prism_signals_store_sqlite.url import Options

from .sending import SCOPE

SOON = 5.0


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="prism-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Doorbell]:
    bus = Doorbell(Options(tmp_path / "prism.db"))
    yield bus
    bus.close()


def _bell(session: SessionId, kind: BellKind = BellKind.SIGNAL) -> Bell:
    return Bell(kind, SCOPE, (session,), new_signal_id())


def test_the_poll_is_a_second_or_what_the_url_says(bus: Doorbell, tmp_path: Path) -> None:
    assert bus.poll_interval == timedelta(seconds=1)
    slow = Doorbell(Options(tmp_path / "prism.db", poll=timedelta(seconds=5)))
    assert slow.poll_interval == timedelta(seconds=5)
    slow.close()


def test_an_inspection_names_dead_sockets_and_rings_nobody(bus: Doorbell, runtime: Path) -> None:
    folder = runtime / "prism-signals"
    folder.mkdir(mode=0o700)
    dead = folder / "dead"
    (folder / "no-socket").touch()

    async def look() -> None:
        session = new_session_id()
        async with bus.listen(SCOPE, session) as bells:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abandoned:
                abandoned.bind(os.fspath(dead))
            found = await bus.inspect()
            assert found.location == str(folder)
            assert [f for f in found.leftovers if f.startswith(str(runtime))] == [str(dead)]
            await bus.ring(_bell(session))
            with anyio.fail_after(SOON):
                assert [b async for b in _first(bells)]
            assert found == await bus.inspect()

    anyio.run(look)


async def _first(bells: AsyncIterator[Bell]) -> AsyncIterator[Bell]:
    async for bell in bells:
        yield bell
        return


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_different_rings_become_one_that_names_no_signal(
    bus: Doorbell, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "_MOST_WAITING", 4)

    async def scenario() -> None:
        me = new_session_id()
        async with bus.listen(SCOPE, me) as bells:
            settled = _bell(me, BellKind.SETTLED)
            await bus.ring(settled)
            for _ in range(6):
                await bus.ring(_bell(me))
            heard = []
            with anyio.move_on_after(0.3):
                while True:
                    heard.append(await anext(bells))
            assert len(heard) < 7
            assert {b.kind for b in heard} == {BellKind.SIGNAL, BellKind.SETTLED}
            told = [b.signal_id for b in heard if b.kind is BellKind.SETTLED]
            assert told in ([settled.signal_id], [None])

    anyio.run(scenario, backend=backend)


def test_the_socket_of_a_killed_process_is_cleaned_up(runtime: Path, tmp_path: Path) -> None:
    me = new_session_id()
    folder = runtime / "prism-signals"
    folder.mkdir(mode=0o700)
    name = runtime_folder.socket_name(tmp_path / "prism.db", SCOPE, me)
    program = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1])\n"
        "print('bound', flush=True); sys.stdin.read()\n"
    )
    listener = subprocess.Popen(
        [sys.executable, "-c", program, str(folder / name)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert listener.stdout is not None
    assert listener.stdout.readline() == b"bound\n"
    listener.kill()
    listener.communicate()
    assert (folder / name).is_socket()

    async def ring() -> None:
        bus = Doorbell(Options(tmp_path / "prism.db"))
        await bus.ring(_bell(me))
        bus.close()

    anyio.run(ring)
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("runtime")
def test_a_new_listener_clears_what_nobody_rings_any_more(bus: Doorbell) -> None:
    folder = runtime_folder.own_folder()
    assert folder is not None
    left = folder / "0123456789abcdef"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(os.fspath(left))
    other = folder / "notes"
    other.write_text("a file that is no socket")

    async def scenario() -> None:
        me, mine = new_session_id(), _bell(new_session_id())
        async with bus.listen(SCOPE, me), bus.listen(SCOPE, mine.sessions[0]) as bells:
            assert not left.exists()
            assert other.exists()
            await bus.ring(mine)  # the living are left alone, and hear nothing of it
            with anyio.fail_after(SOON):
                assert (await anext(bells)).signal_id == mine.signal_id

    anyio.run(scenario)


@pytest.mark.usefixtures("runtime")
def test_a_stale_socket_does_not_stop_a_new_listener(bus: Doorbell, tmp_path: Path) -> None:
    me = new_session_id()
    folder = runtime_folder.own_folder()
    assert folder is not None
    path = folder / runtime_folder.socket_name(tmp_path / "prism.db", SCOPE, me)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stale:
        stale.bind(str(path))

    async def scenario() -> None:
        async with bus.listen(SCOPE, me) as bells:
            bell = _bell(me)
            await bus.ring(bell)
            with anyio.fail_after(SOON):
                assert (await anext(bells)).signal_id == bell.signal_id

    anyio.run(scenario)
    assert not path.exists()


@pytest.mark.usefixtures("runtime")
def test_ending_one_listener_leaves_the_socket_of_its_successor(bus: Doorbell) -> None:
    async def scenario() -> None:
        me = new_session_id()
        first = bus.listen(SCOPE, me)
        await first.__aenter__()
        async with bus.listen(SCOPE, me) as bells:
            await first.__aexit__(None, None, None)
            bell = _bell(me)
            await bus.ring(bell)
            with anyio.fail_after(SOON):
                assert (await anext(bells)).signal_id == bell.signal_id

    anyio.run(scenario)


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_who_still_waits_when_the_listener_ends_is_let_go(bus: Doorbell, backend: str) -> None:
    async def scenario() -> None:
        async def wait() -> None:
            async for _ in bells:
                pass

        async with (
            anyio.create_task_group() as group,
            bus.listen(SCOPE, new_session_id()) as bells,
        ):
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()

    async def soon() -> None:
        with anyio.fail_after(SOON):
            await scenario()

    anyio.run(soon, backend=backend)


def test_two_files_do_not_hear_each_other(tmp_path: Path) -> None:
    me = new_session_id()
    one, two = (runtime_folder.socket_name(tmp_path / n, SCOPE, me) for n in ("a.db", "b.db"))
    assert one != two
    (tmp_path / "link").symlink_to(tmp_path / "a.db")
    assert runtime_folder.socket_name(tmp_path / "link", SCOPE, me) == one


def test_a_listener_with_another_environment_is_found(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some clients start their servers with hardly any variables."""

    async def scenario() -> None:
        me = new_session_id()
        listener, ringer = (Doorbell(Options(tmp_path / "prism.db")) for _ in range(2))
        monkeypatch.delenv("XDG_RUNTIME_DIR")
        async with listener.listen(SCOPE, me) as bells:
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
            bell = _bell(me)
            await ringer.ring(bell)
            with anyio.fail_after(SOON):
                assert (await anext(bells)).signal_id == bell.signal_id
        listener.close()
        ringer.close()

    anyio.run(scenario)


def test_the_folder_is_made_for_its_user_alone(runtime: Path) -> None:
    assert runtime_folder.own_folder() == runtime / "prism-signals"
    assert (runtime / "prism-signals").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("spoil", "hint"),
    [
        (lambda folder: folder.mkdir(mode=0o777), "chmod 700"),
        (lambda folder: folder.touch(), "no folder"),
        (lambda folder: folder.symlink_to(folder.parent), "no folder"),
    ],
)
def test_a_folder_that_is_not_ours_alone_is_refused(
    runtime: Path, tmp_path: Path, spoil: object, hint: str
) -> None:
    folder = runtime / "prism-signals"
    before = os.umask(0)
    assert callable(spoil)
    spoil(folder)
    os.umask(before)

    async def scenario() -> None:
        bus = Doorbell(Options(tmp_path / "prism.db"))
        with pytest.raises(StoreUnavailable, match=hint):
            async with bus.listen(SCOPE, new_session_id()):
                pass
        await bus.ring(_bell(new_session_id()))  # and is not rung in either
        bus.close()

    anyio.run(scenario)


def test_a_folder_of_another_user_is_refused(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime_folder.own_folder()
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    with pytest.raises(StoreUnavailable, match="another user"):
        runtime_folder.check(runtime / "prism-signals")
    assert not runtime_folder.is_trusted(runtime / "prism-signals")


def test_a_place_too_deep_for_a_socket_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 90)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    found = list(runtime_folder.candidates())
    assert found
    assert all(deep not in place.parents for place in found)
    name = runtime_folder.socket_name(tmp_path / "prism.db", SCOPE, new_session_id())
    assert all(len(str(place / f"{name}.abcdef")) < 104 for place in found)


def test_without_such_sockets_it_falls_back_to_the_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(doorbell, "socket", SimpleNamespace())

    async def scenario() -> None:
        bus = Doorbell(Options(tmp_path / "prism.db"))
        me = new_session_id()
        async with bus.listen(SCOPE, me) as bells:
            await bus.ring(_bell(me))
            with anyio.move_on_after(0.1) as silent:
                await anext(bells)
            assert silent.cancelled_caught
        bus.close()

    anyio.run(scenario)
    assert "poll" in caplog.text
