"""What no file of the project may say."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from devtools.layout import ROOT

# Put together here, so that this file does not say them itself.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("python" + "hosted", "org"), ("npmjs", "org"), ("npmjs", "com"),
        ("yarnpkg", "com"), ("deb", "debian", "org"), ("proxy", "golang", "org"),
        ("index", "crates", "io"), ("anaconda", "org"),
    )
]  # fmt: skip
HOMES = ("work", "root", "home", "Users", "opt/wheels")
MACHINE = re.compile(rf"(?<![\w.~}}*/-])/(?:{'|'.join(HOMES)})/[\w.]")
PROMISE = re.compile("exactly" + r"[\s-]+" + "once", re.IGNORECASE)
TEXT_LIMIT = 2_000_000


def lines(files: Sequence[Path]) -> list[tuple[str, str]]:
    """Every line of every text file, with the place where it stands."""
    found = []
    for f in files:
        raw = (ROOT / f).read_bytes()
        if b"\0" in raw or len(raw) > TEXT_LIMIT:
            continue
        text = raw.decode("utf-8", "replace")
        found += [(f"{f}:{n}", line) for n, line in enumerate(text.splitlines(), 1)]
    return found


def test_no_file_names_a_registry(tracked: list[Path]) -> None:
    wrong = [place for place, line in lines(tracked) if any(h in line for h in HOSTS)]
    assert wrong == []


def test_no_file_names_a_place_on_somebodys_machine(tracked: list[Path]) -> None:
    wrong = [f"{place} {line.strip()}" for place, line in lines(tracked) if MACHINE.search(line)]
    assert wrong == []


@pytest.mark.parametrize("path", ["/" + "root/x", "cd /" + "work/main", "'/" + "home/lola/.x'"])
def test_that_rule_notices(path: str) -> None:
    assert MACHINE.search(path)


@pytest.mark.parametrize("text", ["http://x/home/page", "~/work/x", "tests/work/a", "{x}/root/y"])
def test_that_rule_knows_other_slashes(text: str) -> None:
    assert not MACHINE.search(text)


def test_no_file_promises_what_no_network_can(tracked: list[Path]) -> None:
    assert [place for place, line in lines(tracked) if PROMISE.search(line)] == []


def test_the_node_lock_can_be_installed_from_anywhere(tracked: list[Path]) -> None:
    locks = [f for f in tracked if f.name == "package-lock.json"]
    assert locks
    for f in locks:
        packages = json.loads((ROOT / f).read_text("utf-8"))["packages"]
        assert not [name for name, p in packages.items() if "resolved" in p]
        assert all("integrity" in p for name, p in packages.items() if name)
