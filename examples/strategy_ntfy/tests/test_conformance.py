"""The strategy and the plugin keep their contracts."""

from __future__ import annotations

import pytest

import prism_ntfy
from prism_ntfy.conformance import NtfyConformance
from prism_signals_testkit import PluginConformance, PluginHarness


class TestNtfy(NtfyConformance):
    pass


class TestNtfyPlugin(PluginConformance):
    @pytest.fixture
    def harness(self) -> PluginHarness:
        return PluginHarness(prism_ntfy, "ntfy")
