"""Opening it all with plugins and settings that are wrong: said in words, or left out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from core.tests.unit.world import PID, World
from prism_signals import (
    ConfigurationError,
    NoSuchPlugin,
    ObserverPlugin,
    PolicyPlugin,
    Prism,
    Registry,
    Settings,
    hookimpl,
)

pytestmark = pytest.mark.anyio


def broken(*_: Any) -> Any:
    raise RuntimeError("a bug in a plugin")


class BrokenObserver:
    @hookimpl
    def prism_observers(self) -> list[ObserverPlugin]:
        return [ObserverPlugin("watching", broken)]


class BrokenPolicy:
    @hookimpl
    def prism_policies(self) -> list[PolicyPlugin]:
        return [PolicyPlugin("guarding", broken)]


async def test_an_observer_that_cannot_be_made_is_left_out(world: World) -> None:
    world.more = (BrokenObserver(),)
    async with world.agent("Lola") as lola:
        await lola.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        assert sent["queued"]


async def test_without_a_policy_that_is_wanted_nothing_opens(world: World) -> None:
    world.more = (BrokenPolicy(),)
    with pytest.raises(ConfigurationError, match=r"'guarding' raised RuntimeError.*Upgrade"):
        async with world.prism():
            pass


@pytest.mark.parametrize("target", ["breaks:X", ":X", "breaks.:X"])
async def test_a_class_that_cannot_be_imported_is_named(
    world: World, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks.py").write_text("raise RuntimeError('boom')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    async with world.prism(agent_surface="odd", strategy_map={"odd": target}) as prism:
        with pytest.raises(NoSuchPlugin, match=r"PRISM_STRATEGY_MAP names .* cannot be imported"):
            prism.route()
    sys.modules.pop("breaks", None)


async def test_what_is_no_url_is_not_shown() -> None:
    with pytest.raises(NoSuchPlugin) as refused:
        async with Prism.open(
            Settings.load(store_url="me@secret.example/x"), registry=Registry.of()
        ):
            pass
    assert "secret" not in str(refused.value)
    assert "PRISM_STORE_URL" in str(refused.value)
