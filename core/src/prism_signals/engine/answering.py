"""Runs every verb the same way: it acts, it is evidence, and its answer carries what waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from ..errors import Unavailable
from ..model.ids import SignalId
from .answers import Answer, Attacher
from .attendance import Attendance
from .hosting import HostedSession, Surroundings

Act = Callable[[], Awaitable[dict[str, Any]]]


class Answers:
    """Gives the answers of one agent's verbs.

    Args:
        around: What it shares with others.
        attendance: Holds the agent's session.
    """

    def __init__(self, around: Surroundings, attendance: Attendance) -> None:
        self.carried: list[SignalId] = []
        """What the answers given so far carried whole; the next verb is evidence for it."""
        self._around, self._attendance = around, attendance
        self._attaching = anyio.Lock()
        self._attacher = Attacher(
            around.store,
            around.bus,
            around.offers,
            around.log,
            around.settings.seconds("delivery_deadline"),
            around.attempted,
        )

    async def give(
        self, act: Act, *, attach: bool, method: str | None, pid: str | None
    ) -> dict[str, Any]:
        """Run a verb; see `Agent.answering`.

        Once it has acted, a backend out of reach fails it no more: an error now would have the
        agent do the same again.
        """
        # Taken at once: what is carried from here on, this call is no evidence for.
        carried, self.carried = self.carried, []
        try:
            hosted = await self._attendance.ready(pid)
            await hosted.engage()
            answer = await act()
            carried = await self._confirm(hosted, carried)
        finally:
            self.carried = [*carried, *self.carried]
        if attach:
            await self._attach(hosted, answer, method)
        hosted.answered()
        return answer

    @asynccontextmanager
    async def last(self, hosted: HostedSession) -> AsyncIterator[None]:
        """The last verb of a session: it is evidence too, and no answer is half built meanwhile."""
        carried, self.carried = self.carried, []
        await self._confirm(hosted, carried)
        async with self._attaching:
            yield

    async def _confirm(self, hosted: HostedSession, carried: list[SignalId]) -> list[SignalId]:
        """These were read; gives those for which that was not recorded."""
        r = hosted.registration
        try:
            if carried:
                await self._around.store.confirm(r.scope, r.name.canonical, carried)
        except Unavailable as e:
            self._around.log.warning("what was read was not recorded: %s", e)
            return carried
        return []

    async def _attach(
        self, hosted: HostedSession, answer: dict[str, Any], method: str | None
    ) -> None:
        s = self._around.settings
        building = Answer(s.answer_signals, s.answer_bytes)
        async with self._attaching:
            if hosted.ended.is_set():  # wrapped meanwhile: what waits is for the next session
                return
            try:
                claim = await hosted.claim_for_verb(s.answer_signals)
                more = await self._attacher.attach(
                    building, claim, hosted.floor, hosted.refused_in_answers, method
                )
            except Unavailable as e:
                told = f"Waiting signals could not be attached, the next verb tries again: {e}"
                answer["warnings"] = [*answer.get("warnings", []), told]
                return
            if building.entries:
                answer["pending_signals"] = building.entries
                self.carried += building.whole
                if more:
                    answer["more"] = more
