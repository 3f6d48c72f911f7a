"""The conformance class for plugins as such: what their hooks give, before anything is opened."""

from __future__ import annotations

import ast
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from prism_signals import API_VERSION, Registry, StrategyPlugin

from .clause import clause
from .suite import Harness, Suite, need

HOOKS = (
    "prism_strategies",
    "prism_stores",
    "prism_directories",
    "prism_buses",
    "prism_gateways",
    "prism_signal_types",
    "prism_policies",
    "prism_observers",
    "prism_commands",
)
QUICK = 0.5
"""Seconds in which a plugin has told what it brings."""
FACE = "prism_signals"
KIT = "prism_signals_testkit"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SECRET = re.compile(r"secret|token|password|passphrase|credential|(?:^|_)key$|api_?key")


@dataclass(frozen=True)
class PluginHarness(Harness):
    """A plugin as it is registered.

    Attributes:
        plugin: The module or object that the entry point names.
        entry_point: Its name in the group `prism_signals`, where it is installed.
    """

    plugin: object
    entry_point: str | None = None


class PluginConformance(Suite):
    """What a plugin promises before anything of it is opened.

    Clauses:
        P1: alone, it registers without a problem: known hooks, no arguments, synchronous, no
            wrappers, this contract's version.
        P2: its hooks do nothing but answer: quickly, without threads, the same every time.
        P3: names are lower-case identifiers; a strategy is named as its entry point.
        P4: what it brings can be chosen: surfaces, URL schemes and descriptions are given.
        P5: a setting that holds a secret is a `SecretStr`, with no value of its own.
        P6: it is installed under its entry point, and discovery finds it without a problem.
        P7: it imports nothing of Prism Signals but the public face, and no other plugin.
    """

    @clause("P1")
    def test_it_registers_without_a_problem(self, harness: PluginHarness) -> None:
        registry = _alone(harness)
        assert not registry.problems, "\n".join(p.summary for p in registry.problems)
        assert _descriptors(harness), f"it implements none of {', '.join(HOOKS)}"
        for d in _descriptors(harness):
            assert getattr(d, "api_version", API_VERSION) == API_VERSION

    @clause("P2")
    def test_its_hooks_only_answer(self, harness: PluginHarness) -> None:
        threads = threading.active_count()
        started = time.monotonic()
        first, second = _descriptors(harness), _descriptors(harness)
        assert time.monotonic() - started < QUICK, "its hooks take too long"
        assert threading.active_count() <= threads, "its hooks start threads"
        assert [_told(d) for d in first] == [_told(d) for d in second]

    @clause("P3")
    def test_names_are_identifiers(self, harness: PluginHarness) -> None:
        strategies = _alone(harness).strategies
        for d in _descriptors(harness):
            if hasattr(d, "open") or hasattr(d, "serve"):
                assert _NAME.fullmatch(d.name), f"{d.name!r} is no lower-case identifier"
        if harness.entry_point is not None and len(strategies) == 1:
            assert strategies[0].plugin.name == harness.entry_point

    @clause("P4")
    def test_what_it_brings_can_be_chosen(self, harness: PluginHarness) -> None:
        for d in _descriptors(harness):
            for words in ("surfaces", "schemes"):
                given = getattr(d, words, None)
                if given is not None:
                    assert isinstance(given, tuple), f"{d.name}.{words} is not a tuple"
                    assert given, f"{d.name} names no {words}"
                    assert all(w and w == w.strip().lower() for w in given), given
            for action in ("open", "serve", "make"):
                assert callable(getattr(d, action, print)), f"{d.name}.{action} is not callable"
            if isinstance(d, StrategyPlugin):
                assert d.max_chars is None or d.max_chars > 0
                assert all(r.total_seconds() >= 0 for r in d.retries)

    @clause("P5")
    def test_secrets_are_secret(self, harness: PluginHarness) -> None:
        for model in _settings(harness):
            for name, field in model.model_fields.items():
                if _SECRET.search(name):
                    assert "SecretStr" in str(field.annotation), f"{name} is not a SecretStr"
                    shipped = getattr(field.get_default(), "get_secret_value", str)()
                    assert not shipped, f"{name} has a value of its own"

    @clause("P6")
    def test_it_is_found_where_it_is_installed(self, harness: PluginHarness) -> None:
        need(harness.entry_point is not None, "entry point")
        found = Registry.discover()
        mine = [p.summary for p in found.problems if p.origin.plugin == harness.entry_point]
        assert not mine, "\n".join(mine)
        every = [
            f
            for kind in _KINDS
            for f in getattr(found, kind)
            if f.origin.plugin == harness.entry_point
        ]
        expected = sum(len(getattr(_alone(harness), kind)) for kind in _KINDS)
        assert len(every) == expected, f"discovery finds {len(every)} of {expected}"

    @clause("P7")
    def test_it_imports_the_public_face_only(self, harness: PluginHarness) -> None:
        module = _module(harness)
        if module is None or module.__name__.partition(".")[0] == FACE:
            pytest.skip("a part of the core may import the core")
        wrong = [
            f"{file.name}:{line}: {name}"
            for file in _files(module)
            for line, name in _imports(file)
            if _is_inside(name, module.__name__.partition(".")[0])
        ]
        assert not wrong, "imports more than `from prism_signals import …`: " + "; ".join(wrong)


_KINDS = (
    "strategies",
    "stores",
    "directories",
    "buses",
    "gateways",
    "policies",
    "observers",
    "commands",
)


def _alone(harness: PluginHarness) -> Registry:
    return Registry.of(plugin=harness.plugin)


def _descriptors(harness: PluginHarness) -> list[Any]:
    found: list[Any] = []
    for hook in HOOKS:
        implemented: Callable[[], Sequence[Any]] | None = getattr(harness.plugin, hook, None)
        if implemented is not None:
            found += implemented()
    return found


def _told(descriptor: Any) -> tuple[str, str]:
    return (type(descriptor).__name__, getattr(descriptor, "name", ""))


def _settings(harness: PluginHarness) -> Iterator[Any]:
    models = (getattr(d, "settings", None) for d in _descriptors(harness))
    return (m for m in models if hasattr(m, "model_fields"))


def _module(harness: PluginHarness) -> ModuleType | None:
    if isinstance(harness.plugin, ModuleType):
        return harness.plugin
    return sys.modules.get(type(harness.plugin).__module__)


def _files(module: ModuleType) -> list[Path]:
    if module.__file__ is None:
        return []
    file = Path(module.__file__)
    return sorted(file.parent.rglob("*.py")) if hasattr(module, "__path__") else [file]


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def _is_inside(name: str, own: str) -> bool:
    root = name.partition(".")[0]
    if root == FACE:
        return name != FACE
    return root.startswith(f"{FACE}_") and root not in (own, KIT)


__all__ = ["PluginConformance", "PluginHarness"]
