"""How thorough a run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """How thorough a run is.

    Attributes:
        quick: Only show that everything works; the numbers mean little.
    """

    quick: bool = False

    def scaled(self, thorough: int, quick: int) -> int:
        """A number of repetitions."""
        return quick if self.quick else thorough
