"""A guard for pytest: a conformance class that was defined and not collected is an error.

pytest loads this through the entry-point group `pytest11`. The conformance classes do not depend on
it; where plugins are not loaded, only this guard is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

_SUITE = f"{__package__}.suite"
_SEEN = pytest.StashKey[set[Path]]()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Remember which files were looked into."""
    if isinstance(collector, pytest.Module):
        collector.config.stash.setdefault(_SEEN, set()).add(collector.path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Compare what was defined with what was collected, before `-k` and `-m` choose."""
    suite = sys.modules.get(_SUITE)
    if suite is None or _narrowed(config):
        return
    ran = {base for cls in {_class_of(item) for item in items} if cls for base in cls.__mro__}
    seen = config.stash.get(_SEEN, set())
    idle = [
        cls
        for cls, file in suite.Suite.defined.items()
        if cls not in ran and file is not None and Path(file) in seen
    ]
    if idle:
        names = ", ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in idle)
        raise pytest.UsageError(
            f"Of these conformance classes no test was collected: {names}. Give the class a name "
            "that pytest collects (python_classes, by default Test*), and let python_functions "
            "accept test_*."
        )


def _narrowed(config: pytest.Config) -> bool:
    """Whether somebody asked for single tests, or for those that failed last."""
    return any("::" in arg for arg in config.args) or bool(config.getoption("lf", False))


def _class_of(item: pytest.Item) -> type[Any] | None:
    return getattr(item, "cls", None)
