"""The MCP server of one connection: tools, answers and errors."""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from prism_signals import HandshakeNeeds, PrismError

from .arguments import schema_of
from .connection import Connection
from .verbs import INSTRUCTIONS, VERBS, Verb

NAME = "prism-signals"
_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


class _Handlers:
    """What the server answers with, for one connection."""

    def __init__(self, connection: Connection, needs: HandshakeNeeds) -> None:
        self._connection, self._needs = connection, needs
        self._tools = types.ListToolsResult(tools=[_tool(v) for v in VERBS])
        self._verbs = {v.name: v for v in VERBS}

    async def list_tools(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self._connection.requested(modern=_modern(context))
        return self._tools

    async def call_tool(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self._connection.requested(modern=_modern(context))
        verb = self._verbs.get(params.name)
        if verb is None:
            raise MCPError(
                types.INVALID_PARAMS,
                f"Unknown tool {ascii(params.name)[:80]}. The tools are: {', '.join(self._verbs)}.",
            )
        return await answer(verb, self._connection, params.arguments or {})

    async def initialized(self, context: _Context, params: types.NotificationParams) -> None:
        self._connection.initialized()


def build_server(connection: Connection, needs: HandshakeNeeds, version: str) -> Server[Any]:
    """The server that serves this connection.

    Args:
        connection: Whom the verbs act for.
        needs: What the route needs from the handshake.
        version: This gateway's version.
    """
    handlers = _Handlers(connection, needs)
    server: Server[Any] = Server(
        NAME,
        version=version,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )

    async def discover(context: _Context, params: types.RequestParams) -> types.DiscoverResult:
        return types.DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            instructions=INSTRUCTIONS,
            capabilities=server.get_capabilities(
                # What must be sent unasked cannot be sent here, so it is not promised either.
                experimental_capabilities=None if needs.unsolicited else experimental(needs),
                protocol_version=context.protocol_version,
            ),
        )

    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, handlers.initialized
    )
    server.add_request_handler("server/discover", types.RequestParams, discover)
    return server


def experimental(needs: HandshakeNeeds) -> dict[str, dict[str, Any]] | None:
    """The experimental capabilities in the form the MCP library takes."""
    return {name: dict(value) for name, value in needs.experimental.items()} or None


async def answer(
    verb: Verb, connection: Connection, given: Mapping[str, Any]
) -> types.CallToolResult:
    """One text block of JSON, never structured content: two major clients hide text beside it."""
    try:
        return _text(await verb.run(connection.agent, given))
    except PrismError as e:
        return _text({"error": e.as_json()}, is_error=True)
    except Exception as e:  # noqa: BLE001 - the call is answered, whatever broke
        _log.exception("%s failed", verb.name)
        told = PrismError(
            f"Something went wrong inside Prism Signals ({type(e).__name__}); the server's log "
            "says more. If it happens again, run 'prism doctor'."
        )
        return _text({"error": told.as_json()}, is_error=True)


def _text(answer: Mapping[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    text = _visible(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=is_error
    )


def _visible(text: str) -> str:
    """The same JSON, with everything escaped that no reader sees.

    Peer text can hold control sequences, line separators, reversed or hidden writing. Outside of
    strings JSON has none of these, so the text keeps its meaning.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else json.dumps(c)[1:-1]
        for c in text
    )


def _tool(verb: Verb) -> types.Tool:
    return types.Tool(
        name=verb.name,
        description=verb.purpose,
        input_schema=schema_of(verb.parameters),
        annotations=types.ToolAnnotations(
            read_only_hint=verb.reads, destructive_hint=False, open_world_hint=False
        ),
        _meta=_ALWAYS_LOAD if verb.at_hand else None,
    )


def _modern(context: _Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS
