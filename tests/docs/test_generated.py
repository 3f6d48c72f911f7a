"""What pages take from the code is what the code says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generate import PAGES, generated, main, pages, renewed

from .pages import name_of


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_page_is_current(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == renewed(text), "run 'python -m docs.generate' and commit what it writes"


def test_a_stale_page_is_noticed_and_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("# Page\n\n<!-- generated: exit codes -->\nold\n<!-- end -->\n", "utf-8")
    monkeypatch.setattr("docs.generate.PAGES", page.parent)
    assert main(["--check"]) == 1
    assert "page.md" in capsys.readouterr().err
    assert "old" in page.read_text("utf-8")
    assert main([]) == 0
    assert "| Exit | Meaning |" in page.read_text("utf-8")
    assert main(["--check"]) == 0


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(KeyError):
        renewed("<!-- generated: nothing of that name -->\n<!-- end -->")


def test_markers_come_in_pairs() -> None:
    for page in pages():
        text = page.read_text("utf-8")
        assert len(generated(text)) == text.count("<!-- generated:") == text.count("<!-- end -->")


def test_there_are_pages() -> None:
    assert (PAGES / "index.md") in pages()
