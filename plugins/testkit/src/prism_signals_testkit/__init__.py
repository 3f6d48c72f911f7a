"""The conformance kit of Prism Signals: says whether a plugin keeps its contract.

Subclass a conformance class in a test module and give it one synchronous fixture, `harness`:

```python
class TestMyStore(StoreConformance):
    @pytest.fixture
    def harness(self, tmp_path): return MyHarness(tmp_path)
```

Names are loaded when they are first used, so that pytest can find the kit without importing it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bus import BusConformance as BusConformance
    from .clause import clause as clause
    from .clause import clauses_of as clauses_of
    from .directory import DirectoryConformance as DirectoryConformance
    from .harness import BusHarness as BusHarness
    from .harness import DirectoryHarness as DirectoryHarness
    from .harness import StoreHarness as StoreHarness
    from .plugin import PluginConformance as PluginConformance
    from .plugin import PluginHarness as PluginHarness
    from .report import CONTRACTS as CONTRACTS
    from .report import clauses as clauses
    from .store import StoreConformance as StoreConformance
    from .strategy import StrategyConformance as StrategyConformance
    from .strategy_harness import StrategyHarness as StrategyHarness

_HOME: dict[str, tuple[str, ...]] = {
    "bus": ("BusConformance",),
    "clause": ("clause", "clauses_of"),
    "directory": ("DirectoryConformance",),
    "harness": ("BusHarness", "DirectoryHarness", "StoreHarness"),
    "plugin": ("PluginConformance", "PluginHarness"),
    "report": ("CONTRACTS", "clauses"),
    "store": ("StoreConformance",),
    "strategy": ("StrategyConformance",),
    "strategy_harness": ("StrategyHarness",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_SCENARIOS = (
    "bus",
    "directory",
    "directory_bench",
    "directory_election",
    "plugin",
    "store_agreement",
    "store_bench",
    "store_leasing",
    "store_posting",
    "store_progress",
    "store_reading",
    "strategy",
    "strategy_bench",
    "strategy_faults",
)

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _show_values()
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _show_values() -> None:
    """Have pytest rewrite the kit's assertions, so that a failure shows what was compared."""
    import pytest

    waiting = [m for s in _SCENARIOS if (m := f"{__name__}.{s}") not in sys.modules]
    pytest.register_assert_rewrite(*waiting)
