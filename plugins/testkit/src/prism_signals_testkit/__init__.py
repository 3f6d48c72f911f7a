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

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .bus import BusConformance as BusConformance
    from .clause import clause as clause
    from .clause import clauses_of as clauses_of
    from .directory import DirectoryConformance as DirectoryConformance
    from .harness import BusHarness as BusHarness
    from .harness import DirectoryHarness as DirectoryHarness
    from .harness import StoreHarness as StoreHarness
    from .store import StoreConformance as StoreConformance

_HOME: dict[str, tuple[str, ...]] = {
    "clause": ("clause", "clauses_of"),
    "bus": ("BusConformance",),
    "directory": ("DirectoryConformance",),
    "harness": ("BusHarness", "DirectoryHarness", "StoreHarness"),
    "store": ("StoreConformance",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)

# So that a failing scenario shows the values it compared.
pytest.register_assert_rewrite(*(
    f"{__name__}.{module}" for module in (
        "bus", "directory", "directory_bench", "directory_election", "store_bench",
        "store_posting", "store_leasing", "store_progress", "store_reading",
    )
))


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
