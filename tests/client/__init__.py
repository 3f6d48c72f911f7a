"""A small raw MCP client over stdio, and real `prism mcp` processes to point it at.

Nothing here uses the product's code: what these tests see is what any client sees on the wire.
"""

from __future__ import annotations

from .gateway import Gateway, Refused
from .stage import Pool, Stage
from .waiting import PATIENCE, Patience, until
from .wire import Closed, RpcError, Wire, alive
from .world import PRISM, ROOT, World, agent_entries, new_project, system_entries

__all__ = [
    "PATIENCE",
    "PRISM",
    "ROOT",
    "Closed",
    "Gateway",
    "Patience",
    "Pool",
    "Refused",
    "RpcError",
    "Stage",
    "Wire",
    "World",
    "agent_entries",
    "alive",
    "new_project",
    "system_entries",
    "until",
]
