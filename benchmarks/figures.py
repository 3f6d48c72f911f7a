"""What a benchmark found: rows, notes, and the aims it was held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .samples import Sample


@dataclass(frozen=True, slots=True)
class Row:
    """One measured line.

    Attributes:
        label: What was measured. Lines of raw limits begin with `raw`.
        value: The median, or the single value.
        unit: `ms`, `/s`, `MiB` or `%`.
        p99: The 99th percentile, where there is one.
        n: How many measurements.
    """

    label: str
    value: float
    unit: str = "ms"
    p99: float | None = None
    n: int = 1

    @classmethod
    def of(cls, label: str, sample: Sample) -> Row:
        """The row of some durations."""
        return cls(label, sample.p50, "ms", sample.p99, len(sample.values))

    def line(self) -> str:
        """As it is printed."""
        value = f"{_short(self.value):>9} {self.unit:<3}"
        p99 = f"  p99 {_short(self.p99):>8}" if self.p99 is not None else " " * 14
        n = f"  n={self.n}" if self.n > 1 else ""
        return f"  {self.label:<52}{value}{p99}{n}"


@dataclass(frozen=True, slots=True)
class Aim:
    """A promise and what became of it.

    Attributes:
        text: What is compared, for example `p50 / raw p50`.
        value: What was measured.
        limit: What it is held against.
        unit: `×`, `ms`, `%` or `MiB`.
        at_least: The value must not be below the limit; otherwise it must not be above.
    """

    text: str
    value: float
    limit: float
    unit: str = "×"
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the promise is kept in this run."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def line(self) -> str:
        """As it is printed."""
        word = "at least" if self.at_least else "at most"
        verdict = "met" if self.met else "NOT MET"
        return (
            f"  = {self.text}: {_short(self.value)} {self.unit} "
            f"(aim: {word} {self.limit:g} {self.unit}) {verdict}"
        )


@dataclass(frozen=True, slots=True)
class Ratio:
    """A comparison without a promise."""

    text: str
    value: float
    unit: str = "×"

    def line(self) -> str:
        """As it is printed."""
        return f"  = {self.text}: {_short(self.value)} {self.unit}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One benchmark's result."""

    name: str
    title: str
    rows: Sequence[Row]
    ratios: Sequence[Ratio] = ()
    aims: Sequence[Aim] = ()
    notes: Sequence[str] = ()

    def text(self) -> str:
        """As it is printed."""
        lines = [f"{self.name}: {self.title}", *(r.line() for r in self.rows)]
        lines += [r.line() for r in self.ratios]
        lines += [a.line() for a in self.aims]
        lines += [f"  note: {n}" for n in self.notes]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        return {**asdict(self), "aims": [{**asdict(a), "met": a.met} for a in self.aims]}


def _short(value: float) -> str:
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"
