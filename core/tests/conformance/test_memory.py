"""The in-memory reference keeps every clause."""

from __future__ import annotations

import pytest

from prism_signals.memory.plugin import plugin
from prism_signals_testkit import PluginConformance, PluginHarness
from prism_signals_testkit.memory import (
    MemoryBusConformance,
    MemoryDirectoryConformance,
    MemoryStoreConformance,
)


class TestMemoryStore(MemoryStoreConformance):
    pass


class TestMemoryDirectory(MemoryDirectoryConformance):
    pass


class TestMemoryBus(MemoryBusConformance):
    pass


class TestMemoryPlugin(PluginConformance):
    @pytest.fixture
    def harness(self) -> PluginHarness:
        """As the core installs it."""
        return PluginHarness(plugin, "memory")
