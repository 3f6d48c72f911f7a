"""A good strategy towards a far end in memory, and strategies with one fault each."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from prism_signals import (
    CONFIRMED,
    HANDED_OVER,
    DeliveryOutcome,
    OutcomeKind,
    Signal,
    SignalDeliveryStrategy,
    StrategyUnavailable,
    deferred,
    headline,
    refused,
    render_text,
)
from prism_signals_testkit import StrategyHarness

SECRET = "hunter2-of-the-letter-box"
LONGEST = 4000


class Rejected(Exception):
    """The far end refuses this text for good."""


@dataclass
class FarEnd:
    """A box for letters that can be broken in every way."""

    letters: list[str] = field(default_factory=list)
    opened: list[object] = field(default_factory=list)
    up: bool = True
    hangs: bool = False
    rejects: bool = False
    arrived: anyio.Event | None = None

    async def send(self, text: str, password: str) -> None:
        """Take one letter."""
        assert password == SECRET
        await anyio.lowlevel.checkpoint()
        if not self.up:
            raise ConnectionError("nobody listens")
        if self.hangs:
            await anyio.sleep_forever()
        if self.rejects:
            raise Rejected("no such agent")
        self.letters.append(text)
        if self.arrived is not None:
            self.arrived.set()


class LetterBox(SignalDeliveryStrategy):
    """Keeps every clause."""

    def __init__(self, far: FarEnd, password: str) -> None:
        self._far = far
        self._password = password

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Put one letter into the box."""
        try:
            await self._far.send(self.render(signal), self._password)
        except ConnectionError as e:
            return deferred(str(e))
        except Rejected as e:
            return refused(str(e))
        return HANDED_OVER

    def render(self, signal: Signal) -> str:
        """What the model sees."""
        return render_text(signal, max_chars=LONGEST)

    def supports_push(self) -> bool:
        """It pushes."""
        return True


class Confirms(LetterBox):
    """Says that the model has seen what was only handed over."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Answers True."""
        outcome = DeliveryOutcome.of(await super().deliver(signal))
        return CONFIRMED if outcome else outcome


class AcceptsWhenDown(LetterBox):
    """Reports success for what went nowhere."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Takes a lost connection for a detail."""
        outcome = DeliveryOutcome.of(await super().deliver(signal))
        return HANDED_OVER if outcome.kind is OutcomeKind.DEFERRED else outcome


class SwallowsCancellation(LetterBox):
    """Answers when it is cancelled."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Takes the cancellation for a failure of the far end."""
        try:
            return await super().deliver(signal)
        except BaseException:  # noqa: BLE001 - the fault
            return False


class BlocksTheLoop(LetterBox):
    """Works without letting others run."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Sleeps as a thread would, over a long text."""
        if len(headline(signal.payload)) == 2000:
            time.sleep(0.15)  # noqa: ASYNC251 - the fault
        return await super().deliver(signal)


class ShowsItsSecret(LetterBox):
    """Has a password in its repr."""

    def __repr__(self) -> str:
        return f"LetterBox(password={self._password!r})"


class LogsItsSecret(LetterBox):
    """Logs a password while it debugs."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Says too much."""
        logging.getLogger("letter_box").debug("sending with %s", self._password)
        return await super().deliver(signal)


class Doubles(LetterBox):
    """Delivers twice, to be on the safe side."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Sends a second letter."""
        outcome = await super().deliver(signal)
        if outcome:
            await super().deliver(signal)
        return outcome


class Reorders(LetterBox):
    """Lets every second signal wait for the next one."""

    def __init__(self, far: FarEnd, password: str) -> None:
        super().__init__(far, password)
        self._late: Signal | None = None
        self._number = 0

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Holds one back in memory from the third on."""
        self._number += 1
        if self._number == 3:
            self._late = signal
            return HANDED_OVER
        outcome = await super().deliver(signal)
        if self._late is not None and outcome:
            await super().deliver(self._late)
            self._late = None
        return outcome


class PlainText(LetterBox):
    """Shows a peer's text as it is."""

    def render(self, signal: Signal) -> str:
        """Quotes nothing."""
        text = headline(signal.payload)
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({signal.signal_id})"
        return f"📨 Signal from {signal.from_identity}: {shown}"


