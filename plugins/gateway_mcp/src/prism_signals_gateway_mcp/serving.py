"""Serves one client from its first line to its last."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

import anyio
from mcp.server.lowlevel.server import NotificationOptions

from prism_signals import HandshakeNeeds, Prism, load_plugin_settings

from .connection import Connection, Push
from .inbox import Inbox
from .outbox import Outbox
from .server import build_server, experimental
from .settings import Era, MCPSettings
from .stdio import Streams, claimed_stdio

_FLUSH_WITHIN = 0.5  # seconds: what the client has not read by then, it won't read


async def serve(
    prism: Prism, streams: Streams | None = None, ending: Callable[[], None] | None = None
) -> None:
    """Serve the client on standard input and output until it is gone; then end its session.

    Args:
        prism: What the agent's verbs act on.
        streams: Standard input and output where the caller has claimed them already.
        ending: Called when the client is gone, before the session ends.
    """
    settings = load_plugin_settings("mcp", MCPSettings)
    needs = prism.handshake()
    with ExitStack() as stack:
        streams = streams or stack.enter_context(claimed_stdio())
        legacy = serves_legacy_only(settings.era, needs)
        async with _wire(streams, legacy=legacy) as (inbox, outbox), prism.host() as agent:
            push = Push(outbox, frozenset(needs.experimental), settings.write_within)
            server = build_server(Connection(agent, push), needs, _version(prism))
            await server.run(
                inbox,
                outbox,
                server.create_initialization_options(NotificationOptions(), experimental(needs)),
            )
            if ending is not None:
                ending()


def serves_legacy_only(era: Era, needs: HandshakeNeeds) -> bool:
    """Whether revisions without a handshake are refused.

    Claude Code asks for the newest revision first and then takes no channel events; refused, it
    falls back to the handshake on the same connection.
    """
    return era is Era.LEGACY or (era is Era.AUTO and needs.unsolicited)


@asynccontextmanager
async def _wire(streams: Streams, *, legacy: bool) -> AsyncIterator[tuple[Inbox, Outbox]]:
    outbox = Outbox(streams.write, lambda: inbox.end())
    inbox = Inbox(streams.read, outbox.post, legacy=legacy)
    async with anyio.create_task_group() as tasks:
        flushed = anyio.Event()

        async def write() -> None:
            await outbox.run()
            flushed.set()

        tasks.start_soon(write)
        yield inbox, outbox
        await outbox.aclose()
        with anyio.move_on_after(_FLUSH_WITHIN):
            await flushed.wait()
        tasks.cancel_scope.cancel()


def _version(prism: Prism) -> str:
    found = (f.origin.version for f in prism.registry.gateways if f.plugin.name == "mcp")
    return next(found, "0")
