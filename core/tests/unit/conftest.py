"""Fixtures of the agents' tests."""

from __future__ import annotations

import os

import pytest

from core.tests.unit.world import World


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:

    for n in [n for n in os.environ if n.startswith("PRISM_")]:
        monkeypatch.delenv(n)
    return World()
