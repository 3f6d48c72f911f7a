"""The coverage page leaves no item out, and each test it names exists and runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate import PAGES, pages

from .named_tests import named_in, trouble
from .pages import name_of

COVERAGE = PAGES / "reference" / "coverage.md"
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
_PLAN = re.compile(r"[Ww]ork orders? [B-I]\b|Not built|Not installed")

SPEC = [
    "§3 preconditions", *(f"§3 step {n}" for n in range(1, 5)),
    *(f"§3 proof {n}" for n in range(1, 7)), "§4.1", "§4.2", "§4.3", "§5.1", "§5.2", "§5.3",
    "§6.1", *(f"§6.2.{n}" for n in range(1, 7)), "§6.3", "§7.1", "§7.2 ChannelsPushStrategy",
    "§7.2 PiggybackStrategy", "§7.3 AppServerInjectStrategy", "§7.3 ACPStrategy",
    "§7.3 WebhookStrategy", "§7.4", "§8.1", "§8.2", "§9 columns and index", "§9 retention",
    "§10.1", "§10.2", "§10.3", "§11 autonomous execution", "§11 across projects",
    "§11 encryption", "§11 rate limiting", "§11 history in a UI",
    *(f"§13.{n}" for n in range(1, 8)), *(f"§14.{n}" for n in range(1, 15)),
]  # fmt: skip
EP = [
    "Abstract", "Motivation", "Comparing mechanisms", "Rationale 1, containment",
    "Rationale 2, symmetry", "Rationale 3, efficiency", "Rationale 4, falsification",
    "Specification 1", *(f"Specification 2.{n}" for n in range(1, 4)),
    *(f"Specification 3.{n}" for n in range(1, 5)), "Specification 4", "Compatibility, clients",
    "Compatibility, storage", "Compatibility, CLI", *(f"Documentation plan {n}" for n in (1, 2, 3)),
    "Reference implementation", "Rejected 1, sampling on every signal",
    "Rejected 2, polling threads inside the harness", "Rejected 3, webhooks",
    "Open question 1", "Open question 2",
]  # fmt: skip
FILES = 15
"""§12 names this many files."""


def rows() -> dict[str, str]:
    """Each item of the page, and what its last column says."""
    text = COVERAGE.read_text("utf-8")
    return {item: shown for item, _, shown in _ROW.findall(text)}


@pytest.mark.parametrize("item", [*SPEC, *EP])
def test_an_item_has_its_row(item: str) -> None:
    assert item in rows()


def test_every_file_of_section_12_has_its_row() -> None:
    assert len([item for item in rows() if item.startswith("§12 ")]) == FILES


@pytest.mark.parametrize("item", [*SPEC, *EP])
def test_an_item_names_a_test_or_the_work_order_that_will_bring_one(item: str) -> None:
    shown = rows()[item]
    assert named_in(shown) or _PLAN.search(shown), shown


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_test_that_a_page_names_exists_and_is_not_held_back(
    page: Path,
) -> None:
    text = page.read_text("utf-8")
    wrong = [why for file, name in named_in(text) if (why := trouble(file, name))]
    assert wrong == []


def test_every_ruled_departure_and_contradiction_is_repeated() -> None:
    _, _, rest = COVERAGE.read_text("utf-8").partition("## Ruled departures from the letter")
    departures, _, contradictions = rest.partition("\n## ")
    # As many as the design rules, and as many as were found; head and line not counted.
    assert departures.count("\n| ") == 18 + 2
    assert contradictions.count("\n| ") == 20 + 2


def test_every_name_of_a_test_is_understood() -> None:
    for page in pages():
        text = page.read_text("utf-8")
        assert text.count(".py::") == len(named_in(text)), name_of(page)


@pytest.mark.parametrize(
    ("file", "name", "why"),
    [
        ("tests/docs/nothing.py", "test_x", "does not exist"),
        ("tests/docs/test_coverage.py", "test_x", "has no test_x"),
    ],
)
def test_that_rule_notices(file: str, name: str, why: str) -> None:
    assert why in trouble(file, name)
