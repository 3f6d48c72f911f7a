"""The arguments of a verb: what fits, and what a caller is told about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from prism_signals import InvalidArgument
from prism_signals_gateway_mcp.arguments import Kind, Parameter, check, schema_of

PARAMETERS = (
    Parameter("to", required=True),
    Parameter("payload", Kind.OBJECT, required=True),
    Parameter("priority", choices=("normal", "urgent")),
    Parameter("limit", Kind.INTEGER),
    Parameter("wait", Kind.NUMBER),
    Parameter("all", Kind.BOOLEAN),
    Parameter("ids", Kind.STRINGS),
)
ENOUGH: dict[str, Any] = {"to": "Donna", "payload": {}}


def test_gives_what_was_given_and_nothing_else() -> None:
    given = {**ENOUGH, "priority": "urgent", "limit": 3, "wait": 1.5, "all": False, "ids": ["a"]}
    assert check("verb", PARAMETERS, given) == given


def test_null_is_the_same_as_absent_for_an_optional_one() -> None:
    assert check("verb", PARAMETERS, {**ENOUGH, "limit": None}) == ENOUGH


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert check("verb", PARAMETERS, {**ENOUGH, "limit": 20.0})["limit"] == 20


def test_the_verb_itself_judges_an_object() -> None:
    assert check("verb", PARAMETERS, {"to": "D", "payload": "text"})["payload"] == "text"


@pytest.mark.parametrize(
    ("change", "named", "says"),
    [
        ({"to": 5}, "to", "must be a string, not a number"),
        ({"to": None}, "to", "not null"),
        ({"limit": "3"}, "limit", "a whole number, not a string"),
        ({"limit": 1.5}, "limit", "a whole number"),
        ({"limit": True}, "limit", "not a boolean"),
        ({"wait": True}, "wait", "a number, not a boolean"),
        ({"wait": "1"}, "wait", "a number"),
        ({"all": "yes"}, "all", "true or false"),
        ({"all": 1}, "all", "true or false"),
        ({"ids": "a"}, "ids", "an array of strings"),
        ({"ids": ["a", 1]}, "ids", "an array of strings"),
        ({"ids": {}}, "ids", "not an object"),
        ({"priority": "high"}, "priority", "normal, urgent"),
        ({"prioritty": "urgent"}, "prioritty", "Did you mean 'priority'"),
        ({"x" * 500: 1}, "x" * 80, "has no argument"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], named: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check("verb", PARAMETERS, {**ENOUGH, **change})
    assert says in str(caught.value)
    assert caught.value.details["argument"] == named
    assert len(str(caught.value)) < 400


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InvalidArgument, match="'payload' of verb is missing"):
        check("verb", PARAMETERS, {"to": "Donna"})


def test_the_schema_says_the_same() -> None:
    schema = schema_of(PARAMETERS)
    assert schema["required"] == ["to", "payload"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["priority"]["enum"] == ["normal", "urgent"]
    assert schema["properties"]["ids"] == {"type": "array", "items": {"type": "string"}}
    assert "required" not in schema_of(PARAMETERS[2:])
