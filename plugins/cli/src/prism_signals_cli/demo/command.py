"""`prism demo`."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio
import click

from ..failures import cause
from ..options import json_option
from ..plaintext import say_json
from . import narration
from .client import DemoFailure, SimulatedClient, connect
from .scenario import DONNA, FLOOR, LOLA, PUSHING, Scenario, Step
from .surroundings import PROJECT, Surroundings, prism

_WHOLE = 120.0
_COMMAND = 30.0


@dataclass(slots=True)
class Outcome:
    """How the demo went.

    Attributes:
        verdict: `ok`, or what failed.
        agents: Who took part, and how each is reached.
        steps: What happened.
        thread: The conversation at the end, as `prism thread --json` gives it.
        tree: The same as text.
        total_ms: How long everything took.
    """

    verdict: str = "not finished"
    agents: list[dict[str, Any]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    thread: dict[str, Any] | None = None
    tree: str = ""
    total_ms: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """As one JSON-ready dict."""
        return {
            "verdict": self.verdict,
            "project": PROJECT,
            "clients": "simulated",
            "agents": self.agents,
            "steps": [asdict(s) for s in self.steps],
            "thread": self.thread,
            "total_ms": self.total_ms,
        }


@click.command()
@json_option
def demo(as_json: bool) -> int:
    """Watch Lola ask Donna for a review and get it, over two real MCP servers.

    Both clients are simulated and the store is temporary. Exit 0 where every step went well.
    """
    outcome = Outcome()
    quiet = as_json
    if not quiet:
        narration.opening()
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="prism-", ignore_cleanup_errors=True) as folder:
            anyio.run(_within_time, Surroundings(Path(folder)), outcome, quiet)
        outcome.verdict = "ok"
    except (DemoFailure, BaseExceptionGroup) as e:
        root = cause(e)
        if not isinstance(root, DemoFailure):
            raise
        outcome.verdict = str(root)
    outcome.total_ms = round((time.perf_counter() - began) * 1000, 1)
    if as_json:
        say_json(outcome.as_json())
    else:
        narration.closing(outcome.tree, outcome.verdict, outcome.total_ms)
    return 0 if outcome.verdict == "ok" else 1


async def _within_time(place: Surroundings, outcome: Outcome, quiet: bool) -> None:
    try:
        with anyio.fail_after(_WHOLE):
            await _perform(place, outcome, quiet)
    except TimeoutError:
        raise DemoFailure(f"it took more than {_WHOLE:.0f} s") from None


async def _perform(place: Surroundings, outcome: Outcome, quiet: bool) -> None:
    tell: Callable[[Step], None] = (lambda _: None) if quiet else narration.step
    async with (
        anyio.create_task_group() as tasks,
        connect(
            LOLA,
            "claude_desktop",
            prism("mcp"),
            place.agent(LOLA, "claude_desktop"),
            place.log_of(LOLA),
            tasks,
        ) as lola,
        connect(
            DONNA,
            "claude_code",
            prism("mcp"),
            place.agent(DONNA, "claude_code"),
            place.log_of(DONNA),
            tasks,
        ) as donna,
    ):
        scenario = Scenario(lola, donna, tell, outcome.agents, outcome.steps)
        await scenario.prepare()
        if not quiet:
            narration.agents(outcome.agents)
        root = await scenario.play()
        outcome.thread = json.loads(await _prism(place, "thread", root, "--json"))
        outcome.tree = "" if quiet else await _prism(place, "thread", root)
        _check_thread(outcome.thread)
    for client in (lola, donna):
        _check_end(client)


async def _prism(place: Surroundings, *arguments: str) -> str:
    with anyio.fail_after(_COMMAND):
        done = await anyio.run_process(
            prism(*arguments),
            env={**place.environment(), "PYTHONIOENCODING": "utf-8"},
            cwd=place.folder,
            check=False,
        )
    if done.returncode != 0:
        raise DemoFailure(f"'prism {arguments[0]}' failed: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8")


def _check_thread(thread: dict[str, Any] | None) -> None:
    found = [
        (s["signal_type"], s["deliveries"][0]["delivery_method"])
        for s in (thread or {}).get("signals", ())
    ]
    wanted = [("ReviewRequested", PUSHING), ("ReviewCompleted", FLOOR), ("Acknowledgment", PUSHING)]
    if found != wanted:
        raise DemoFailure(f"the store tells another story than the steps: {found}")


def _check_end(client: SimulatedClient) -> None:
    if client.exit_status != 0:
        said = client.last_words() or "it said nothing"
        raise DemoFailure(
            f"the server of {client.name} ended with status {client.exit_status}: {said}"
        )
