"""What a backend can tell about itself, for `prism doctor`. Offering it is not required."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a store, a directory or a bus says of itself.

    Attributes:
        location: Where it keeps its things, in words; never a secret.
        folder: The folder on this machine that it writes to, or None.
        schema_version: The version of what it keeps, or None.
        leftovers: What ended processes left behind, one line each.
    """

    location: str = ""
    folder: Path | None = None
    schema_version: int | None = None
    leftovers: tuple[str, ...] = ()


@runtime_checkable
class Inspectable(Protocol):
    """A store, a directory or a bus that can tell about itself."""

    async def inspect(self) -> Inspection:
        """Look; this changes nothing."""
        ...
