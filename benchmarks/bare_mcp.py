"""The raw limit of an MCP server: the official library's low-level server with one tool."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as t
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

ECHO = t.Tool(
    name="echo",
    description="Gives back its text.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
)


async def list_tools(context: Any, params: Any) -> t.ListToolsResult:
    """The one tool."""
    return t.ListToolsResult(tools=[ECHO])


async def call_tool(context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
    """Answer with the text that came."""
    text = str((params.arguments or {}).get("text", ""))
    return t.CallToolResult(content=[t.TextContent(type="text", text=text)])


async def main() -> None:
    """Serve on stdio until the input ends."""
    server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
