"""How long it takes until the product is there, and what it costs while nothing happens."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from .children import python
from .figures import Aim, Figure, Ratio, Row
from .footprint import idle_share, memory
from .home import PROJECT, temporary_home
from .plan import Plan
from .prism_mcp import PRISM, PRISM_MCP
from .samples import Sample, now
from .wire import server

BARE = python("-m", "benchmarks.bare_mcp")


def measure_start(plan: Plan) -> Figure:
    """Start each program several times, in turns."""
    times = plan.scaled(12, 1)
    with temporary_home() as home:
        environ = home.environ("Donna", agent_surface="claude_code")
        runs: dict[str, Callable[[], int]] = {
            "prism mcp": lambda: _handshake(PRISM_MCP, environ),
            "bare mcp": lambda: _handshake(BARE, environ),
            "help": lambda: _finish([PRISM, "--help"], environ),
            "status": lambda: _finish([PRISM, "status"], environ),
            "python": lambda: _finish(python("-c", "pass"), environ),
        }
        found: dict[str, list[int]] = {name: [] for name in runs}
        for n in range(times + 1):
            for name, run in runs.items():
                took = run()
                if n:  # the first one fills the caches
                    found[name].append(took)
    s = {name: Sample.of(taken) for name, taken in found.items()}
    return Figure(
        "start",
        "spawning until ready",
        [
            Row.of("prism mcp: spawned to initialize answered", s["prism mcp"]),
            Row.of("raw: bare mcp server, the same", s["bare mcp"]),
            Row.of("prism --help: spawned to ended", s["help"]),
            Row.of("prism status: spawned to ended", s["status"]),
            Row.of("raw: python3 -c pass", s["python"]),
        ],
        [
            Ratio("prism --help / raw", s["help"].p50 / s["python"].p50),
            Ratio("prism status / raw", s["status"].p50 / s["python"].p50),
        ],
        [
            Aim("prism mcp / bare mcp", s["prism mcp"].p50 / s["bare mcp"].p50, 1.3),
            Aim("prism --help", s["help"].p50, 120, "ms"),
            Aim("prism status", s["status"].p50, 300, "ms"),
        ],
    )


def measure_idle(plan: Plan) -> Figure:
    """Leave two registered `prism mcp` and a bare server alone for a while."""
    seconds = plan.scaled(20, 2)
    with temporary_home() as home, ExitStack() as stack:
        pushing = home.environ("Donna", agent_surface="claude_code")
        waiting = home.environ("Lola", agent_surface="claude_desktop")
        ours = [stack.enter_context(server(PRISM_MCP, e)) for e in (pushing, waiting)]
        bare = stack.enter_context(server(BARE, pushing))
        for peer in (*ours, bare):
            peer.initialize()
        for peer in ours:
            peer.ask("prism_start", {"pid": PROJECT})
        peers = [*ours, bare]
        idle_share([p.pid for p in peers], 1.0)  # what the start left to do
        shares = idle_share([p.pid for p in peers], seconds)
        memories = [memory(p.pid) for p in peers]
    labels = ("prism mcp on claude_code", "prism mcp on claude_desktop", "raw: bare mcp server")
    return Figure(
        "idle",
        f"processor and memory of registered sessions, {seconds} s without a signal",
        [
            *(Row(label, share, "%") for label, share in zip(labels, shares, strict=True)),
            *(Row(f"{label}, memory", m, "MiB") for label, m in zip(labels, memories, strict=True)),
        ],
        [Ratio("memory / raw", max(memories[:2]) / memories[2])],
        [
            Aim("idle processor", max(shares[:2]), 0.0499, "%"),
            Aim("memory", max(memories[:2]), 80, "MiB"),
        ],
        ["the aim of 0.0 % is held to one decimal"],
    )


def _handshake(command: Sequence[str], environ: Mapping[str, str]) -> int:
    with server(command, environ) as peer:
        return peer.initialize() - peer.spawned


def _finish(command: Sequence[str], environ: Mapping[str, str]) -> int:
    before = now()
    subprocess.run(  # noqa: S603 - our own commands
        list(command),
        env=dict(environ),
        check=True,
        timeout=60,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    return now() - before
