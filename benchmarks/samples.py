"""Measured durations and what is said of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

MILLISECOND = 1_000_000  # in nanoseconds, which everything here is measured in
SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """Durations in nanoseconds, sorted."""

    values: tuple[int, ...]

    @classmethod
    def of(cls, durations: Iterable[int]) -> Sample:
        """Make one from durations in any order.

        Raises:
            ValueError: There are none.
        """
        values = tuple(sorted(durations))
        if not values:
            raise ValueError("nothing was measured")
        return cls(values)

    def quantile(self, q: float) -> float:
        """The duration in milliseconds that a share `q` of them does not exceed."""
        place = max(0, min(len(self.values) - 1, round(q * len(self.values)) - 1))
        return self.values[place] / MILLISECOND

    @property
    def p50(self) -> float:
        """The median in milliseconds."""
        return self.quantile(0.5)

    @property
    def p99(self) -> float:
        """The 99th percentile in milliseconds."""
        return self.quantile(0.99)

    @property
    def best(self) -> float:
        """The shortest in milliseconds: what noise can only lengthen."""
        return self.values[0] / MILLISECOND


def now() -> int:
    """Nanoseconds of the monotonic clock, which all processes of a machine share.

    On Linux that is CLOCK_MONOTONIC, on macOS mach_absolute_time; both count from the machine's
    start, so that moments taken in two processes can be subtracted.
    """
    return time.monotonic_ns()
