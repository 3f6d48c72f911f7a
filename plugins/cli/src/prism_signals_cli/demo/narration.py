"""What people see of the demo while it runs."""

from __future__ import annotations

from html import escape
from typing import Any

from ..listing import body
from ..plaintext import as_json, one_line, say
from .scenario import Step


def opening() -> None:
    """Say what is about to happen."""
    say(
        "Two agents talk to each other, and no human copies text between them (SPEC-034 §3).",
        "Two real 'prism mcp' servers are started, each with a simulated client: no model and no",
        "Anthropic program takes part. The store is temporary.",
        "",
    )


def agents(found: list[dict[str, Any]]) -> None:
    """Introduce the agents."""
    for a in found:
        route = ", ".join(f"{r['strategy']} ({r['state']})" for r in a["route"])
        say(
            f"{a['identity']} ({a['role']}) is on {a['surface']}, simulated client; ready after "
            f"{a['ready_ms']:.0f} ms",
            f"  reached by: {one_line(route)}",
        )
    say("")


def step(done: Step) -> None:
    """Tell one step."""
    progress = "delivered" if done.answer["delivered"] else "queued"
    say(
        f"Step {done.number}: {done.title}",
        f"  {done.sender} -> {done.recipient}  {done.signal_type}  {done.signal_id}",
        f"  {done.sender}'s verb answered after {done.answered_ms:.1f} ms: {progress}",
        f"  by {done.strategy}, on {done.recipient}'s side after {done.shown_ms:.1f} ms",
        f"  {done.recipient}'s model would see:",
        *(f"  {line}" for line in _seen(done.seen)),
        "",
    )


def closing(tree: str, verdict: str, total_ms: float) -> None:
    """Show the thread and the verdict."""
    if tree:
        say("The thread:", tree.rstrip("\n"), "")
    say(f"Verdict: {one_line(verdict)} (after {total_ms / 1000:.1f} s)")


def _seen(seen: dict[str, Any]) -> list[str]:
    if "content" not in seen:
        return body(f"pending_signals: [{as_json(seen)}]")
    meta = " ".join(f'{k}="{escape(one_line(str(v)))}"' for k, v in seen.get("meta", {}).items())
    return body(f'<channel source="prism" {meta}>\n{seen["content"]}\n</channel>')
