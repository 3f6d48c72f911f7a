"""The public face: one table, one stub, and nothing loaded before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prism_signals

FACE = Path(prism_signals.__file__).parent
TABLE: dict[str, str] = vars(prism_signals)["_MODULE_OF"]
PUBLIC: list[str] = vars(prism_signals)["__all__"]


def stub_names() -> dict[str, str]:
    """Each name of the stub that is meant for others, and the module it comes from."""
    tree = ast.parse((FACE / "__init__.pyi").read_text("utf-8"))
    return {
        alias.asname: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if alias.asname == alias.name
    }


def test_the_stub_says_what_the_table_says() -> None:
    assert stub_names() == TABLE


def test_all_is_the_table_sorted() -> None:
    assert sorted(TABLE) == PUBLIC
    assert len(set(PUBLIC)) == len(PUBLIC)


def test_dir_shows_every_name() -> None:
    assert set(PUBLIC) <= set(dir(prism_signals))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_described(name: str) -> None:
    value = getattr(prism_signals, name)
    if isinstance(value, type) or callable(value):
        assert (value.__doc__ or "").strip(), f"{name} has no docstring"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = prism_signals.no_such_name  # type: ignore[attr-defined]


def test_importing_the_face_loads_none_of_its_modules() -> None:
    code = "import sys, prism_signals; print(*[m for m in sys.modules if m.startswith('prism_')])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert answer.stdout.split() == ["prism_signals"]
