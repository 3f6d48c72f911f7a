"""Names: what is accepted, what is refused with which words, and how names compare."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_signals import InvalidName, InvalidProject, parse_name, parse_project, parse_recipient


@pytest.mark.parametrize(
    "text",
    [
        "Donna",
        "a",
        "x" * 64,
        "donna.critic",
        "Ж",
        "日本",
        "a_b-c.d",
        "0",
        "Ｄｏｎｎａ",
        "Ünal",
    ],
)
def test_good_names(text: str) -> None:
    assert parse_name(text).display == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("x" * 65, "too long"),
        ("a..b", "double dot"),
        (".a", "double dot"),
        ("a.", "double dot"),
        ("Donna\n", "contains"),
        ("../x", "contains"),
        ("a/b", "contains"),
        ("🙂", "contains"),
        ("a b", "contains"),
        ("Dоnna", "look-alike"),
        ("*", "contains"),
        ("ﷺ" * 10, "too long"),
        ("a\u200bb", "contains"),
        ("a\u202eb", "contains"),
        ("%", "contains"),
        ("System", "reserved"),
        ("\x00", "contains"),
    ],
)
def test_bad_names_say_which_rule(text: str, word: str) -> None:
    with pytest.raises(InvalidName, match=word) as caught:
        parse_name(text)
    assert caught.value.code == "invalid_name"
    assert caught.value.message.isascii()  # what was typed cannot disturb the message


@pytest.mark.parametrize("bad", [None, 7, ["Donna"], b"Donna"])
def test_a_name_is_text(bad: object) -> None:
    with pytest.raises(InvalidName):
        parse_name(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("same", ["DONNA", "donna", "Ｄｏｎｎａ", "ｄonna"])
def test_names_compare_canonically(same: str) -> None:
    assert parse_name(same).canonical == parse_name("Donna").canonical


def test_star_is_a_recipient_only() -> None:
    assert parse_recipient("*").canonical == "*"


def test_candidates_go_from_the_sub_name_up() -> None:
    assert parse_name("Donna.Critic.v2").candidates() == (
        "donna.critic.v2",
        "donna.critic",
        "donna",
    )


@given(st.text(max_size=70))
def test_any_text_is_taken_or_refused_and_canonical_is_stable(text: str) -> None:
    try:
        name = parse_name(text)
    except InvalidName:
        return
    again = parse_name(name.canonical)
    assert again.canonical == name.canonical


@pytest.mark.parametrize("pid", ["PID-PGR01", "a", "x" * 128, "team:one.two_3"])
def test_good_projects(pid: str) -> None:
    assert parse_project(pid) == pid


@pytest.mark.parametrize("pid", ["", " ", "x" * 129, "-a", "a/b", "a\n", "../x", "é", None, 3])
def test_bad_projects(pid: object) -> None:
    with pytest.raises(InvalidProject):
        parse_project(pid)  # type: ignore[arg-type]
