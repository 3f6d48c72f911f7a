"""Every setting says what it does, core's and each plugin's."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from prism_signals import Registry, Settings


def models() -> list[type[BaseModel]]:
    """Core's settings and those of every installed plugin that has any."""
    registry = Registry.discover()
    strategies = [f.plugin.settings for f in registry.strategies]
    gateways = [f.plugin.settings for f in registry.gateways]
    return [Settings, *(m for m in (*strategies, *gateways) if m is not None)]


@pytest.mark.parametrize("model", models(), ids=lambda m: str(m.__name__))
def test_every_setting_is_described(model: type[BaseModel]) -> None:
    assert model.model_fields
    for name, field in model.model_fields.items():
        said = field.description or ""
        assert said.endswith((".", "…")), f"{model.__name__}.{name} says {said!r}"
