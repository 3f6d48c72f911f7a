"""A server that several tests share because they change nothing in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .raw_client import Server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("shared")) as server:
        server.initialize()
        yield server
