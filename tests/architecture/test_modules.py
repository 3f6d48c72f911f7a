"""One concept to a module: how long things may be and what they may not be called."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from devtools.layout import ROOT
from devtools.suites import SUITES

from .sources import shown, source_files

LONGEST_MODULE = 400
LONGEST_FUNCTION = 40
LONGEST_CLASS = 200
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_lines(definition: Definition) -> int:
    """The lines of a definition without docstrings: the words of a promise cost nothing."""
    parts = [n for n in ast.walk(definition) if isinstance(n, Definition)]
    documented = [n for n in parts if ast.get_docstring(n) is not None]
    return length(definition) - sum(length(n.body[0]) for n in documented)


def length(node: ast.stmt) -> int:
    """The lines from first to last."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def everything() -> list[Path]:
    """The sources, and the machinery that the tests rest on."""
    return [*source_files(), ROOT / "dev.py", *sorted((ROOT / "devtools").glob("*.py"))]


def test_no_module_is_long(tracked: list[Path]) -> None:
    files = {*everything(), *(ROOT / f for f in tracked if f.suffix in (".py", ".pyi"))}
    lengths = {shown(f): len(f.read_text("utf-8").splitlines()) for f in files}
    assert [f"{f} has {n} lines" for f, n in lengths.items() if n > LONGEST_MODULE] == []


def test_no_module_is_called_nothing_in_particular(tracked: list[Path]) -> None:
    files = [*everything(), *(f for f in tracked if f.suffix == ".py")]
    assert [str(f) for f in files if {*f.parts[:-1], f.stem} & SAYS_NOTHING] == []


def test_no_function_is_long() -> None:
    assert too_long(everything(), (ast.FunctionDef, ast.AsyncFunctionDef), LONGEST_FUNCTION) == []


def test_no_class_is_long() -> None:
    # A class of the kit is a list of cases that stand alone, not a thing with many duties.
    files = [f for f in everything() if not f.is_relative_to(ROOT / "plugins" / "testkit")]
    assert too_long(files, (ast.ClassDef,), LONGEST_CLASS) == []


def too_long(files: list[Path], kinds: tuple[type[Definition], ...], limit: int) -> list[str]:
    """The definitions of these kinds that have more lines than that."""
    return [
        f"{shown(f)}:{node.lineno} {node.name} has {code_lines(node)} lines"
        for f in files
        for node in ast.walk(ast.parse(f.read_text("utf-8")))
        if isinstance(node, kinds) and code_lines(node) > limit
    ]


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        shown(f)
        for f in everything()
        if len(ast.get_docstring(ast.parse(f.read_text("utf-8"))) or "") < 8
    ]
    assert silent == []


def test_every_test_is_in_a_suite(tracked: list[Path]) -> None:
    folders = [Path(f) for s in SUITES for f in s.folders]
    tests = [f for f in tracked if f.name.startswith("test_") and f.suffix == ".py"]
    # Those of the examples are run from outside, as their author would: tests/packaging.
    tests = [f for f in tests if f.parts[0] != "examples"]
    assert tests
    assert [str(f) for f in tests if not any(f.is_relative_to(d) for d in folders)] == []


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: str(s.name))
def test_every_suite_is_there(suite: object) -> None:
    assert getattr(suite, "folders", None), f"{suite} has no folder"
