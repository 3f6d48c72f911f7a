"""The strategy keeps its contract towards a far end that does with events what Claude Code does."""

from __future__ import annotations

import pytest

import prism_signals_strategy_channels_push as plugin
from prism_signals_strategy_channels_push.conformance import ChannelsPushConformance
from prism_signals_testkit import PluginConformance, PluginHarness


class TestChannelsPush(ChannelsPushConformance):
    pass


class TestChannelsPushPlugin(PluginConformance):
    @pytest.fixture
    def harness(self) -> PluginHarness:
        return PluginHarness(plugin, "channels_push")
