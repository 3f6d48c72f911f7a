"""Style, types and the rules of imports."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .environment import workspace
from .layout import CACHE, KIT, ROOT, distributions, packages_with, plugin_packages
from .running import Report
from .suites import test_environ

LOOSE = ("tests", "devtools", "benchmarks", "examples", "dev.py", "conftest.py", "docs")


def run_checks(report: Report) -> None:
    """Run every check, even after one failed."""
    python = str(workspace())
    env = test_environ()
    members = [d for d in distributions() if d.package]
    sources = [d.folder / "src" for d in members]
    tests = [d.folder / "tests" for d in members]
    typed = [p for p in (*sources, *tests, *(ROOT / name for name in LOOSE)) if _has_python(p)]
    # Examples are nobody's members: they are not installed here, only read.
    homes = [*sources, *sorted(ROOT.glob("examples/*/src"))]
    typing = {**env, "MYPYPATH": os.pathsep.join(map(str, homes))}
    short = ("--output-format", "concise")
    report.step("ruff check", [python, "-m", "ruff", "check", "."], env)
    report.step("ruff format", [python, "-m", "ruff", "format", "--check", *short, "."], env)
    report.step("mypy", [python, "-m", "mypy", *typed], typing)
    lint = [python, "-c", "from importlinter.cli import lint_imports_command as m; m()"]
    for name, config in ("core", ROOT / "pyproject.toml"), ("plugins", write_plugin_contracts()):
        report.step(f"imports of {name}", [*lint, "--no-cache", "--no-logo", str(config)], env)


def write_plugin_contracts() -> Path:
    """Write import-linter's contracts for whatever plugins there are, so that none escapes."""
    plugins = json.dumps(plugin_packages())
    core = '["prism_signals"]'
    roots = json.dumps(["prism_signals", *plugin_packages()])
    # `prism conformance` alone imports these modules, and it is the kit's own command.
    kit = json.dumps([f"{p}.conformance -> {KIT}" for p in packages_with("conformance")])
    text = f"""\
[tool.importlinter]
root_packages = {roots}
exclude_type_checking_imports = false

[[tool.importlinter.contracts]]
name = "core imports no plugin"
type = "forbidden"
source_modules = {core}
forbidden_modules = {plugins}

[[tool.importlinter.contracts]]
name = "a plugin imports only the public face"
type = "forbidden"
source_modules = {plugins}
forbidden_modules = ["prism_signals.*"]
allow_indirect_imports = true

[[tool.importlinter.contracts]]
name = "no plugin imports another"
type = "independence"
modules = {plugins}
ignore_imports = {kit}
"""
    CACHE.mkdir(exist_ok=True)
    file = CACHE / "import-linter.toml"
    file.write_text(text, "utf-8")
    return file


def _has_python(path: Path) -> bool:
    return path.is_file() or any(path.rglob("*.py"))
