"""`prism mcp`: one process that serves one agent and ends with its client."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .stdio import Streams, claimed_stdio

if TYPE_CHECKING:
    from anyio import CancelScope

    from prism_signals import PrismError

HELP = """\
usage: prism mcp

Serves one agent over the Model Context Protocol on standard input and output. An MCP client starts
it; standard output carries the protocol only, the log goes to standard error.

It ends when its client closes standard input or stops reading, and on SIGTERM or SIGINT. Either way
it releases its session first, and the exit status is 0.

Settings are read from the environment and from prism.toml, for example
  PRISM_AGENT_IDENTITY  who this agent is
  PRISM_AGENT_SURFACE   where it lives, for example claude_code
  PRISM_PROJECT         the project it works on
  PRISM_MCP_ERA         protocol revisions: auto, legacy (up to 2025-11-25) or both
"""
END_WITHIN = 1.8  # seconds: nothing that was accepted is lost when the end is cut short
_USAGE, _INTERRUPTED = 2, 130


def main(argv: Sequence[str]) -> int:
    """Run the command; gives the exit status."""
    if argv:
        asked = argv[0] in ("-h", "--help")
        (sys.stdout if asked else sys.stderr).write(HELP)
        return 0 if asked else _USAGE
    try:
        with claimed_stdio() as streams:  # first of all: a plugin may print while it is imported
            return _serve(streams)
    except KeyboardInterrupt:  # before anyone listened for it
        return _INTERRUPTED


def _serve(streams: Streams) -> int:
    gc.disable()  # what the start makes is no garbage; looking for it costs a tenth of the start
    import anyio

    from prism_signals import ERROR_TABLE, PrismError

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    status = 0
    try:
        anyio.run(_until_the_end, streams)
    except* PrismError as group:
        for e in _single(group):
            sys.stderr.write(f"prism mcp: {e}\n")
            status = ERROR_TABLE[e.code].exit_code
    return status


async def _until_the_end(streams: Streams) -> None:
    import anyio

    from prism_signals import Prism

    from .serving import serve

    # A second signal during the end changes nothing: clients send SIGINT and then SIGTERM.
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:

            async def watch(scope: CancelScope) -> None:
                async for _ in signals:
                    _end_soon()
                    scope.cancel()
                    return

            tasks.start_soon(watch, tasks.cancel_scope)
            async with Prism.open() as prism:
                gc.freeze()
                gc.enable()
                await serve(prism, streams, _end_soon)
            tasks.cancel_scope.cancel()


def _single(group: BaseExceptionGroup[PrismError]) -> Iterator[PrismError]:
    for e in group.exceptions:
        if isinstance(e, BaseExceptionGroup):
            yield from _single(e)
        else:
            yield e


def _end_soon() -> None:
    """End the process in any case: a client waits two seconds before it kills."""
    last = threading.Timer(END_WITHIN, _end_now)
    last.daemon = True
    last.start()


def _end_now() -> None:
    sys.stderr.write("prism mcp: the session could not be released in time; it expires by itself\n")
    sys.stderr.flush()
    os._exit(1)
