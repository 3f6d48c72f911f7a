"""The reference leaves nothing out and names nothing that is not there."""

from __future__ import annotations

import inspect
import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from docs.blocks.contracts import NAMES, columns, rules
from docs.blocks.plugins import specs
from docs.blocks.settings import models, plugin_prefix
from docs.generate import PAGES, generated
from prism_signals import ERROR_TABLE, Registry, Settings, Signal, iso, render_text
from prism_signals_cli.catalogue import COMMANDS
from prism_signals_gateway_mcp.verbs import VERBS, Verb
from prism_signals_testkit import clauses as shown_clauses
from tests.client import ROOT

from .pages import all_pages, blocks, first_cells, headings, name_of

REFERENCE = PAGES / "reference"
OF_THE_TUTORIAL = {"PRISM_LOGBOOK_PATH"}
"""The setting of the strategy that the reader of the tutorial makes."""
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def text(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def section(page: str, heading: str) -> str:
    """What stands below a heading of the second level."""
    _, _, rest = text(page).partition(f"\n## {heading}\n")
    assert rest, f"{page} has no heading {heading}"
    return rest.partition("\n## ")[0]


def test_every_verb_has_its_heading_in_order() -> None:
    verbs = [h for h in headings(REFERENCE / "verbs.md") if h.startswith("prism_")]
    assert verbs == [v.name for v in VERBS]


@pytest.mark.parametrize("verb", VERBS, ids=lambda v: v.name)
def test_every_argument_has_its_row(verb: Verb) -> None:
    told = section("verbs.md", f"`{verb.name}`")
    assert f"verb {verb.name}" in generated(text("verbs.md"))
    for parameter in verb.parameters:
        assert f"| `{parameter.name}` |" in told


def test_every_error_that_a_verb_names_exists() -> None:
    told = re.findall(r"^Errors: (.+?)\n\n", text("verbs.md"), re.MULTILINE | re.DOTALL)
    codes = {c for line in told for c in re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", line))}
    assert codes
    assert codes <= set(ERROR_TABLE)


def test_every_setting_has_its_row() -> None:
    wanted = [f"PRISM_{f.upper()}" for f in Settings.model_fields]
    for _, plugin, model in models():
        wanted += [f"{plugin_prefix(plugin)}{f.upper()}" for f in model.model_fields]
    assert [t for t in first_cells(text("settings.md")) if t in wanted] == wanted


def test_every_setting_that_a_page_names_exists() -> None:
    known = {*first_cells(text("settings.md")), *OF_THE_TUTORIAL}
    for page in all_pages():
        named = set(re.findall(r"PRISM_[A-Z_]+[A-Z]", page.read_text("utf-8")))
        assert named <= known, name_of(page)


def test_every_error_has_its_row() -> None:
    assert first_cells(text("errors.md")) == list(ERROR_TABLE)


def test_every_type_has_its_row() -> None:
    told = first_cells(text("types.md"))
    assert told == [t.name for t in Registry.of().types()]


def test_every_command_has_its_heading() -> None:
    told = [h for h in headings(REFERENCE / "cli.md") if h.startswith("prism ")]
    assert told == [*(f"prism {e.name}" for e in COMMANDS), "prism mcp", "prism conformance"]


def test_every_hook_has_its_heading_with_its_arguments() -> None:
    told = [h for h in headings(REFERENCE / "hooks.md") if h.startswith("prism_")]
    empty = inspect.Signature.empty
    assert told == [
        f"{name}{inspect.signature(f).replace(return_annotation=empty)}"
        for name, f in specs().items()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_docstring_page_and_kit_have_the_same_clauses(name: str) -> None:
    page = (REFERENCE / "contract" / f"{name}.md").read_text("utf-8")
    told = re.findall(r"^\| ([A-Z]\d+) \|", page, re.MULTILINE)
    letters = {number[0] for number in rules(name)}
    shown = [number for number in shown_clauses() if number[0] in letters]
    assert told == list(rules(name))
    assert sorted(shown) == sorted(told)


def test_every_table_and_column_of_the_store_is_told() -> None:
    archives = {"signal_archive": "signal_queue", "signal_delivery_archive": "signal_delivery"}
    for table, names in columns().items():
        told = first_cells(section("tables.md", f"`{table}`"))
        if table in archives:
            assert names == columns()[archives[table]]
        else:
            assert told == names, table


def test_the_channel_event_is_shown_as_it_is() -> None:
    (shown,) = (b.text for b in blocks(PAGES / "how-to" / "claude-code.md") if "📨" in b.text)
    signal_id = str(uuid4())
    signal = Signal.from_dict(
        {
            "signal_id": signal_id,
            "from_identity": "Lola",
            "from_session": str(uuid4()),
            "to_identity": "Donna",
            "signal_type": "ReviewRequested",
            "created_at": iso(datetime.now(UTC)),
            "payload": {"spec_id": "SPEC-033", "instructions": "Please review SPEC-033."},
        }
    )
    for line in render_text(signal).splitlines():
        assert any(line.startswith(told.partition("…")[0]) for told in shown.splitlines() if told)


def test_the_glossary_has_every_word_of_the_design() -> None:
    words = {
        "signal",
        "identity",
        "session",
        "project",
        "tenant",
        "surface",
        "strategy",
        "route",
        "gateway",
        "store",
        "directory",
        "bus",
        "doorbell",
        "delivery",
        "attempt",
        "outcome",
        "lease",
        "lease token",
        "ack",
        "dead letter",
        "replay",
        "recall",
        "engagement",
        "presence",
    }
    lines = text("glossary.md").splitlines()
    told = {a for a, b in pairwise(lines) if b.startswith(": ")}
    assert words <= told


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for target in _LINK.findall(page.read_text("utf-8")):
        there = page.parent / target
        assert there.exists() or there.with_suffix(".md").exists(), target
        assert there.resolve().is_relative_to(ROOT)
