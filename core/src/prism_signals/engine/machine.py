"""The push path of one session as a state machine: no I/O, no clock, no event loop.

Its driver asks `next(now)` for a command, carries it out, and reports the result. The machine holds
at most one lease at a time, so that nobody holds a lease while waiting (DESIGN §6).

```
          rang / ready / due                lease            outcome
   REST ───────────────────▶ LOOK ──────────────▶ OFFER ──────────────▶ SETTLE ──▶ LOOK
    ▲                         │ nothing             ▲ │ REFUSED
    └─────────────────────────┘                     └─┘ next strategy
```
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from ..model.delivery import DeliveryState, Lease, Settlement
from ..model.ids import SignalId
from ..model.outcome import DeliveryOutcome, OutcomeKind

_BUGS_TO_OPEN = 3
_CIRCUIT_FIRST = timedelta(seconds=30)
_CIRCUIT_LONGEST = timedelta(minutes=10)
_DEFER_FIRST = timedelta(seconds=1)
_DEFER_LONGEST = timedelta(seconds=60)
_RETRIES = tuple(timedelta(seconds=2**n) for n in range(9))
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Step:
    """One strategy of the route, as far as the machine cares.

    Attributes:
        name: The strategy.
        push: It delivers without a verb.
        wakes: It cannot deliver without starting a turn in an idle session.
        retries: Least waits after attempts of unknown end.
    """

    name: str
    push: bool = True
    wakes: bool = False
    retries: tuple[timedelta, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """Command: lease one signal; `quiet` ones too if said, and leave those in `exclude`."""

    quiet: bool
    exclude: frozenset[SignalId]


@dataclass(frozen=True, slots=True)
class Offer:
    """Command: give this lease's signal to this strategy, under a deadline."""

    lease: Lease
    strategy: str


@dataclass(frozen=True, slots=True)
class Settle:
    """Command: end this lease so."""

    lease: Lease
    settlement: Settlement


@dataclass(frozen=True, slots=True)
class Rearm:
    """Command: make what was postponed due."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Command: nothing to do before this moment, or before something happens."""

    until: datetime | None


Command = Look | Offer | Settle | Rearm | Rest


class _Stage(StrEnum):
    REST = "rest"
    LOOK = "look"
    OFFER = "offer"
    SETTLE = "settle"


@dataclass(slots=True)
class _Circuit:
    bugs: int = 0
    opened: int = 0
    until: datetime | None = None

    def bug(self, now: datetime) -> None:
        self.bugs += 1
        if self.bugs >= _BUGS_TO_OPEN:
            self.until = now + min(_CIRCUIT_FIRST * 2**self.opened, _CIRCUIT_LONGEST)
            self.opened += 1
            self.bugs = _BUGS_TO_OPEN - 1  # half open afterwards: one more bug opens it again

    def good(self) -> None:
        self.bugs, self.opened, self.until = 0, 0, None

    def closed(self, now: datetime) -> bool:
        return self.until is None or self.until <= now


