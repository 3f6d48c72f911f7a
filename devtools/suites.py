"""The test suites: where they are, how they share the machine, and what they counted."""

from __future__ import annotations

import os
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .layout import CACHE, ROOT
from .running import Counts, Report, run, say

MEMBERS = ("core", "strategy_*", "plugins/*")


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that are run and timed together.

    Attributes:
        name: What the table calls it.
        patterns: Where it is, below the root.
        workers: How many processes share it. One where tests measure time or use both cores.
    """

    name: str
    patterns: tuple[str, ...]
    workers: int = 1

    @property
    def folders(self) -> list[str]:
        """The folders that exist, relative to the root."""
        return sorted(str(f.relative_to(ROOT)) for p in self.patterns for f in ROOT.glob(p))


OWN_SUITES = (
    Suite("unit", tuple(f"{m}/tests/unit" for m in MEMBERS), 2),
    Suite("conformance", tuple(f"{m}/tests/conformance" for m in MEMBERS), 2),
)
SUITES = (
    *OWN_SUITES,
    Suite("architecture", ("tests/architecture",)),
    Suite("acceptance", ("tests/acceptance", "tests/integration"), 2),
    Suite("faults", ("tests/faults",)),
    Suite("docs", ("tests/docs",)),
    Suite("packaging", ("tests/packaging",)),
)


def in_ci() -> bool:
    """Whether what a test needs must be there: without it the test fails instead of skipping."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def test_environ() -> dict[str, str]:
    """Our environment without the product's variables, which would change what is tested."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PRISM_")}
    if in_ci():
        environ["TESTS_REQUIRE_SERVICES"] = "1"
    return environ


def run_suite(
    report: Report,
    python: Path,
    suite: Suite,
    *,
    env: Mapping[str, str],
    more: Sequence[str] = (),
    label: str = "",
) -> None:
    """Run one suite with pytest and note its counts. A suite that runs no test has failed."""
    name = f"{label}{suite.name}"
    print(f"\n== {name}", flush=True)
    started = time.monotonic()
    if not suite.folders:
        say(f"{name}: there is no {' or '.join(suite.patterns)}")
        report.add(name, started, False, Counts(failed=1))
        return
    results = CACHE / "results" / f"{name.replace(' ', '-')}.xml"
    results.unlink(missing_ok=True)
    shared = ["-n", str(suite.workers), "--dist", "loadfile"] if suite.workers > 1 else []
    options = ["-q", *shared, f"--junitxml={results}", *more]
    status = run([python, "-m", "pytest", *suite.folders, *options], env=env)
    counts = read_counts(results)
    ok = status == 0 and counts.passed > 0
    report.add(name, started, ok, counts if ok or counts.failed else counts._replace(failed=1))


def read_counts(results: Path) -> Counts:
    """What a results file of pytest says; zeros where pytest wrote none."""
    if not results.is_file():
        return Counts()
    total = failed = skipped = 0
    for suite in ET.parse(results).getroot().iter("testsuite"):  # noqa: S314 - our own file
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return Counts(total - failed - skipped, failed, skipped)
