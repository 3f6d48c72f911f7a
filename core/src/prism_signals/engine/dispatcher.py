"""Drives the delivery machine of one session: leases, asks strategies, settles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from logging import Logger
from math import inf

import anyio

from ..clock import Clock
from ..contract.bus import Bus
from ..contract.store import Claim, Store
from ..errors import PrismError
from ..model.delivery import Lease, Settlement
from ..model.outcome import DeliveryOutcome, deferred, unknown
from .machine import DeliveryMachine, Look, Offer, Rearm, Settle
from .settlements import ring_settled
from .supervisor import StrategyTask

LEASE_MARGIN = timedelta(seconds=5)
_STORE_PAUSE = timedelta(seconds=1)
_SETTLE_WITHIN = 5.0  # seconds, also while the session is being closed

Attempted = Callable[[Lease, str, DeliveryOutcome], None]


class Dispatcher:
    """The push path of one session.

    Args:
        machine: Decides.
        tasks: The route's strategies by name.
        store: Leases and settles.
        bus: Rings the sender.
        clock: The time.
        log: Where trouble is told.
        claim: Makes the claim of this moment: `claim(quiet, exclude)`.
        deadline: For one delivery.
        attempted: Is told of every attempt.
        resting: Does what can wait until nothing is left to deliver.
    """

    def __init__(
        self,
        machine: DeliveryMachine,
        tasks: Mapping[str, StrategyTask],
        *,
        store: Store,
        bus: Bus,
        clock: Clock,
        log: Logger,
        claim: Callable[[Look], Claim],
        deadline: timedelta,
        attempted: Attempted,
        resting: Callable[[], Awaitable[None]],
    ) -> None:
        self.machine = machine
        self._tasks, self._store, self._bus, self._clock, self._log = tasks, store, bus, clock, log
        self._claim, self._deadline, self._attempted = claim, deadline, attempted
        self._resting = resting
        self._changed = anyio.Event()

    def nudge(self) -> None:
        """Something was told to the machine: look at it."""
        self._changed.set()

    async def run(self) -> None:
        """Deliver until cancelled; a lease held then is settled as of unknown end."""
        while True:
            command = self.machine.next(self._clock.now())
            try:
                if isinstance(command, Look):
                    await self._look(command)
                elif isinstance(command, Offer):
                    await self._offer(command)
                elif isinstance(command, Settle):
                    await self._settle(command.lease, command.settlement)
                elif isinstance(command, Rearm):
                    claim = self._claim(Look(True, frozenset()))
                    await self._store.rearm(claim.scope, claim.recipient, claim.session_id)
                    self.machine.rearmed()
                else:
                    await self._rest(
                        (command.until - self._clock.now()).total_seconds()
                        if command.until
                        else inf
                    )
            except PrismError as e:
                self._log.warning("delivery pauses: %s", e)
                self.machine.failed(self._clock.now(), _STORE_PAUSE)

    async def _rest(self, seconds: float) -> None:
        """Wait for news, and behind that look by itself as often as the bus says (invariant 8).

        A session that nothing can be pushed to sleeps through: what waits for verbs needs no poll.
        """
        await self._resting()
        poll = self._bus.poll_interval.total_seconds()
        look = self.machine.poll(self._clock.now())
        with anyio.move_on_after(min(max(seconds, 0.0), poll if look else inf)):
            await self._changed.wait()
        if self._changed.is_set():
            self._changed = anyio.Event()
        elif look and seconds > poll and await self._store.pending(self._claim(look)):
            self.machine.rang()

    async def _look(self, look: Look) -> None:
        with anyio.CancelScope(shield=True):  # or a lease could be granted and then forgotten
            leases = await self._store.lease(self._claim(look))
        self.machine.leased(leases[0] if leases else None, self._clock.now())

    async def _offer(self, offer: Offer) -> None:
        task = self._tasks[offer.strategy]
        try:
            answer = await task.deliver(
                offer.lease.signal, redelivered=offer.lease.redelivered, deadline=self._deadline
            )
        except anyio.get_cancelled_exc_class():
            why = "the session ended"
            cut = unknown(why) if task.begun else deferred(why)
            self.machine.answered(cut, self._clock.now())
            command = self.machine.next(self._clock.now())
            if isinstance(command, Settle):
                await self._settle(command.lease, command.settlement)
            raise
        self._attempted(offer.lease, offer.strategy, answer.outcome)
        self.machine.answered(answer.outcome, self._clock.now(), bug=answer.bug)

    async def _settle(self, lease: Lease, settlement: Settlement) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_SETTLE_WITHIN):
            if await self._store.settle(lease, settlement):
                await ring_settled(self._bus, lease.signal, self._log)
        self.machine.settled()
