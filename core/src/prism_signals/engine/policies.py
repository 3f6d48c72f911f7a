"""The rules every signal passes before it is stored, and the limits it is counted against. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from ..contract.posting import Limit
from ..errors import TooManyHops
from ..model.names import BROADCAST, canonical
from ..model.signal import Signal

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LoopGuard:
    """Keeps agents from talking in circles (lessons F-42, U-19, U-20).

    Attributes:
        max_hops: The most replies between a signal and its root.
        sender_per_minute: Signals a minute from one sender.
        pair_per_minute: Signals a minute between two identities, both ways together.
        pair_per_hour: The same in an hour.
        thread_per_minute: Signals a minute in one thread.
    """

    max_hops: int = 16
    sender_per_minute: int = 30
    pair_per_minute: int = 20
    pair_per_hour: int = 200
    thread_per_minute: int = 20

    def check(self, signal: Signal) -> Sequence[Limit]:
        """The limits this signal counts against.

        Raises:
            TooManyHops: The chain of replies is too long.
        """
        if signal.hops > self.max_hops:
            raise TooManyHops(
                f"This would be reply number {signal.hops} in its thread; the limit is "
                f"{self.max_hops}. Start a new thread without in_reply_to, or ask the human.",
                hops=signal.hops,
                limit=self.max_hops,
            )
        sender, to = canonical(signal.from_identity), canonical(signal.to_identity)
        limits = [
            Limit(f"sender:{sender}", self.sender_per_minute, MINUTE),
            Limit(f"thread:{signal.thread_id}", self.thread_per_minute, MINUTE),
        ]
        if to != BROADCAST:
            pair = "|".join(sorted((sender, to)))
            limits += [
                Limit(f"pair:{pair}", self.pair_per_minute, MINUTE),
                Limit(f"pair-hour:{pair}", self.pair_per_hour, HOUR),
            ]
        return limits
