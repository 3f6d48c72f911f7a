"""From one agent's tool call to the channel frame at the other, over two real `prism mcp`."""

from __future__ import annotations

import time
from contextlib import ExitStack

from .children import PATIENCE, ChildFailed, python, wait_for_any
from .figures import Aim, Figure, Ratio, Row
from .home import PROJECT, temporary_home
from .plan import Plan
from .prism_mcp import PRISM_MCP
from .recorded import CONTENT, MOST_COUNTED, RECIPIENT, forget_counters
from .samples import Sample
from .wire import CHANNEL, Server, server

BLOCKS = 4


def measure(plan: Plan) -> Figure:
    """Send one signal after the other, and echo calls of a bare server in between."""
    each = plan.scaled(MOST_COUNTED, 10)
    with temporary_home() as home, ExitStack() as stack:
        desktop = home.environ("Lola", agent_surface="claude_desktop")
        code = home.environ(RECIPIENT, agent_surface="claude_code")
        lola = stack.enter_context(server(PRISM_MCP, desktop))
        donna = stack.enter_context(server(PRISM_MCP, code))
        bare = stack.enter_context(server(python("-m", "benchmarks.bare_mcp"), home.environ()))
        for peer in (lola, donna, bare):
            peer.initialize()
        for peer in (lola, donna):
            peer.ask("prism_start", {"pid": PROJECT})
        for _ in range(each // 4 + 1):
            _send(lola, donna)  # warm up
        frames: list[int] = []
        answers: list[int] = []
        echo: list[int] = []
        for _ in range(plan.scaled(BLOCKS, 1)):
            for _ in range(each):
                before = bare.call("echo", {"text": "x" * 200})
                echo.append(bare.reply()[1] - before)
            forget_counters(home)
            for _ in range(each):
                frame, answer = _send(lola, donna)
                frames.append(frame)
                answers.append(answer)
    ours, raw = Sample.of(frames), Sample.of(echo)
    return Figure(
        "channel",
        "from an MCP tool call to the channel frame at the peer, two `prism mcp`",
        [
            Row.of("prism_signal called to channel frame written", ours),
            Row.of("prism_signal called to its answer (settled)", Sample.of(answers)),
            Row.of("raw: tools/call of a bare mcp server, one process", raw),
        ],
        [Ratio("p50 / raw p50", ours.p50 / raw.p50)],
        [Aim("p50", ours.p50, 3.0, "ms"), Aim("p99", ours.p99, 15.0, "ms")],
    )


def _send(lola: Server, donna: Server) -> tuple[int, int]:
    """Send one signal; gives how long the frame and the answer took."""
    before = lola.call(
        "prism_signal",
        {"pid": PROJECT, "to": RECIPIENT, "signal_type": "inform", "payload": CONTENT},
    )
    until = time.monotonic() + PATIENCE
    answered = framed = 0
    while not (answered and framed):
        ready = wait_for_any([lola, donna], until - time.monotonic())
        if not ready:
            missing = "frame" if not framed else "answer"
            raise ChildFailed(f"no {missing} came within {PATIENCE:g} s")
        if donna in ready:
            framed = framed or donna.receive_where(lambda m: m.get("method") == CHANNEL)[1]
        if lola in ready:
            answered = lola.reply()[1]
    return framed - before, answered - before
