"""What stands in each wheel."""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from devtools.layout import KIT, ROOT, Distribution, distributions, lower_bound
from tests.architecture.sources import imports

from .conftest import Wheel, Wheels

NAMES = [d.name for d in distributions()]
WITH_CODE = [d for d in distributions() if d.package]
META = "prism-signals"
MOST_PEOPLE = {
    "prism-signals-core", "prism-signals-store-sqlite", "prism-signals-gateway-mcp",
    "prism-signals-cli", "prism-signals-strategy-channels-push",
    "prism-signals-strategy-piggyback",
}  # fmt: skip


def required(wheel: Wheel) -> list[Requirement]:
    return [Requirement(r) for r in wheel.requires]


def always(wheel: Wheel) -> list[Requirement]:
    """The requirements that stand outside any extra."""
    return [r for r in required(wheel) if "extra" not in str(r.marker or "")]


@pytest.mark.timeout(120)
def test_every_distribution_builds(wheels: Wheels) -> None:
    assert set(wheels) == set(NAMES)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_holds_its_license_and_says_so(wheels: Wheels, name: str) -> None:
    wheel = wheels[name]
    assert wheel.licenses == [(ROOT / "LICENSE").read_bytes()]
    assert wheel.metadata["License-Expression"] == "Apache-2.0"
    assert wheel.metadata["Requires-Python"] == ">=3.11"
    assert len(wheel.metadata.get_payload()) > 50, "the README is missing"


@pytest.mark.parametrize("d", WITH_CODE, ids=lambda d: str(d.name))
def test_a_wheel_holds_its_package_and_nothing_else(wheels: Wheels, d: Distribution) -> None:
    names = wheels[d.name].names
    assert f"{d.package}/py.typed" in names
    top = {n.split("/")[0] for n in names}
    assert {t for t in top if not t.endswith(".dist-info")} == {d.package}
    assert not [n for n in names if "test" in n.split("/")[1:-1] or n.endswith(".pyc")]


def test_core_ships_the_stub_of_its_face(wheels: Wheels) -> None:
    assert "prism_signals/__init__.pyi" in wheels["prism-signals-core"].names


@pytest.mark.parametrize("d", [d for d in distributions() if not d.package], ids=lambda d: d.name)
def test_metadata_alone_is_metadata_alone(wheels: Wheels, d: Distribution) -> None:
    assert all(".dist-info/" in n for n in wheels[d.name].names)


def test_one_version_covers_them_all(wheels: Wheels) -> None:
    assert len({w.metadata["Version"] for w in wheels.values()}) == 1


def test_the_meta_distribution_installs_what_most_people_need(wheels: Wheels) -> None:
    assert {r.name for r in always(wheels[META])} == MOST_PEOPLE


def test_every_extra_installs_distributions_of_this_workspace(wheels: Wheels) -> None:
    extras = set(wheels[META].metadata.get_all("Provides-Extra", []))
    optional = [r for r in required(wheels[META]) if r not in always(wheels[META])]
    assert extras >= {"all", "tur"}
    assert {r.name for r in optional} <= set(NAMES)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (META, "prism-signals-tur")])
def test_a_plugin_needs_core_and_no_other_plugin(wheels: Wheels, name: str) -> None:
    ours = {r.name for r in always(wheels[name]) if r.name in NAMES}
    assert ours == (set() if name == "prism-signals-core" else {"prism-signals-core"})


def test_core_depends_on_little(wheels: Wheels) -> None:
    assert {r.name for r in always(wheels["prism-signals-core"])} == {
        "anyio", "importlib-metadata", "pluggy", "pydantic", "pydantic-settings",
    }  # fmt: skip


@pytest.mark.parametrize("d", distributions(), ids=lambda d: str(d.name))
def test_every_requirement_has_a_floor_and_a_capped_major(d: Distribution) -> None:
    for text in d.outside:
        lower_bound(text)
        ceilings = [s.version for s in Requirement(text).specifier if s.operator == "<"]
        assert len(ceilings) == 1, f"{text} has no ceiling"
        assert re.fullmatch(r"\d+", ceilings[0]) or ceilings[0].startswith("0."), text


def test_two_distributions_ask_for_the_same_range() -> None:
    ranges: dict[str, set[str]] = {}
    for d in distributions():
        for text in d.outside:
            r = Requirement(text)
            ranges.setdefault(r.name, set()).add(str(r.specifier))
    assert {name: found for name, found in ranges.items() if len(found) > 1} == {}


@pytest.mark.parametrize("d", WITH_CODE, ids=lambda d: str(d.name))
def test_what_is_imported_is_declared(d: Distribution) -> None:
    homes = {**packages_distributions(), "prism_signals": ["prism-signals-core"]}
    declared = {canonicalize_name(Requirement(r).name) for r in d.requires}
    allowed = {d.package, *sys.stdlib_module_names}
    unknown = set()
    for file in (d.folder / "src").rglob("*.py"):
        extra = {KIT, "pytest", "anyio"} if file.name == "conformance.py" else set()
        for found in imports(file.read_text("utf-8")):
            top = found.module.split(".")[0]
            owners = {canonicalize_name(n) for n in homes.get(top, [])}
            if top and top not in allowed | extra and not owners & declared:
                unknown.add(f"{top} in {file.name}:{found.line}")
    assert unknown == set()
