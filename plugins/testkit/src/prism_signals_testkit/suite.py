"""What every conformance class has: loops to run on, a deadline, and guards."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import Any, ClassVar

import anyio
import pytest

from .clause import clause, tests_of

BACKENDS = ("asyncio", "trio")
"""The event loops that every scenario runs on."""
DEADLINE = 30.0
"""Seconds after which a scenario has failed, whatever it waits for."""


class Harness:
    """What an author supplies to a conformance class; each contract has a subclass of it.

    Attributes:
        backends: The event loops that the plugin supports.
        patience: Multiplies every deadline of the kit; raise it for a slow far end.
    """

    backends: tuple[str, ...] = BACKENDS
    patience: float = 1.0


class Suite:
    """The root of the conformance classes.

    An author subclasses one of them in a test module, under a name that pytest collects
    (`TestMyStore`), and gives it one synchronous fixture named `harness`. A test that cannot pass
    yet is overridden and marked `pytest.mark.xfail(reason="…", strict=True)`; any other override is
    an error.
    """

    defined: ClassVar[dict[type[Suite], str | None]] = {}
    """Every subclass outside the kit, and the file it was defined in."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return
        Suite.defined[cls] = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if "__init__" in vars(cls):
            raise TypeError(
                f"{cls.__name__} defines __init__, so pytest would run none of its tests. "
                "Put what it sets up into the fixture `harness`."
            )
        if getattr(cls, "__test__", True) is False:
            raise TypeError(
                f"{cls.__name__} sets __test__ = False, so pytest would run none of its tests. "
                "Remove it."
            )

    @pytest.fixture(params=BACKENDS)
    def backend(self, request: pytest.FixtureRequest) -> str:
        """The event loop of this run."""
        return str(request.param)

    def bench(self, harness: Any) -> AbstractAsyncContextManager[Any]:
        """What a scenario gets: the thing under test, opened, with what is around it."""
        raise NotImplementedError

    def test_nothing_is_overridden_but_as_a_strict_xfail(self) -> None:
        """An override without a reason would hide a broken clause."""
        kit = next(c for c in type(self).__mro__ if _of_the_kit(c))
        for name, _ in tests_of(kit):
            own = getattr(type(self), name, None)
            if own is getattr(kit, name) or own is None:
                assert own is not None, f"{name} was removed"
                continue
            marks = [m for m in getattr(own, "pytestmark", ()) if m.name == "xfail"]
            assert any(m.kwargs.get("strict") and m.kwargs.get("reason") for m in marks), (
                f"{name} is overridden. Mark it pytest.mark.xfail(reason='…', strict=True) and "
                "call super(), or remove it."
            )


Scenario = Callable[[Any, Any], Awaitable[None]]
Runnable = Callable[..., None]


def scenario(*ids: str, opened: bool = True) -> Callable[[Scenario], Runnable]:
    """Make a synchronous test of an async method `(self, bench)`, run on each event loop.

    Args:
        ids: The clauses it shows.
        opened: Give it an opened bench; otherwise the harness itself.
    """

    def make(method: Scenario) -> Runnable:
        def test(self: Suite, harness: Harness, backend: str) -> None:
            _need(harness, backend)

            async def whole() -> None:
                with anyio.fail_after(DEADLINE * harness.patience):
                    if not opened:
                        await method(self, harness)
                        return
                    async with self.bench(harness) as bench:
                        await method(self, bench)

            anyio.run(whole, backend=backend)

        # Not functools.wraps: pytest would follow __wrapped__ and ask for a fixture `bench`.
        test.__name__ = getattr(method, "__name__", "test")
        test.__qualname__ = getattr(method, "__qualname__", "test")
        test.__doc__ = method.__doc__
        test.__module__ = method.__module__
        return clause(*ids)(test)

    return make


def need(declared: bool, what: str) -> None:
    """Skip where the harness does not declare what a scenario needs."""
    if not declared:
        pytest.skip(f"the harness declares no {what}")


async def all_at_once(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Run these side by side; their results in order."""
    results: list[Any] = [None] * len(calls)

    async def one(place: int) -> None:
        results[place] = await calls[place]()

    async with anyio.create_task_group() as group:
        for place in range(len(calls)):
            group.start_soon(one, place)
    return results


async def cancelled_after(steps: int, call: Callable[[], Awaitable[Any]]) -> bool:
    """Cancel a call after it could take this many steps; whether it had ended by itself."""
    done = False

    async def one() -> None:
        nonlocal done
        await call()
        done = True

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    return done


def _need(harness: Harness, backend: str) -> None:
    if backend not in harness.backends:
        pytest.skip(f"the harness does not support {backend}")
    if backend == "trio" and find_spec("trio") is None:
        pytest.skip("trio is not installed")


def _of_the_kit(cls: type[Any]) -> bool:
    module = inspect.getmodule(cls)
    return module is not None and module.__name__.startswith(f"{__package__}.")
