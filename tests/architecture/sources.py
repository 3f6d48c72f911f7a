"""The Python sources of every distribution, read without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devtools.layout import ROOT, distributions


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, wherever in the file it is imported.

    Attributes:
        module: Its absolute name, or the relative one with its leading dots.
        names: What is taken from it; empty for `import module`.
        line: Where.
    """

    module: str
    names: tuple[str, ...]
    line: int


def source_files() -> list[Path]:
    """Every module of every distribution."""
    return sorted(f for d in distributions() for f in (d.folder / "src").rglob("*.py"))


def plugin_files() -> list[Path]:
    """Every module of every distribution but core."""
    return [f for f in source_files() if not f.is_relative_to(ROOT / "core")]


def imports(code: str) -> Iterator[Import]:
    """All imports in this code, those in functions and below `TYPE_CHECKING` included."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import("." * node.level + (node.module or ""), names, node.lineno)


def shown(file: Path) -> str:
    """A file as a person names it."""
    return str(file.relative_to(ROOT))
