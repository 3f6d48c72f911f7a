"""Prism Signals for agents: an MCP server on stdio, `prism mcp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prism_signals import CommandPlugin, GatewayPlugin, hookimpl

from .settings import Era, MCPSettings

if TYPE_CHECKING:
    from prism_signals import Prism  # discovery imports this module, and needs no engine for it

__all__ = ["Era", "MCPSettings", "prism_commands", "prism_gateways"]


async def _serve(prism: Prism) -> None:
    from .serving import serve  # the MCP library is only paid for where it is used

    await serve(prism)


@hookimpl
def prism_gateways() -> Sequence[GatewayPlugin]:
    """The gateway `mcp`."""
    return [GatewayPlugin("mcp", _serve, MCPSettings)]


@hookimpl
def prism_commands() -> Sequence[CommandPlugin]:
    """The command `prism mcp`."""
    return [
        CommandPlugin(
            "mcp",
            "Serve one agent over MCP on standard input and output.",
            "prism_signals_gateway_mcp.command:main",
        )
    ]
