"""Finds tests by the name that a page gives them, without running or importing anything."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.client import ROOT

NAME = re.compile(r"`((?:[\w/]+/)?tests/[\w/]+\.py)::(\w+(?:::\w+)?)`")
"""How a page names a test: `path/to/file.py::test_name` or `path/to/file.py::Class::test_name`."""
_HELD_BACK = ("skip", "skipif", "xfail")


def named_in(text: str) -> list[tuple[str, str]]:
    """The tests that a text names: file and name."""
    return NAME.findall(text)


def trouble(file: str, name: str) -> str:
    """Why a named test does not show anything; empty where it does."""
    path = ROOT / file
    if not path.is_file():
        return f"{file} does not exist"
    holder: ast.Module | ast.ClassDef = _parsed(path)
    held = _marks_of_module(_parsed(path))
    for part in name.split("::"):
        found = [
            n
            for n in holder.body
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and n.name == part
        ]
        if not found:
            return f"{file} has no {name}"
        held |= _marks(found[0].decorator_list)
        if isinstance(found[0], ast.ClassDef):
            holder = found[0]
    return f"{file}::{name} is marked {', '.join(sorted(held))}" if held else ""


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _marks(nodes: list[ast.expr]) -> set[str]:
    return {
        part.attr
        for n in nodes
        for part in ast.walk(n)
        if isinstance(part, ast.Attribute) and part.attr in _HELD_BACK
    }


def _marks_of_module(module: ast.Module) -> set[str]:
    """What `pytestmark` at the top of a file holds back."""
    values = [
        n.value
        for n in module.body
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in n.targets)
    ]
    return _marks(values)
