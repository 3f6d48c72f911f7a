"""A guard for pytest: a conformance class that was defined and not collected fails.

pytest loads this through the entry-point group `pytest11`. The conformance classes do not depend on
it; where plugins are not loaded, only this guard is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_SUITE = f"{__package__}.suite"
_SEEN = pytest.StashKey[set[Path]]()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Remember which files were looked into."""
    if isinstance(collector, pytest.Module):
        collector.config.stash.setdefault(_SEEN, set()).add(collector.path)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Compare what was defined with what was collected, before `-k` and `-m` choose."""
    idle = _idle(config, items)
    yield
    items += [NeverRan.from_parent(session, name=name) for name in idle]


class NeverRan(pytest.Item):
    """Fails in place of a conformance class of which nothing was collected."""

    def runtest(self) -> None:
        """Say so. An item fails under xdist too, where an error while collecting tears it down."""
        pytest.fail(
            f"Of the conformance class {self.name} no test was collected. Give it a name that "
            "pytest collects (python_classes, by default Test*), and let python_functions accept "
            "test_*.",
            pytrace=False,
        )

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where and what."""
        return self.path, None, f"{self.name} never ran"


def _idle(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    suite = sys.modules.get(_SUITE)
    if suite is None or _narrowed(config):
        return []
    ran = {base for cls in {_class_of(item) for item in items} if cls for base in cls.__mro__}
    seen = config.stash.get(_SEEN, set())
    return [
        f"{cls.__module__}.{cls.__qualname__}"
        for cls, file in suite.Suite.defined.items()
        if cls not in ran and file is not None and Path(file) in seen
    ]


def _narrowed(config: pytest.Config) -> bool:
    """Whether somebody asked for single tests, or for those that failed last."""
    return any("::" in arg for arg in config.args) or bool(config.getoption("lf", False))


def _class_of(item: pytest.Item) -> type[Any] | None:
    return getattr(item, "cls", None)
