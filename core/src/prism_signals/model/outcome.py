"""What became of one attempt to put a signal in front of a model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class OutcomeKind(StrEnum):
    """The five ends an attempt can have."""

    CONFIRMED = "confirmed"
    HANDED_OVER = "handed_over"
    DEFERRED = "deferred"
    UNKNOWN = "unknown"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The answer of `SignalDeliveryStrategy.deliver`.

    Attributes:
        kind: `CONFIRMED`: it is in the model's context. `HANDED_OVER`: the surface took it and can
            say no more. `DEFERRED`: it was certainly not shown. `UNKNOWN`: it may have been shown.
            `REFUSED`: it can never go through this strategy.
        after: With `DEFERRED`, how long to wait before the next try; None leaves it to the engine.
        reason: In words, for the person who reads the status.
    """

    kind: OutcomeKind
    after: timedelta | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.kind in (OutcomeKind.CONFIRMED, OutcomeKind.HANDED_OVER)

    @classmethod
    def of(cls, answer: DeliveryOutcome | bool) -> DeliveryOutcome:
        """Read a strategy's answer: a plain True is `CONFIRMED`, a plain False `DEFERRED`.

        Raises:
            TypeError: The answer is neither an outcome nor a bool.
        """
        if isinstance(answer, DeliveryOutcome):
            return answer
        if isinstance(answer, bool):
            return CONFIRMED if answer else deferred()
        raise TypeError(
            f"deliver() answered {type(answer).__name__}; return a DeliveryOutcome or a bool"
        )


CONFIRMED = DeliveryOutcome(OutcomeKind.CONFIRMED)
"""The signal is in the model's context."""
HANDED_OVER = DeliveryOutcome(OutcomeKind.HANDED_OVER)
"""The surface took the signal and cannot say whether the model saw it."""


def deferred(reason: str = "", *, after: timedelta | None = None) -> DeliveryOutcome:
    """Certainly not shown; try again after a while, or once the strategy says it is ready."""
    return DeliveryOutcome(OutcomeKind.DEFERRED, after, reason)


def unknown(reason: str = "") -> DeliveryOutcome:
    """It may have been shown: the next offer is marked `redelivered`."""
    return DeliveryOutcome(OutcomeKind.UNKNOWN, None, reason)


def refused(reason: str) -> DeliveryOutcome:
    """Never through this strategy: the next one of the route is asked."""
    return DeliveryOutcome(OutcomeKind.REFUSED, None, reason)
