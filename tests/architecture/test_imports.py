"""The rules of imports that import-linter cannot say, or says only for imports at run time."""

from __future__ import annotations

import graphlib

import grimp
import pytest

import prism_signals
from devtools.layout import KIT, ROOT, distributions, plugin_packages

from .sources import Import, imports, plugin_files, shown, source_files

CORE = "prism_signals"
PACKAGES = [CORE, *plugin_packages()]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_around_a_corner(package: str) -> None:
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    order = {m: graph.find_modules_directly_imported_by(m) for m in graph.modules}
    try:
        graphlib.TopologicalSorter(order).prepare()
    except graphlib.CycleError as e:
        pytest.fail(" -> ".join(e.args[1]))


def beyond_the_face(found: Import) -> bool:
    """Whether this import reaches into core behind its public face."""
    inner = found.module.startswith(f"{CORE}.")
    whole = found.module == CORE and not found.names
    return inner or whole or (found.module == CORE and not set(found.names) <= public_names())


def public_names() -> set[str]:
    """What core promises."""
    return set(vars(prism_signals)["__all__"])


def test_a_plugin_sees_only_the_public_face() -> None:
    wrong = [
        f"{shown(f)}:{i.line} imports {i.module} {', '.join(i.names)}"
        for f in plugin_files()
        for i in imports(f.read_text("utf-8"))
        if beyond_the_face(i)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "code",
    [
        "from prism_signals.engine import verbs",
        "import prism_signals.registry",
        "import prism_signals",
        "from prism_signals import registry",
        "from prism_signals import _HOME",
        "def f():\n    from prism_signals.model.signal import Signal",
    ],
)
def test_that_rule_notices(code: str) -> None:
    assert any(beyond_the_face(i) for i in imports(code))


def test_that_rule_lets_the_face_through() -> None:
    assert not any(beyond_the_face(i) for i in imports("from prism_signals import Signal"))


def test_no_plugin_imports_another_even_for_types() -> None:
    wrong = []
    for d in distributions():
        others = {p for p in plugin_packages() if p != d.package}
        for f in sorted((d.folder / "src").rglob("*.py")):
            kit = {KIT} if f.name == "conformance.py" else set()
            found = [i for i in imports(f.read_text("utf-8")) if i.module not in kit]
            found = [i for i in found if i.module.split(".")[0] in others]
            wrong += [f"{shown(f)}:{i.line} imports {i.module}" for i in found]
    assert not wrong, "\n".join(wrong)


def test_nothing_imports_what_a_plugin_tells_the_kit() -> None:
    wrong = [
        f"{shown(f)}:{i.line}"
        for f in source_files()
        for i in imports(f.read_text("utf-8"))
        if i.module.split(".")[-1] == "conformance" or "conformance" in i.names
    ]
    assert not wrong, "it needs pytest, which a plugin does not declare: " + ", ".join(wrong)


def test_core_touches_no_event_loop_but_anyio() -> None:
    loops = {"asyncio", "trio", "curio", "uvloop"}
    wrong = [
        f"{shown(f)}:{i.line} imports {i.module}"
        for f in source_files()
        if f.is_relative_to(ROOT / "core")
        for i in imports(f.read_text("utf-8"))
        if i.module.split(".")[0] in loops
    ]
    assert not wrong, "\n".join(wrong)


def test_a_distribution_imports_its_own_modules_by_dots() -> None:
    wrong = [
        f"{shown(f)}:{i.line} imports {i.module}"
        for d in distributions()
        if d.package
        for f in sorted((d.folder / "src").rglob("*.py"))
        for i in imports(f.read_text("utf-8"))
        if i.module.split(".")[0] == d.package
    ]
    assert not wrong, "\n".join(wrong)
