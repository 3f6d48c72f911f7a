"""The kit rejects plugins that would not work, before anything of them is opened."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from prism_signals import StrategyPlugin, hookimpl
from prism_signals_testkit import PluginConformance, PluginHarness


class Settings(BaseModel):
    token: SecretStr = SecretStr("")


class Careless(BaseModel):
    api_token: str = ""


class Shipped(BaseModel):
    password: SecretStr = SecretStr("letmein")


def _strategy(**changes: Any) -> StrategyPlugin:
    given: dict[str, Any] = {
        "name": "letters",
        "surfaces": ("letter_box",),
        "open": print,
        "settings": Settings,
    }
    return StrategyPlugin(**(given | changes))


def _plugin(*descriptors: Any) -> object:
    class Letters:
        @hookimpl
        def prism_strategies(self) -> Sequence[StrategyPlugin]:
            return list(descriptors)

    return Letters()


class Misspelt:
    @hookimpl
    def prism_strategys(self) -> Sequence[StrategyPlugin]:
        return [_strategy()]


class Unmarked:
    def prism_strategies(self) -> Sequence[StrategyPlugin]:
        return [_strategy()]


class Changing:
    number = 0

    @hookimpl
    def prism_strategies(self) -> Sequence[StrategyPlugin]:
        self.number += 1
        return [_strategy(name=f"letters_{self.number}")]


CASES: dict[str, tuple[object, set[str]]] = {
    "good": (_plugin(_strategy()), set()),
    "misspelt": (Misspelt(), {"P1"}),
    "unmarked": (Unmarked(), {"P1"}),
    "empty": (_plugin(), {"P1"}),
    "too_new": (_plugin(_strategy(api_version=99)), {"P1"}),
    "changing": (Changing(), {"P2"}),
    "loud_name": (_plugin(_strategy(name="My-Letters")), {"P3"}),
    "no_surface": (_plugin(_strategy(surfaces=())), {"P4"}),
    "a_string_of_surfaces": (_plugin(_strategy(surfaces="letter_box")), {"P1", "P4"}),
    "careless": (_plugin(_strategy(settings=Careless)), {"P5"}),
    "shipped_secret": (_plugin(_strategy(settings=Shipped)), {"P5"}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_plugin_is_rejected_by_its_clauses(case: str) -> None:
    plugin, expected = CASES[case]
    assert _broken(PluginHarness(plugin)) == expected


def test_a_plugin_must_be_installed_under_its_entry_point() -> None:
    assert _broken(PluginHarness(_plugin(_strategy()), "letters")) == {"P6"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from prism_signals import Signal", set()),
        ("from prism_signals.engine.machine import DeliveryMachine", {"P7"}),
        ("import prism_signals_store_sqlite", {"P7"}),
        ("from letters_of_mine import inside", set()),
    ],
)
def test_a_plugin_imports_the_public_face_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: set[str]
) -> None:
    module = ModuleType("letters_of_mine")
    folder = tmp_path / "letters_of_mine"
    folder.mkdir()
    (folder / "__init__.py").write_text(f"def late():\n    {line}\n", "utf-8")
    module.__file__ = str(folder / "__init__.py")
    module.__path__ = [str(folder)]
    module.prism_strategies = _hook(_strategy())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert _broken(PluginHarness(module)) == expected


def _hook(descriptor: StrategyPlugin) -> Callable[[], Sequence[StrategyPlugin]]:
    @hookimpl
    def prism_strategies() -> Sequence[StrategyPlugin]:
        return [descriptor]

    return prism_strategies


def _broken(harness: PluginHarness) -> set[str]:
    """The clauses whose test fails, run without a pytest of their own."""
    suite = PluginConformance()
    broken: set[str] = set()
    for name in (n for n in dir(suite) if hasattr(getattr(suite, n), "prism_clauses")):
        test = getattr(suite, name)
        try:
            test(harness)
        except pytest.skip.Exception:
            continue
        except AssertionError:
            broken |= set(test.prism_clauses)
    return broken
