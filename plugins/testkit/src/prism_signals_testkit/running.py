"""Runs the kit against an installed plugin, where no setting of the caller disturbs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .recording import OPTION

LIMIT = 900.0
"""Seconds after which a run is ended, wherever it hangs."""
_OURS = f"{__package__}."
_MODULE = """\
from {package}.installed import suites

for number, suite in enumerate(suites({name!r})):
    name = f"Test{{suite.__name__}}{{number}}"
    globals()[name] = type(name, (suite,), {{"__module__": __name__}})
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of the kit wrote down.

    Attributes:
        records: One for each test that ended, and for what kept tests from running.
        output: What pytest printed.
    """

    records: list[dict[str, Any]]
    output: str


def run(name: str, *, limit: float = LIMIT) -> Run:
    """Run every conformance class of a plugin with a pytest of its own.

    The caller's pytest configuration, plugins and `PRISM_*` variables are left out.

    Args:
        name: The plugin, as its entry point is named.
        limit: Seconds until the run is ended.
    """
    with tempfile.TemporaryDirectory(prefix="prism-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
        module = _MODULE.format(package=__package__, name=name)
        (folder / "test_conformance.py").write_text(module, "utf-8")
        records = folder / "records"
        output, ended = _pytest(folder, records, limit)
        found = _read(records)
    if not ended:
        found.append({"trouble": f"it did not end within {limit:.0f} s"})
    elif not found:
        found.append({"trouble": "pytest ran no test"})
    return Run(found, output)


def _pytest(folder: Path, records: Path, limit: float) -> tuple[str, bool]:
    command: list[str | Path] = [sys.executable, "-m", "pytest", "test_conformance.py", "-q"]
    command += ["-c", folder / "pytest.ini", "--rootdir", folder, "--basetemp", folder / "tmp"]
    command += ["-p", "no:cacheprovider", "-p", f"{_OURS}collected", "-p", f"{_OURS}recording"]
    command += [OPTION, records]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            command,
            cwd=folder,
            env=_environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as e:
        return (e.output or b"").decode("utf-8", "replace"), False
    return done.stdout.decode("utf-8", "replace"), True


def _environ() -> dict[str, str]:
    dropped = ("PYTEST_", "PRISM_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONIOENCODING": "utf-8"}


def _read(records: Path) -> list[dict[str, Any]]:
    if not records.is_file():
        return []
    lines = records.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]
