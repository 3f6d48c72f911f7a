"""Where the time goes: every call to a port on both sides, from one verb to the next."""

from __future__ import annotations

import dataclasses
import inspect
import statistics
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from prism_signals import Found, Prism, Registry

from .figures import Figure, Row
from .home import temporary_home
from .plan import Plan
from .recorded import CONTENT, MOST_COUNTED, RECIPIENT, forget_counters
from .roles import Cue, role
from .samples import MILLISECOND, now
from .strategies import LOG, STRATEGY_MAP, SURFACE

_SHARE = 0.5  # a step that most verbs do not take is left out

Event = tuple[str, int, int]
"""What was called, when, and when it ended; a bell begins and ends when it is heard."""


def measure(plan: Plan) -> Figure:
    """Send signals between two processes whose ports are watched."""
    count = plan.scaled(MOST_COUNTED, 20)
    with temporary_home() as home:
        listening = home.environ(RECIPIENT, agent_surface=SURFACE, strategy_map=STRATEGY_MAP)
        with (
            role(watched_receiver, listening) as donna,
            role(watched_sender, home.environ("Lola")) as lola,
        ):
            lola.play(count // 4 + 1)
            forget_counters(home)
            verbs, events = lola.play(count)
            others = donna.play("events")
    return Figure(
        "steps",
        "moments of one prism_signal, in ms after the call (medians; not a benchmark)",
        _timeline(verbs, [("Lola", events), ("Donna", others)]),
        notes=["each line: when the step began; in its label, how long it took"],
    )


def _timeline(
    verbs: Sequence[tuple[int, int]], watched: Sequence[tuple[str, Sequence[Event]]]
) -> list[Row]:
    steps: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for who, events in watched:
        rest = iter(sorted(events, key=lambda e: e[1]))
        event = next(rest, None)
        for begun, done in verbs:
            seen: Counter[str] = Counter()
            while event is not None and event[1] < done:
                what, start, end = event
                if start >= begun:
                    seen[what] += 1
                    again = f" ({seen[what]})" if seen[what] > 1 else ""
                    steps[f"{who}: {what}{again}"].append((start - begun, end - start))
                event = next(rest, None)
    usual = {k: v for k, v in steps.items() if len(v) > len(verbs) * _SHARE}
    rows = [
        (statistics.median(s for s, _ in found), statistics.median(t for _, t in found), step)
        for step, found in usual.items()
    ]
    answered = statistics.median(done - begun for begun, done in verbs)
    return [
        *(
            Row(f"{step}  [{took / MILLISECOND:.3f}]", start / MILLISECOND)
            for start, took, step in sorted(rows)
        ),
        Row("Lola: answered", answered / MILLISECOND),
    ]


async def watched_receiver(cue: Cue) -> None:
    """Role: an agent on a pushing surface; gives what was called."""
    events: list[Event] = []
    async with Prism.open(registry=_watched(events)) as prism, prism.host() as agent:
        await agent.start()
        async for _ in cue.awaited_rounds():
            strategy = [("strategy called", t, t) for t in LOG.arrivals.values()]
            cue.answer([*events, *strategy])


async def watched_sender(cue: Cue) -> None:
    """Role: an agent that sends; gives when each verb ran, and what was called."""
    events: list[Event] = []
    async with Prism.open(registry=_watched(events)) as prism, prism.host() as agent:
        await agent.start()
        pid = prism.scope().pid
        async for count in cue.awaited_rounds():
            events.clear()
            verbs: list[tuple[int, int]] = []
            for _ in range(count):
                before = now()
                await agent.signal(pid, RECIPIENT, "inform", CONTENT)
                verbs.append((before, now()))
            cue.answer([verbs, events])


def _watched(events: list[Event]) -> Registry:
    """The installed plugins, with their ports watched."""
    registry = Registry.discover()
    ports: dict[str, Any] = {
        "store": registry.stores,
        "directory": registry.directories,
        "bus": registry.buses,
    }
    for what, found in ports.items():
        found[:] = [
            Found(f.origin, dataclasses.replace(f.plugin, open=_opening(f.plugin, what, events)))
            for f in found
        ]
    return registry


def _opening(plugin: Any, what: str, events: list[Event]) -> Callable[..., Any]:
    @asynccontextmanager
    async def watching(url: Any, clock: Any) -> AsyncIterator[_Watched]:
        async with plugin.open(url, clock) as port:
            yield _Watched(port, what, events)

    return watching


class _Watched:
    """A port whose calls are written down."""

    def __init__(self, port: Any, what: str, events: list[Event]) -> None:
        self._port, self._what, self._events = port, what, events

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute

        async def watched(*arguments: Any, **options: Any) -> Any:
            before = now()
            try:
                return await attribute(*arguments, **options)
            finally:
                self._events.append((f"{self._what}.{name}", before, now()))

        return watched

    @asynccontextmanager
    async def listen(self, *about: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """Bells, each written down when it is heard."""
        async with self._port.listen(*about) as bells:

            async def heard() -> AsyncIterator[Any]:
                async for bell in bells:
                    self._events.append((f"bell ({bell.kind})", now(), now()))
                    yield bell

            yield heard()
