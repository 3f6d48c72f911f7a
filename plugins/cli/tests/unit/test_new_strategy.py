"""`prism new-strategy`: what it writes and refuses. An acceptance test shows that it works."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Terminal

FILES = [
    ".gitignore",
    "README.md",
    "pyproject.toml",
    "src/prism_signals_strategy_my_editor/__init__.py",
    "src/prism_signals_strategy_my_editor/conformance.py",
    "src/prism_signals_strategy_my_editor/py.typed",
    "src/prism_signals_strategy_my_editor/settings.py",
    "src/prism_signals_strategy_my_editor/strategy.py",
    "tests/test_conformance.py",
    "tests/test_strategy.py",
]


def _files(folder: Path) -> list[str]:
    return sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())


def test_it_writes_a_whole_folder(bare: Terminal, place: Path) -> None:
    (place / "mine").mkdir()
    said = bare("new-strategy", "my_editor", "--dir", "mine", "--json")
    assert said.status == 0, said.err
    folder = place / "mine" / "strategy_my_editor"
    assert said.json["folder"] == "mine/strategy_my_editor"
    assert said.json["distribution"] == "prism-signals-strategy-my-editor"
    assert said.json["files"] == FILES == _files(folder)
    assert not [f for f in FILES if "{{" in (folder / f).read_text("utf-8")]
    config = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    assert config["project"]["entry-points"]["prism_signals"] == {
        "my_editor": "prism_signals_strategy_my_editor"
    }
    needed = config["project"]["dependencies"]
    assert all(">=" in n and ",<" in n for n in needed)
    assert "PRISM_MY_EDITOR_PATH" in (folder / "README.md").read_text("utf-8")


def test_it_says_what_comes_next(bare: Terminal) -> None:
    out = bare("new-strategy", "logbook").out
    assert "pip install -e 'strategy_logbook[dev]'" in out
    assert "pytest strategy_logbook" in out


@pytest.mark.parametrize(
    "name",
    ["", "Log", "my-editor", "2nd", "_x", "x_", "a__b", "a.b", "../x", "log\n", "ü", "x" * 31],
)
def test_a_bad_name_is_refused(bare: Terminal, place: Path, name: str) -> None:
    before = _files(place)
    said = bare("new-strategy", "--json", "--", name)
    assert said.status == 2
    assert bare("new-strategy", "--", name).err.startswith("Error (invalid_argument): ")
    assert _files(place) == before


def test_a_name_that_is_taken_is_refused(bare: Terminal) -> None:
    pytest.importorskip("prism_signals_strategy_piggyback")
    said = bare("new-strategy", "piggyback", "--json")
    assert (said.status, said.error["code"]) == (2, "invalid_argument")
    assert "prism-signals-strategy-piggyback" in said.error["message"]


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_nothing_is_overwritten(bare: Terminal, place: Path, what: str) -> None:
    there = place / "strategy_logbook"
    if what == "folder":
        there.mkdir()
    elif what == "file":
        there.write_text("mine")
    else:
        there.symlink_to(place / "nowhere")
    said = bare("new-strategy", "logbook", "--json")
    assert (said.status, said.error["code"]) == (2, "invalid_argument")
    assert "is there already" in said.error["message"]
    assert not (there / "pyproject.toml").exists()


def test_a_place_that_is_no_folder_is_refused(bare: Terminal, place: Path) -> None:
    (place / "file").touch()
    for parent in ("file", "missing"):
        said = bare("new-strategy", "logbook", "--dir", parent, "--json")
        assert (said.status, said.error["code"]) == (2, "invalid_argument")
        assert f"{parent} is no folder" in said.error["message"]


def test_half_a_folder_is_not_left(
    bare: Terminal, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    said = bare("new-strategy", "logbook")
    assert said.status == 2
    assert "cannot be written: No space left on device" in said.err
    assert not (place / "strategy_logbook").exists()
