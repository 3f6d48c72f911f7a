"""Plugins: a broken one is named with the fix and hides nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from prism_signals import (
    NoSuchPlugin,
    Registry,
    SignalType,
    StrategyPlugin,
    hookimpl,
    plan,
)

GOOD = """
from prism_signals import StrategyPlugin, hookimpl
def _open(settings, context): raise NotImplementedError
@hookimpl
def prism_strategies():
    return [StrategyPlugin("{name}", ("test",), _open{extra})]
"""


class Package:
    """Lays out an installed distribution by hand, as an installer would."""

    def __init__(self, site: Path) -> None:
        self.site = site

    def add(self, dist: str, entry: str, source: str) -> None:
        module = f"mod_{entry}_{dist.replace('-', '_')}"
        (self.site / f"{module}.py").write_text(textwrap.dedent(source))
        info = self.site / f"{dist.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[prism_signals]\n{entry} = {module}\n")

    def discover(self) -> tuple[list[str], list[str]]:
        code = (
            "from prism_signals import Registry; r = Registry.discover()\n"
            "for f in r.strategies: print('S', f.plugin.name)\n"
            "for p in r.problems: print('P', p.summary.replace(chr(10), ' '))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(self.site)},
        )
        lines = done.stdout.splitlines()
        return ([x[2:] for x in lines if x[0] == "S"], [x[2:] for x in lines if x[0] == "P"])


@pytest.fixture
def package(tmp_path: Path) -> Package:
    made = Package(tmp_path)
    made.add("good-dist", "good", GOOD.format(name="good", extra=""))
    return made


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "import nothing_of_that_name",
            ["cannot be imported", "nothing_of_that_name", "Reinstall"],
        ),
        (
            GOOD.format(name="bad", extra="").replace("prism_strategies", "prism_strategy"),
            ["does not fit the hooks", "prism_strategy"],
        ),
        (
            GOOD.format(name="bad", extra="").replace("def prism", "async def prism"),
            ["async", "plain def"],
        ),
        (GOOD.format(name="bad", extra="").replace("@hookimpl", ""), ["lacks the decorator"]),
        (GOOD.format(name="bad", extra=", api_version=99"), ["contract 99", "Upgrade"]),
        (
            GOOD.format(name="bad", extra="").replace("return [", "return ['x'] or ["),
            ["gave str", "StrategyPlugin"],
        ),
        (
            GOOD.format(name="bad", extra="").replace("    return", "    1/0\n    return"),
            ["raised ZeroDivisionError"],
        ),
        (
            GOOD.format(name="bad", extra="").replace("prism_strategies()", "prism_strategies(x)"),
            ["does not fit the hooks"],
        ),
        (GOOD.format(name="good", extra=""), ["'good'", "good-dist", "Uninstall one of"]),
        ("import sys; sys.exit('no licence')", ["cannot be imported", "SystemExit: no licence"]),
        (
            GOOD.format(name="bad", extra="").replace(
                "    return", "    raise SystemExit\n    return"
            ),
            ["raised SystemExit"],
        ),
        (GOOD.format(name="bad", extra=", api_version='1'"), ["contract 1", "Upgrade bad-dist"]),
        (GOOD.format(name="", extra=""), ["name is ''", "Report it to bad-dist"]),
        (
            GOOD.format(name="bad", extra="").replace('("test",)', '"test"'),
            ["surfaces of bad are 'test'", "tuple of texts"],
        ),
    ],
)
def test_each_kind_of_broken_plugin_is_named_and_hides_nobody(
    package: Package, source: str, words: list[str]
) -> None:
    package.add("bad-dist", "bad", source)
    strategies, problems = package.discover()
    assert "good" in strategies
    told = [p for p in problems if "bad-dist" in p]
    assert len(told) == 1
    assert all(w in told[0] for w in words)


def test_both_namesakes_are_named_and_one_works(package: Package) -> None:
    package.add("a-dist", "other", GOOD.format(name="same", extra=""))
    package.add("b-dist", "another", GOOD.format(name="same", extra=""))
    strategies, problems = package.discover()
    assert strategies.count("same") == 1
    assert any("a-dist" in p and "b-dist" in p for p in problems)


def test_a_lazy_object_in_a_plugin_hides_nobody(package: Package) -> None:
    lazy = (
        "class Lazy:\n    def __getattr__(self, name): raise RuntimeError(name)\nrequest = Lazy()\n"
    )
    package.add("lazy-dist", "lazy", lazy + GOOD.format(name="lazy", extra=""))
    strategies, problems = package.discover()
    assert {"good", "lazy"} <= set(strategies)
    assert problems == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nothing_of_that_name:X", "ModuleNotFoundError"),
        (":X", "ValueError"),
        ("json:X", "AttributeError"),
        ("json:JSONDecoder", "no deliver"),
        ("broken:X", "ZeroDivisionError"),
    ],
)
def test_an_entry_of_the_map_that_cannot_be_used_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoSuchPlugin, match=words):
        plan(Registry.of(), "codex", {"codex": target})


def test_a_plugin_adds_signal_types() -> None:
    class Plugin:
        @hookimpl
        def prism_signal_types(self) -> list[SignalType]:
            return [SignalType("Deployed", "a deployment ended")]

    registry = Registry.of(Plugin())
    assert not registry.problems
    types = registry.types(["FromSetting", "inform"])
    assert "Deployed" in types
    assert "FromSetting" in types
    assert types.get("inform").payload is not None  # a setting replaces nothing


def test_a_type_that_is_built_in_is_named_and_hides_nothing() -> None:
    class Plugin:
        @hookimpl
        def prism_signal_types(self) -> list[SignalType]:
            return [SignalType("inform", "mine"), SignalType("Deployed", "a deployment ended")]

    registry = Registry.of(Plugin())
    (problem,) = registry.problems
    assert "'inform' is built in" in problem.summary
    types = registry.types(["Twice", "Twice", ""])
    assert types.get("inform").purpose != "mine"
    assert "Deployed" in types
    assert "Twice" in types
    assert "" not in types


def test_a_missing_plugin_is_asked_for_by_name() -> None:
    registry = Registry.of()
    with pytest.raises(NoSuchPlugin, match="No strategy named 'x' is usable"):
        registry.strategy("x")


def test_registries_do_not_share_anything() -> None:
    class Plugin:
        @hookimpl
        def prism_strategies(self) -> list[StrategyPlugin]:
            return [StrategyPlugin("one", ("x",), lambda s, c: None)]  # type: ignore[arg-type,return-value]

    assert [f.plugin.name for f in Registry.of(Plugin()).strategies] == ["one"]
    assert list(Registry.of().strategies) == []
