"""URLs and their options."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from prism_signals import InvalidSetting
from prism_signals_store_sqlite import default_url
from prism_signals_store_sqlite.url import Options, default_path, parse_url, url_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqlite:///a/b.db", Options(Path("/a/b.db"))),
        ("SQLITE:///a/b.db", Options(Path("/a/b.db"))),
        ("sqlite:////a/b.db", Options(Path("/a/b.db"))),
        ("sqlite:///a%20b/%23%3F.db", Options(Path("/a b/#?.db"))),
        ("sqlite:///a.db?synchronous=normal", Options(Path("/a.db"), synchronous="NORMAL")),
        (
            "sqlite:///a.db?deadline=0.5&ttl=2&poll=3",
            Options(
                Path("/a.db"),
                deadline=timedelta(seconds=0.5),
                ttl=timedelta(seconds=2),
                poll=timedelta(seconds=3),
            ),
        ),
        ("sqlite:///~/prism.db", Options(Path.home() / "prism.db")),
    ],
)
def test_a_url_names_a_file_and_options(text: str, expected: Options) -> None:
    assert parse_url(text) == expected


@pytest.mark.parametrize("text", ["sqlite:", "sqlite://", "sqlite:?synchronous=FULL"])
def test_without_a_path_it_is_the_users_own_file(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert parse_url(text).path == default_path()
    assert default_path().name == "prism.db"
    assert parse_url(default_url()).path == default_path()


@pytest.mark.parametrize("path", [Path("/a/b.db"), Path("/a b/ü?#%.db")])
def test_a_path_comes_back_from_its_url(path: Path) -> None:
    assert parse_url(url_of(path)).path == path


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("postgresql:///x", "sqlite:"),
        ("sqlite://host/a.db", "three slashes"),
        ("sqlite:relative.db", "absolute path"),
        ("sqlite:///folder/", "absolute path"),
        ("sqlite:///a%00b", "absolute path"),
        ("sqlite:///a.db#x", "%23"),
        ("sqlite://[/a.db", "Example"),
        ("sqlite:///a.db?nonsense", "Example"),
        ("sqlite:///a.db?color=red", "Known are: deadline, poll, synchronous, ttl"),
        ("sqlite:///a.db?synchronous=OFF", "FULL or NORMAL"),
        ("sqlite:///a.db?synchronous=", "FULL or NORMAL"),
        ("sqlite:///a.db?ttl=1&ttl=2", "twice"),
        ("sqlite:///a.db?ttl=soon", "seconds"),
        ("sqlite:///a.db?deadline=0", "seconds"),
        ("sqlite:///a.db?deadline=nan", "seconds"),
        ("sqlite:///a.db?poll=inf", "seconds"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        parse_url(text)
    assert hint in refused.value.message
