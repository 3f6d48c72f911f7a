"""The folder from which a strategy is started: names, templates, and how they are written."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from prism_signals import InvalidArgument, Registry

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_LONGEST = 30
_SUFFIX = ".template"
_FIELD = re.compile(r"\{\{(\w+)\}\}")
_RENAMED = {"gitignore": ".gitignore"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A strategy that does not exist yet.

    Attributes:
        name: Of the strategy, its entry point and its surface.
        folder: Where it will be.
    """

    name: str
    folder: Path

    @property
    def distribution(self) -> str:
        """What an installer calls it."""
        return f"prism-signals-strategy-{self.name.replace('_', '-')}"

    @property
    def package(self) -> str:
        """What Python imports."""
        return f"prism_signals_strategy_{self.name}"

    def fields(self) -> dict[str, str]:
        """What stands in for the templates' fields."""
        return {
            "name": self.name,
            "upper": self.name.upper(),
            "title": "".join(word.capitalize() for word in self.name.split("_")),
            "distribution": self.distribution,
            "package": self.package,
            "core": _capped("prism-signals-core"),
            "testkit": f"prism-signals-testkit{_range('prism-signals-core')}",
        }


def drafted(name: str, parent: Path) -> Draft:
    """A draft of that name, `strategy_NAME` below this folder.

    Raises:
        InvalidArgument: The name is bad or taken, or the folder cannot be used.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise InvalidArgument(
            f"{name[:60]!a} is no name for a strategy. Use lower-case letters, digits and single "
            f"underscores, a letter first, at most {_LONGEST} characters, for example my_editor."
        )
    for found in Registry.discover().strategies:
        if found.plugin.name == name:
            raise InvalidArgument(
                f"{name} is a strategy of {found.origin.distribution} already. Choose another name."
            )
    draft = Draft(name, parent / f"strategy_{name}")
    if not parent.is_dir():
        raise InvalidArgument(f"{parent} is no folder. Make it first, or name another with --dir.")
    if draft.folder.exists() or draft.folder.is_symlink():
        raise InvalidArgument(
            f"{draft.folder} is there already, and nothing is overwritten. Choose another name, "
            "or another place with --dir."
        )
    return draft


def write(draft: Draft) -> list[Path]:
    """Write the folder; gives its files, relative to it.

    Raises:
        InvalidArgument: It cannot be written; nothing is left of it.
    """
    fields = draft.fields()
    written = []
    try:
        draft.folder.mkdir()
        for place, text in _templates(files(__package__) / "strategy_template", Path()):
            where = place.with_name(_RENAMED.get(place.name, place.name))
            where = Path(*(draft.package if p == "package" else p for p in where.parts))
            target = draft.folder / where
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_FIELD.sub(lambda m: fields[m[1]], text), "utf-8")
            written.append(where)
    except OSError as e:
        shutil.rmtree(draft.folder, ignore_errors=True)
        raise InvalidArgument(f"{draft.folder} cannot be written: {e.strerror}.") from e
    return sorted(written)


def _templates(folder: Traversable, place: Path) -> Iterator[tuple[Path, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, place / entry.name)
        elif entry.name.endswith(_SUFFIX):
            yield place / entry.name.removesuffix(_SUFFIX), entry.read_text("utf-8")


def _capped(distribution: str) -> str:
    return f"{distribution}{_range(distribution)}"


def _range(distribution: str) -> str:
    """From the installed minor version to the next that may break: `>=0.1,<0.2` or `>=1.4,<2`."""
    major, minor = (int(n) for n in version(distribution).split(".")[:2])
    above = f"0.{minor + 1}" if major == 0 else str(major + 1)
    return f">={major}.{minor},<{above}"
