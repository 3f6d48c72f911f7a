"""Many processes write to one inbox at once."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.client import World, agent_entries

from .fuses import NO_LIMITS

WRITERS, EACH = 8, 500
_WRITER = """
import sys
import anyio
from prism_signals import Prism

async def main() -> None:
    async with Prism.open() as prism:
        me = prism.outside(sys.argv[1], "P")
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range(int(sys.argv[2])):
            await me.signal("Donna", "inform", {"content": f"{sys.argv[1]} {n}"})

anyio.run(main)
"""


@pytest.mark.timeout(120)
def test_u07_eight_writers_to_one_inbox() -> None:
    """U-07: eight processes write five hundred signals each to one inbox: 4,000 are there."""
    with World(**NO_LIMITS) as world, ExitStack() as stack:
        donna = world.agent("Donna", project="P")
        writers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _WRITER, f"Writer{n}", str(EACH)], env=world.environ(),
                    cwd=world.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )
            for n in range(WRITERS)
        ]  # fmt: skip
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        assert [w.wait(90) for w in writers] == [0] * WRITERS
        rows = world.rows("SELECT payload FROM signal_queue WHERE lane = 'agent'")
        expected = {f'{{"content":"Writer{w} {n}"}}' for w in range(WRITERS) for n in range(EACH)}
        assert {r["payload"].replace(": ", ":") for r in rows} == expected
        assert len(rows) == WRITERS * EACH
        shown = agent_entries(donna.status())
        assert len(shown) == 20
        assert world.is_whole()