@dataclass(slots=True)
class DeliveryMachine:
    """Decides what the push path of one session does next.

    Attributes:
        steps: The session's route.
        max_attempts: Attempts of unknown end before only the floor is left.
        engaged_window: After a verb, what does not wake may pass a strategy that always wakes.
    """

    steps: Sequence[Step]
    max_attempts: int = 8
    engaged_window: timedelta = timedelta(minutes=10)
    _stage: _Stage = _Stage.REST
    _due: bool = True
    _rearm: bool = False
    _hold: datetime | None = None
    _pause: datetime | None = None
    _deferrals: int = 0
    _engaged_at: datetime | None = None
    _lease: Lease | None = None
    _left: list[Step] = field(default_factory=list)
    _settlement: Settlement | None = None
    _down: set[str] = field(default_factory=set)
    _circuits: dict[str, _Circuit] = field(default_factory=dict)
    _refused: OrderedDict[SignalId, None] = field(default_factory=OrderedDict)
    _refused_by_floor: OrderedDict[SignalId, None] = field(default_factory=OrderedDict)

    @property
    def floor(self) -> bool:
        """Whether the route has a strategy that waits for verbs."""
        return any(not s.push for s in self.steps)

    @property
    def lease(self) -> Lease | None:
        """The lease held right now."""
        return self._lease

    # -- what happens outside ---------------------------------------------------------------

    def rang(self) -> None:
        """There may be something to lease."""
        self._due = True

    def ready(self) -> None:
        """A surface can take signals again."""
        self._hold, self._deferrals = None, 0
        self._rearm = self._due = True

    def engaged(self, now: datetime) -> None:
        """The agent used a verb."""
        self._engaged_at, self._due = now, True

    def available(self, strategy: str, *, up: bool, push: bool | None = None) -> None:
        """A strategy opened, or went away; `push` says of which kind it is, once that is known."""
        if push is not None:
            self.steps = [replace(s, push=push) if s.name == strategy else s for s in self.steps]
        if up:
            self._down.discard(strategy)
            self._refused.clear()  # those that were there refused; this one was not asked
            self._refused_by_floor.clear()
            self._due = True
        else:
            self._down.add(strategy)

    def floor_refused(self, signal_id: SignalId) -> bool:
        """What waits for verbs will never show it; gives whether no strategy at all is left."""
        _remember(self._refused_by_floor, signal_id)
        return signal_id in self._refused or not any(s.push for s in self.steps)

    @property
    def left_to_push(self) -> frozenset[SignalId]:
        """What the floor refused: a verb need not lease it again."""
        return frozenset(self._refused_by_floor)

    # -- what the driver does ---------------------------------------------------------------

    def next(self, now: datetime) -> Command:
        """What to do now. Asking twice without reporting gives the same command."""
        if self._pause is not None and now < self._pause:
            return Rest(self._pause)
        if self._stage is _Stage.OFFER and self._lease:
            return Offer(self._lease, self._left[0].name)
        if self._stage is _Stage.SETTLE and self._lease and self._settlement:
            return Settle(self._lease, self._settlement)
        if self._rearm:
            return Rearm()
        if self._hold is not None and self._hold <= now:
            self._hold, self._due = None, True
        usable = self._usable(now)
        if self._stage is _Stage.LOOK or (self._due and self._hold is None and usable):
            self._stage = _Stage.LOOK
            return Look(self._quiet(usable, now), frozenset(self._refused))
        return Rest(self._wake_at(now))

    def poll(self, now: datetime) -> Look | None:
        """What a look without a ring should ask for; None where nothing could be pushed anyway."""
        usable = self._usable(now)
        paused = self._pause is not None and now < self._pause
        if paused or self._hold is not None or not usable:
            return None
        return Look(self._quiet(usable, now), frozenset(self._refused))

    def rearmed(self) -> None:
        """`Rearm` was carried out."""
        self._rearm = False

    def leased(self, lease: Lease | None, now: datetime) -> None:
        """`Look` was carried out: this was leased, or there was nothing."""
        self._stage = _Stage.REST
        if lease is None:
            self._due = False
            return
        self._lease = lease
        self._left = [s for s in self._usable(now) if self._may(s, lease, now)]
        if self._left:
            self._stage = _Stage.OFFER
        else:
            self._settle(Settlement(DeliveryState.PENDING, retry_after=_DEFER_FIRST))

    def answered(self, outcome: DeliveryOutcome, now: datetime, *, bug: bool = False) -> None:
        """`Offer` was carried out; `bug` says that the strategy raised or hung instead."""
        if self._lease is None or self._stage is not _Stage.OFFER:
            return
        step = self._left[0]
        circuit = self._circuits.setdefault(step.name, _Circuit())
        if bug:
            circuit.bug(now)
        if outcome:
            circuit.good()
            self._deferrals = 0
            confirmed = outcome.kind is OutcomeKind.CONFIRMED
            self._settle(
                Settlement(DeliveryState.DELIVERED, step.name, confirmed=confirmed, shown=True)
            )
        elif outcome.kind is OutcomeKind.DEFERRED:
            self._defer(outcome, now)
        elif outcome.kind is OutcomeKind.REFUSED:
            self._refuse(outcome.reason)
        else:
            self._unknown(step, outcome.reason)

    def settled(self) -> None:
        """`Settle` was carried out, whether or not the lease was still current."""
        self._lease, self._settlement, self._left = None, None, []
        self._stage, self._due = _Stage.REST, True

    def failed(self, now: datetime, wait: timedelta) -> None:
        """The store could not carry out a command; try again after a while, whatever happens.

        A settlement is kept: given up, its lease would run out, and what was shown would be shown
        again.
        """
        self._pause = now + wait

    # -- decisions --------------------------------------------------------------------------

    def _usable(self, now: datetime) -> list[Step]:
        return [
            s
            for s in self.steps
            if s.push
            and s.name not in self._down
            and (s.name not in self._circuits or self._circuits[s.name].closed(now))
        ]

    def _may(self, step: Step, lease: Lease, now: datetime) -> bool:
        return lease.delivery.wakes or not step.wakes or self._is_engaged(now)

    def _quiet(self, usable: Sequence[Step], now: datetime) -> bool:
        return self._is_engaged(now) or any(not s.wakes for s in usable)

    def _is_engaged(self, now: datetime) -> bool:
        return self._engaged_at is not None and now - self._engaged_at <= self.engaged_window

    def _wake_at(self, now: datetime) -> datetime | None:
        moments = [c.until for c in self._circuits.values() if c.until and c.until > now]
        if self._hold is not None:
            moments.append(self._hold)
        return min(moments, default=None)

    def _settle(self, settlement: Settlement) -> None:
        self._settlement, self._stage = settlement, _Stage.SETTLE

    def _defer(self, outcome: DeliveryOutcome, now: datetime) -> None:
        wait = outcome.after or min(_DEFER_FIRST * 2**self._deferrals, _DEFER_LONGEST)
        self._deferrals = min(self._deferrals + 1, 10)
        self._hold = now + wait
        self._settle(
            Settlement(DeliveryState.PENDING, retry_after=wait, error=outcome.reason or None)
        )

    def _unknown(self, step: Step, reason: str) -> None:
        assert self._lease is not None  # noqa: S101 - guaranteed by the stage
        tried = self._lease.delivery.attempts
        if tried + 1 >= self.max_attempts and not self.floor:
            self._settle(
                Settlement(
                    DeliveryState.DEAD,
                    shown=True,
                    counts=True,
                    error=f"gave up after {tried + 1} attempts: {reason or 'end unknown'}",
                )
            )
            return
        waits = step.retries or _RETRIES
        self._settle(
            Settlement(
                DeliveryState.PENDING,
                shown=True,
                counts=True,
                retry_after=waits[min(tried, len(waits) - 1)],
                error=reason or "end unknown",
            )
        )

    def _refuse(self, reason: str) -> None:
        assert self._lease is not None  # noqa: S101 - guaranteed by the stage
        self._left.pop(0)
        if self._left:
            return
        signal_id = self._lease.signal.signal_id
        if not self.floor or signal_id in self._refused_by_floor:
            self._settle(Settlement(DeliveryState.DEAD, error=f"refused: {reason}"))
            return
        _remember(self._refused, signal_id)
        self._settle(Settlement(DeliveryState.PENDING, error=f"refused: {reason}"))


def _remember(refused: OrderedDict[SignalId, None], signal_id: SignalId) -> None:
    refused[signal_id] = None
    while len(refused) > _REMEMBERED:
        refused.popitem(last=False)
