"""What an author tells the kit about a strategy, and how the kit sees and breaks its far end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from prism_signals import SignalDeliveryStrategy

from .suite import Harness


class StrategyHarness(Harness, ABC):
    """One strategy and its far end, where nothing has arrived yet; make one for each test.

    What is declared is shown to hold, and what is not declared is shown not to happen.

    Attributes:
        pushes: What `supports_push` answers.
        confirms: It can tell that a signal is in the model's context; without, it never says so.
        max_chars: The longest text it shows; without, it shows every text whole.
        can_go_down: `go_down` and `come_back` work.
        can_hang: `hang` and `come_back` work.
        can_reject: `reject` and `come_back` work.
        secrets: Secret values of its settings, as `open` sets them.
        forgeries: What peer text must never become at the far end, for example `</channel>`.
    """

    pushes: bool = True
    confirms: bool = False
    max_chars: int | None = None
    can_go_down: bool = True
    can_hang: bool = True
    can_reject: bool = True
    secrets: tuple[str, ...] = ()
    forgeries: tuple[str, ...] = ()

    @abstractmethod
    def open(self) -> AbstractAsyncContextManager[SignalDeliveryStrategy]:
        """The strategy, opened towards this far end."""

    @abstractmethod
    async def received(self, at_least: int = 0) -> Sequence[str]:
        """What the model sees at the far end, in order of arrival, read past the strategy.

        Args:
            at_least: Wait until there is this much; the kit sets a deadline.
        """

    def open_unreachable(self) -> AbstractAsyncContextManager[SignalDeliveryStrategy] | None:
        """The strategy, opened where its surface is not; None where it is reachable anywhere."""
        return None

    def leftovers(self) -> Sequence[str]:
        """What exists of opened strategies just now: files, sockets, subscriptions, processes."""
        return ()

    async def go_down(self) -> None:
        """The far end is gone, as when its program ended."""
        raise NotImplementedError("declare can_go_down = False, or implement go_down()")

    async def hang(self) -> None:
        """The far end takes what is sent and never answers, so that a delivery waits.

        Where a delivery waits for nothing, declare `can_hang = False`.
        """
        raise NotImplementedError("declare can_hang = False, or implement hang()")

    async def reject(self) -> None:
        """The far end refuses what is sent, for good."""
        raise NotImplementedError("declare can_reject = False, or implement reject()")

    async def come_back(self) -> None:
        """The far end works again."""
        raise NotImplementedError("implement come_back(), or declare that nothing can fail")