class CutsSilently(LetterBox):
    """Shows the beginning of a long text, and does not say so."""

    def render(self, signal: Signal) -> str:
        """Cuts."""
        return render_text(signal, max_chars=100_000)[:LONGEST]


class CutsUnicode(LetterBox):
    """Shows ASCII only."""

    def render(self, signal: Signal) -> str:
        """Replaces what it does not know."""
        return super().render(signal).encode("ascii", "replace").decode()


class StaysDown(LetterBox):
    """Never tries again after the first failure."""

    def __init__(self, far: FarEnd, password: str) -> None:
        super().__init__(far, password)
        self._lost = False

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Gives up for good."""
        if self._lost:
            return deferred("the connection was lost")
        outcome = DeliveryOutcome.of(await super().deliver(signal))
        self._lost = outcome.kind is OutcomeKind.DEFERRED
        return outcome


class RefusesSilently(LetterBox):
    """Refuses without a reason."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Says only no."""
        outcome = DeliveryOutcome.of(await super().deliver(signal))
        return replace(outcome, reason="") if outcome.kind is OutcomeKind.REFUSED else outcome


class PushesSometimes(LetterBox):
    """Pushes while the far end is there."""

    def supports_push(self) -> bool:
        """Depends on the moment."""
        return self._far.up


class LeavesThings(LetterBox):
    """Leaves its connection open when its context ends."""


class DefersAndDelivers(LetterBox):
    """Says `DEFERRED` for what it sends when the far end is back."""

    def __init__(self, far: FarEnd, password: str) -> None:
        super().__init__(far, password)
        self._kept: list[Signal] = []

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Keeps in memory what it could not send."""
        kept, self._kept = self._kept, []
        outcome = DeliveryOutcome.of(await super().deliver(signal))
        if outcome.kind is OutcomeKind.DEFERRED:
            self._kept = [*kept, signal]
        else:
            for late in kept:
                await super().deliver(late)
        return outcome


Make = Callable[[FarEnd, str], SignalDeliveryStrategy]
FAULTS: dict[str, Make] = {
    "confirms": Confirms,
    "accepts_when_down": AcceptsWhenDown,
    "swallows_cancellation": SwallowsCancellation,
    "blocks_the_loop": BlocksTheLoop,
    "shows_its_secret": ShowsItsSecret,
    "logs_its_secret": LogsItsSecret,
    "doubles": Doubles,
    "reorders": Reorders,
    "plain_text": PlainText,
    "cuts_silently": CutsSilently,
    "cuts_unicode": CutsUnicode,
    "stays_down": StaysDown,
    "refuses_silently": RefusesSilently,
    "pushes_sometimes": PushesSometimes,
    "leaves_things": LeavesThings,
    "defers_and_delivers": DefersAndDelivers,
}


class LetterBoxes(StrategyHarness):
    """Opens the good strategy, or one with a fault, towards one far end."""

    patience = 0.4
    max_chars = LONGEST
    secrets = (SECRET,)

    def __init__(self, fault: str | None = None) -> None:
        self._make: Make = FAULTS[fault] if fault else LetterBox
        self._far = FarEnd()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SignalDeliveryStrategy]:
        """With its password."""
        strategy = self._make(self._far, SECRET)
        self._far.opened.append(strategy)
        yield strategy
        if self._make is not LeavesThings:
            self._far.opened.remove(strategy)

    @asynccontextmanager
    async def open_unreachable(self) -> AsyncIterator[SignalDeliveryStrategy]:
        """Where there is no box."""
        raise StrategyUnavailable("There is no letter box here. Hang one up.")
        yield LetterBox(self._far, SECRET)

    def leftovers(self) -> Sequence[str]:
        """What has a connection to the box."""
        return [str(id(s)) for s in self._far.opened]

    async def received(self, at_least: int = 0) -> Sequence[str]:
        """The letters in the box."""
        while len(self._far.letters) < at_least:
            self._far.arrived = anyio.Event()
            await self._far.arrived.wait()
        return tuple(self._far.letters)

    async def go_down(self) -> None:
        """Nobody listens."""
        self._far.up = False

    async def hang(self) -> None:
        """Letters are taken and never stored."""
        self._far.hangs = True

    async def reject(self) -> None:
        """No such agent."""
        self._far.rejects = True

    async def come_back(self) -> None:
        """As on the first day."""
        self._far.up, self._far.hangs, self._far.rejects = True, False, False
