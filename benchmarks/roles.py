"""Parts that processes of a benchmark play: `python -m benchmarks.roles MODULE:FUNCTION`.

A role is a function (plain or async) that gets a `Cue` and keyword arguments. It says when it is
ready, then plays one round for every number it is given.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import anyio
import anyio.to_thread

from .children import PATIENCE, Child, python


class Cue:
    """The role's line to the benchmark that started it."""

    def answer(self, result: object) -> None:
        """Give one result."""
        sys.stdout.write(json.dumps(result, separators=(",", ":")) + "\n")
        sys.stdout.flush()

    def rounds(self) -> Iterator[Any]:
        """What each round is asked to do, until the benchmark ends this role."""
        self.answer("ready")
        for line in sys.stdin:
            yield json.loads(line)

    async def awaited_rounds(self) -> AsyncIterator[Any]:
        """The same without blocking the event loop."""
        self.answer("ready")
        while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            yield json.loads(line)


class Role(Child):
    """A role as the benchmark sees it."""

    def play(self, task: object, patience: float = PATIENCE) -> Any:
        """Have it play one round and give its result."""
        self.begin(task)
        return self.result(patience)

    def begin(self, task: object) -> None:
        """Have it begin a round."""
        self.send(task)

    def result(self, patience: float = PATIENCE) -> Any:
        """The result of the round it began."""
        return self.receive(patience)[0]


@contextmanager
def role(
    function: Callable[..., Any], environ: Mapping[str, str], **arguments: object
) -> Iterator[Role]:
    """Run a function as a role while the context is open; it is ready when this is entered."""
    target = f"{function.__module__}:{function.__name__}"
    command = python("-m", "benchmarks.roles", target, json.dumps(arguments))
    with Role(command, environ) as child:
        child.receive_where(lambda message: message == "ready")
        yield child


def main(target: str, arguments: str) -> None:
    """Play a role until the input ends."""
    module, _, name = target.partition(":")
    function = partial(getattr(import_module(module), name), Cue(), **json.loads(arguments))
    if inspect.iscoroutinefunction(function.func):
        anyio.run(function)
    else:
        function()


if __name__ == "__main__":
    main(*sys.argv[1:])
