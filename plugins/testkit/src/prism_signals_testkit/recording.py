"""A plugin for pytest that writes down how each test of a conformance class ended.

`prism conformance` loads it into the process in which it runs the kit. Each line of the file is a
JSON object, written at once, so that a run that hangs or crashes still tells how far it got.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from .clause import ATTRIBUTE

OPTION = "--prism-records"
_MOST = 300


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write."""
    parser.addoption(OPTION, dest="prism_records", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write."""
    config.pluginmanager.register(_Recorder(config.getoption("prism_records")))


class _Recorder:
    def __init__(self, file: Path) -> None:
        self._file = file

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call" or not report.passed:
            outcome, reason = _ending(report, call)
            self._write(
                test=getattr(item, "originalname", item.name) or item.name,
                clauses=_clauses(item),
                loop=_parameters(item).get("backend"),
                outcome=outcome,
                reason=reason,
            )
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            said = str(report.longrepr).strip().splitlines() or ["nothing was said"]
            self._write(trouble=f"it cannot be collected: {said[-1].removeprefix('E').strip()}")

    def _write(self, **record: Any) -> None:
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(record) + "\n")


def _ending(report: pytest.TestReport, call: pytest.CallInfo[None]) -> tuple[str, str]:
    """How a test ended, and why where it did not simply pass."""
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return ("xfailed" if report.skipped else report.outcome), expected
    if report.skipped:
        told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        return "skipped", told.removeprefix("Skipped: ")
    if report.passed:
        return "passed", ""
    if call.excinfo is None:  # an expected failure that passed
        return "failed", str(report.longrepr)
    return "failed", _in_words(call.excinfo.value)


def _in_words(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    said = next(iter(str(error).strip().splitlines()), "")
    named = (
        said if isinstance(error, AssertionError) and said else f"{type(error).__name__}: {said}"
    )
    return named[:_MOST]


def _clauses(item: pytest.Item) -> list[str]:
    """The clauses that a test shows; where an author overrode it, those of the kit's own."""
    name = getattr(item, "originalname", "")
    for cls in getattr(getattr(item, "cls", None), "__mro__", ()):
        ids: tuple[str, ...] = getattr(vars(cls).get(name), ATTRIBUTE, ())
        if ids:
            return list(ids)
    return []


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return dict(getattr(getattr(item, "callspec", None), "params", {}))
