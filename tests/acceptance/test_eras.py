"""Both protocol eras over stdio: what each may see, and who decides."""

from __future__ import annotations

import pytest

from tests.client import RpcError, World, agent_entries, until

AT_ONCE = "0.05"
METHOD_NOT_FOUND = -32601
LEGACY_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def _live(world: World) -> int:
    return len(world.rows("SELECT 1 FROM sessions")) if world.store.exists() else 0


def test_a_channel_needs_the_legacy_era(world: World) -> None:
    """DESIGN §9: Claude Code asks for the newest revision first, is refused, and falls back."""
    donna = world.spawn("claude_code", agent_identity="Donna", project="P")
    with pytest.raises(RpcError) as refused:
        donna.discover()
    assert refused.value.code == METHOD_NOT_FOUND
    donna = world.agent("Donna", "claude_code", project="P")
    assert donna.handshake["capabilities"]["experimental"] == {"claude/channel": {}}
    permission = "claude/channel/permission"
    assert permission not in donna.handshake["capabilities"]["experimental"]


def test_the_modern_era_from_discovery_to_the_reply(world: World) -> None:
    """Issue A.4: without a handshake every verb works, and signals come with the answers."""
    lola = world.spawn("claude_desktop", agent_identity="Lola", project="P")
    told = lola.discover()
    assert "2026-07-28" in told["supportedVersions"]
    assert "prism_read_signals" in told["instructions"]
    assert "prism_signal" in told["instructions"]
    donna = world.agent("Donna", "claude_desktop", project="P")
    asked = lola.tell("Donna", "ready?")
    assert [e["signal_id"] for e in agent_entries(donna.status())] == [asked]
    replied = donna.tell("Lola", "ready", in_reply_to=asked)
    assert [e["signal_id"] for e in agent_entries(lola.status())] == [replied]


def test_the_modern_era_registers_at_the_first_real_request(world: World) -> None:
    """DESIGN §7: discovery leaves no trace; the first other request counts as the handshake."""
    lola = world.spawn("claude_desktop", agent_identity="Lola", project="P", register_after=AT_ONCE)
    lola.discover()
    lola.request("server/discover", lola.envelope({}))
    assert _live(world) == 0
    lola.request("tools/list", lola.envelope({}))
    until(lambda: _live(world), "Lola's session")


def test_the_setting_forces_the_legacy_era(world: World) -> None:
    """DESIGN §9: `PRISM_MCP_ERA=legacy` refuses discovery on any surface."""
    lola = world.spawn("claude_desktop", agent_identity="Lola", project="P", mcp_era="legacy")
    with pytest.raises(RpcError) as refused:
        lola.discover()
    assert refused.value.code == METHOD_NOT_FOUND


@pytest.mark.parametrize("revision", [LEGACY_REVISIONS[0], LEGACY_REVISIONS[-1]])
def test_every_legacy_revision_is_answered_in_kind(world: World, revision: str) -> None:
    """The oldest and the newest revision with a handshake."""
    lola = world.spawn("claude_code", agent_identity="Lola", project="P")
    assert lola.initialize(revision)["protocolVersion"] == revision
    assert lola.start()["context"]["identity"] == "Lola"
    assert all(f.get("method") is None for f in lola.frames), "nothing was said unasked"


def test_descriptions_are_small(world: World) -> None:
    """DESIGN §9: the descriptions together stay under 1,200 tokens, at 4 characters a token."""
    lola = world.gateway("claude_desktop")
    tools = lola.request("tools/list")["tools"]
    assert len(str([(t["name"], t["description"], t["inputSchema"]) for t in tools])) < 4 * 1200
