from __future__ import annotations

import json

import pytest

from prism_signals_cli.plaintext import as_json, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\rb"),
        ("a\bb\x00\x7f", "a\\x08b\\x00\\x7f"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("née 日本 👩\u200d👧 ✓", "née 日本 👩\u200d👧 ✓"),
    ],
)
def test_what_could_act_on_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_one_line_stays_one_line() -> None:
    assert one_line("a\nb\tc\u2028d") == "a\\nb\\tc\\u2028d"


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 500,
        "👩\u200d👧 " * 100,
        "\x1b[2J\x9b\x7f\u202e\ufeff\U000e0041",
        'quotes " and \\ and \n',
        "\ud800",
    ],
)
def test_json_comes_back_equal_and_holds_nothing_unsafe(text: str, ascii_only: bool) -> None:
    written = as_json({"text": text}, ascii_only=ascii_only)
    assert json.loads(written) == {"text": text}
    assert visible(written) == written
    assert "\n" not in written
