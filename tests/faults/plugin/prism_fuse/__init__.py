"""A third party's plugin that kills or stops its own process at an exact step of a signal's life.

The product has no hooks for tests. This uses the public ones, as any plugin does: an observer
hears `accepted` after a signal is stored and before anyone is rung, and `attempted` after a
strategy has answered and before that is settled. Two strategies stand first in the routes; they
refuse everything, and so hear of each signal after it is leased and before it is shown.

A fuse is a file named after the process and the step. It holds the POSIX signal to raise and how
often the step passes unharmed before.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from prism_signals import (
    DeliveryOutcome,
    Lease,
    ObserverPlugin,
    Signal,
    SignalDeliveryStrategy,
    StrategyContext,
    StrategyPlugin,
    hookimpl,
    refused,
)

FOLDER = "FUSES"


def pass_step(step: str) -> None:
    """Burn this process's fuse for that step, if there is one."""
    folder = os.environ.get(FOLDER)
    fuse = Path(folder or os.devnull) / f"{os.getpid()}-{step}"
    if folder is None or not fuse.exists():
        return
    number, _, harmless = fuse.read_text("ascii").partition(" ")
    if int(harmless):
        fuse.write_text(f"{number} {int(harmless) - 1}", "ascii")
        return
    fuse.unlink()
    os.kill(os.getpid(), signal.Signals(int(number)))


class _Observer:
    def accepted(self, signal: Signal) -> None:
        pass_step("accepted")

    def attempted(self, lease: Lease, method: str, outcome: DeliveryOutcome) -> None:
        if outcome:
            pass_step("attempted")


class _Fuse(SignalDeliveryStrategy):
    def __init__(self, step: str, *, push: bool) -> None:
        self._step = step
        self._push = push

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        pass_step(self._step)
        return refused("a fuse shows nothing")

    def supports_push(self) -> bool:
        return self._push


def _opener(
    step: str, *, push: bool
) -> Callable[[Any, StrategyContext], AbstractAsyncContextManager[SignalDeliveryStrategy]]:
    @asynccontextmanager
    async def open_fuse(
        settings: Any, context: StrategyContext
    ) -> AsyncIterator[SignalDeliveryStrategy]:
        yield _Fuse(step, push=push)

    return open_fuse


@hookimpl
def prism_observers() -> Sequence[ObserverPlugin]:
    """Hears of every step."""
    return [ObserverPlugin("fuse", _Observer)]


@hookimpl
def prism_strategies() -> Sequence[StrategyPlugin]:
    """Stands first in the push part and in the floor of the routes."""
    return [
        StrategyPlugin("fuse_push", ("claude_code",), _opener("leased", push=True), rank=1),
        StrategyPlugin("fuse_floor", ("claude_desktop",), _opener("answering", push=False), rank=1),
    ]
