"""The strategy keeps its contract; its far end is whatever answer is being built."""

from __future__ import annotations

import pytest

import prism_signals_strategy_piggyback as plugin
from prism_signals_strategy_piggyback.conformance import PiggybackConformance
from prism_signals_testkit import PluginConformance, PluginHarness


class TestPiggyback(PiggybackConformance):
    pass


class TestPiggybackPlugin(PluginConformance):
    @pytest.fixture
    def harness(self) -> PluginHarness:
        return PluginHarness(plugin, "piggyback")
