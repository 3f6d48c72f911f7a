"""The gateway as a plugin: what its hooks give, before anything is opened."""

from __future__ import annotations

import pytest

import prism_signals_gateway_mcp as plugin
from prism_signals_testkit import PluginConformance, PluginHarness


class TestGatewayMCPPlugin(PluginConformance):
    @pytest.fixture
    def harness(self) -> PluginHarness:
        return PluginHarness(plugin, "gateway_mcp")
