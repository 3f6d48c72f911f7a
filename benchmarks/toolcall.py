"""What a verb costs its agent when nothing waits: the piggyback check on every answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from prism_signals import Prism, new_signal_id

from .children import python
from .figures import Figure, Ratio, Row
from .home import PROJECT, temporary_home
from .plan import Plan
from .prism_mcp import PRISM_MCP
from .roles import Cue, role
from .samples import Sample, now
from .wire import Server, server

BLOCKS = 4


def measure(plan: Plan) -> Figure:
    """Call verbs of `prism mcp` and the echo of a bare server in turns, then the check alone."""
    each = plan.scaled(250, 20)
    unknown = {"signal_ids": [new_signal_id()], "pid": PROJECT}
    calls: Mapping[str, tuple[str, dict[str, Any]]] = {
        "prism_ack_signals": ("prism_ack_signals", unknown),
        "prism_status": ("prism_status", {"pid": PROJECT}),
    }
    with temporary_home() as home, ExitStack() as stack:
        environ = home.environ("Donna", agent_surface="claude_desktop")
        prism = stack.enter_context(server(PRISM_MCP, environ))
        bare = stack.enter_context(server(python("-m", "benchmarks.bare_mcp"), home.environ()))
        for each_server in (prism, bare):
            each_server.initialize()
        prism.ask("prism_start", {"pid": PROJECT})
        echo: list[int] = []
        verbs: dict[str, list[int]] = {name: [] for name in calls}
        for _ in range(BLOCKS):
            echo += _times(bare, each, "echo", {"text": "x" * 200})
            for name, (tool, arguments) in calls.items():
                verbs[name] += _times(prism, each, tool, arguments)
        with role(check_alone, home.environ("Lola")) as child:
            alone = Sample.of(child.play(each * BLOCKS))
    raw = Sample.of(echo)
    ours = {name: Sample.of(times) for name, times in verbs.items()}
    return Figure(
        "toolcall",
        "tools/call with nothing waiting, and the share of the piggyback check",
        [
            *(Row.of(f"{name}, idle inbox", sample) for name, sample in ours.items()),
            Row.of("raw: echo of a bare mcp server", raw),
            Row.of("the check alone, in process (engage + attach)", alone),
        ],
        [
            *(Ratio(f"{n} p50 / raw p50", s.p50 / raw.p50) for n, s in ours.items()),
            Ratio("the check / raw p50", alone.p50 / raw.p50),
        ],
    )


def _times(peer: Server, count: int, tool: str, arguments: Mapping[str, Any]) -> list[int]:
    times: list[int] = []
    for _ in range(count):
        before = peer.call(tool, arguments)
        times.append(peer.reply()[1] - before)
    return times


async def check_alone(cue: Cue) -> None:
    """Role: an agent that runs a verb which does nothing."""

    async def nothing() -> dict[str, Any]:
        return {}

    async with Prism.open() as prism, prism.host() as agent:
        await agent.start()
        async for count in cue.awaited_rounds():
            times: list[int] = []
            for _ in range(count):
                before = now()
                await agent.answering(nothing)
                times.append(now() - before)
            cue.answer(times)
