"""SPEC-034 §14.11: send, receive, reply, ack, between two real `prism mcp` processes.

Pytest collects it; it also runs by itself: `python tests/acceptance/smoke_spec034_signal.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.client import World, agent_entries


def test_smoke_send_receive_reply_ack() -> None:
    """One round trip, each rung of the ladder looked at by the one who waits for it."""
    with World(project="PID-SMOKE") as world:
        lola = world.agent("Lola", "claude_desktop")
        donna = world.agent("Donna", "claude_code")
        asked = lola.signal("Donna", "Question", {"message": "Is it done?"})["signal_id"]
        assert '"Is it done?"' in donna.event(asked)["content"]
        replied = donna.signal("Lola", "Answer", {"message": "It is."}, in_reply_to=asked)
        (entry,) = agent_entries(lola.status())
        assert (entry["in_reply_to"], entry["payload"]) == (asked, {"message": "It is."})
        assert lola.ack(replied["signal_id"])["results"] == [
            {"signal_id": replied["signal_id"], "status": "acked"}
        ]
        for signal_id in (asked, replied["signal_id"]):
            assert lola.track(signal_id)["state"] == "acked"
        assert lola.close() == 0
        assert donna.close() == 0


if __name__ == "__main__":
    test_smoke_send_receive_reply_ack()
