"""The code in the pages runs, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import World

from .pages import all_pages, blocks, name_of
from .reader import Reader

PLAIN = ("", "text", "mermaid")
"""Languages that nobody runs."""


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_every_block_of_code_says_whether_it_is_run(page: Path) -> None:
    silent = [str(b) for b in blocks(page) if b.language not in PLAIN and not b.mark]
    assert silent == [], "mark them with a comment; see tests/docs/pages.py"
    reasons = [str(b) for b in blocks(page) if b.mark == "not run" and not b.detail]
    assert reasons == [], "say why it is not run"


def runnable(page: Path) -> bool:
    return any(b.mark in ("run", "prints") for b in blocks(page))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", [p for p in all_pages() if runnable(p)], ids=name_of)
def test_the_blocks_of_a_page_run(page: Path) -> None:
    with World() as world:
        reader = Reader(world)
        for block in blocks(page):
            if block.mark in ("run", "prints"):
                reader.follow(block)


def test_the_tutorial_is_run() -> None:
    (tutorial,) = (p for p in all_pages() if p.name == "first-signal.md")
    assert [b.mark for b in blocks(tutorial) if b.language == "sh"].count("run") >= 5
