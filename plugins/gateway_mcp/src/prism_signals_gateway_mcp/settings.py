"""Settings of the MCP server: `PRISM_MCP_*`."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, Field


class Era(StrEnum):
    """Which protocol revisions are served."""

    AUTO = "auto"
    """`LEGACY` where a strategy of the route must send what nobody asked for, else `BOTH`."""
    LEGACY = "legacy"
    """Those with a handshake, up to 2025-11-25. A client that asks for newer ones falls back."""
    BOTH = "both"
    """Also 2026-07-28, which has no way to send what nobody asked for."""


class MCPSettings(BaseModel):
    """Settings of this gateway."""

    era: Era = Field(
        default=Era.AUTO,
        description="The protocol revisions that are served: auto, legacy (up to 2025-11-25) or "
        "both.",
    )
    write_within: float = Field(
        default=2.0,
        gt=0,
        le=60,
        description="Seconds until a notification is given up because the client does not read.",
    )
