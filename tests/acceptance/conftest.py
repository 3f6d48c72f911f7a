"""What the acceptance tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client import Pool, Stage, World


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """SPEC-034 names its smoke test, so that one does not begin with `test_`."""
    named = any(file_path.match(p) for p in parent.config.getini("python_files"))
    if file_path.match("smoke_*.py") and not named and not parent.session.isinitpath(file_path):
        return pytest.Module.from_parent(parent, path=file_path)
    return None


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Gateways for many tests."""
    pool = Pool()
    yield pool
    pool.world.close()


@pytest.fixture
def stage(pool: Pool) -> Iterator[Stage]:
    """A project of this test, and agents for it."""
    with Stage(pool) as stage:
        yield stage


@pytest.fixture
def world() -> Iterator[World]:
    """A store of this test, for those that kill, freeze or configure processes."""
    with World() as world:
        yield world
