"""One tree of errors: the picture, the classes and the table of meanings agree."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import prism_signals
from prism_signals import ERROR_TABLE, PrismError


def tree(root: type[PrismError]) -> Iterator[tuple[int, type[PrismError]]]:
    """Every error of core with its depth, in the order of definition."""
    stack = [(0, root)]
    while stack:
        depth, error = stack.pop()
        yield depth, error
        children = [c for c in error.__subclasses__() if c.__module__ == PrismError.__module__]
        stack += [(depth + 1, c) for c in reversed(children)]


def picture() -> list[tuple[int, str]]:
    """The tree that the module's docstring draws: depth and name of each line."""
    doc = sys.modules[PrismError.__module__].__doc__ or ""
    drawing = re.search(r"```\n(.*?)```", doc, re.DOTALL)
    assert drawing, "the docstring of the errors draws no tree"
    lines = [re.match(r"([│├└─ ]*)(\w+)$", line) for line in drawing[1].splitlines()]
    assert all(lines), "a line of the tree cannot be read"
    return [(len(m[1]) // 4, m[2]) for m in lines if m]


def test_the_picture_is_the_tree() -> None:
    classes = {(error.__name__, depth) for depth, error in tree(PrismError)}
    assert {(name, depth) for depth, name in picture()} == classes


def test_the_picture_hangs_each_error_below_its_parent() -> None:
    above: dict[int, str] = {}
    for depth, name in picture():
        above[depth] = name
        error = getattr(prism_signals, name)
        if depth:
            assert error.__base__.__name__ == above[depth - 1]


def test_every_error_has_a_code_of_its_own_that_the_table_explains() -> None:
    errors = [error for _, error in tree(PrismError)]
    codes = [error.code for error in errors]
    assert len(set(codes)) == len(codes)
    assert set(codes) == set(ERROR_TABLE)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)


def test_every_error_is_public_and_says_something_without_a_message() -> None:
    for _, error in tree(PrismError):
        assert error.__name__ in vars(prism_signals)["__all__"]
        said = error().message
        assert said.endswith("."), f"{error.__name__} says {said!r}"
