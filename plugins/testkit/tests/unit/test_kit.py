"""The kit runs whatever an author's pytest configuration is, and never passes by not running."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_signals_testkit import CONTRACTS, BusConformance, clauses, clauses_of

pytest_plugins = ["pytester"]

BUS = """
import pytest
from faulty_backends import FaultyBuses
from prism_signals_testkit import BusConformance

class {name}(BusConformance):
    @pytest.fixture
    def harness(self):
        return FaultyBuses({fault!r})
{more}
"""
XFAIL = """
    @pytest.mark.xfail(reason="it does not poll yet", strict=True)
    def test_the_poll_interval_is_positive(self, harness, backend):
        super().test_the_poll_interval_is_positive(harness, backend)
"""
SILENCED = """
    def test_the_poll_interval_is_positive(self, harness, backend):
        pass
"""
REMOVED = """
    test_the_poll_interval_is_positive = None
"""

ALL = 2 * sum(hasattr(getattr(BusConformance, n), "prism_clauses") for n in dir(BusConformance)) + 1
"""What pytest collects for a bus: every scenario on two event loops, and the look at overrides."""
UNWIRED = 2
"""The scenario that this harness cannot serve, on two event loops."""


@pytest.fixture
def author(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of an author outside the workspace."""
    pytester.syspathinsert(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # for processes it starts
    return pytester


def _write(
    author: pytest.Pytester, more: str = "", *, fault: str | None = None, name: str = "TestMyBus"
) -> None:
    author.makepyfile(test_mine=BUS.format(more=more, fault=fault, name=name))


def test_every_clause_has_a_test_and_every_test_a_clause() -> None:
    shown = clauses()
    declared = {i for contract in CONTRACTS for i in clauses_of(contract)}
    assert set(shown) == declared
    for suite in CONTRACTS.values():
        tests = [n for n in dir(suite) if n.startswith("test_")]
        unnumbered = [n for n in tests if not hasattr(getattr(suite, n), "prism_clauses")]
        assert unnumbered == ["test_nothing_is_overridden_but_as_a_strict_xfail"]


def test_clauses_are_read_whole() -> None:
    class Contract:
        """One line.

        Clauses:
            X1: the first.
            X2: the second, which is
                longer.

        Attributes:
            Y3: not a clause.
        """

    assert clauses_of(Contract) == {"X1": "the first.", "X2": "the second, which is longer."}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-p", "no:anyio"),
        ("--strict-markers", "--strict-config", "-W", "error"),
        ("--import-mode=importlib",),
        ("-p", "no:logging", "-p", "no:warnings"),
        ("-p", "no:prism_signals_testkit"),
    ],
)
def test_it_runs_with_other_options(author: pytest.Pytester, options: tuple[str, ...]) -> None:
    _write(author)
    outcome = author.runpytest(*options, "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=ALL - UNWIRED, skipped=UNWIRED)


def test_it_runs_without_any_plugin(
    author: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    _write(author)
    author.runpytest_subprocess().assert_outcomes(passed=ALL - UNWIRED, skipped=UNWIRED)


@pytest.mark.parametrize("setting", ["python_functions = check_*", "python_classes = Check*"])
def test_a_class_that_pytest_does_not_collect_fails(author: pytest.Pytester, setting: str) -> None:
    author.makeini(f"[pytest]\n{setting}\n")
    _write(author)
    outcome = author.runpytest("-p", "no:cacheprovider")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["Of the conformance class test_mine.TestMyBus no test*"])


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_class_under_a_name_that_is_not_collected_fails(
    author: pytest.Pytester, options: tuple[str, ...]
) -> None:
    if options:
        pytest.importorskip("xdist")
        author.makeini(f"[pytest]\npythonpath = {Path(__file__).parent}\n")  # for its workers
    _write(author, name="MyBusTests")
    author.makepyfile(test_other="def test_other(): pass")
    outcome = author.runpytest(*options, "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=1, failed=1)
    outcome.stdout.fnmatch_lines(["Of the conformance class test_mine.MyBusTests no test*"])


def test_choosing_single_tests_is_no_error(author: pytest.Pytester) -> None:
    _write(author)
    author.makepyfile(test_other="def test_other(): pass")
    author.runpytest("test_other.py", "-p", "no:cacheprovider").assert_outcomes(passed=1)
    chosen = author.runpytest("-k", "poll", "-p", "no:cacheprovider")
    chosen.assert_outcomes(passed=2, deselected=ALL - 1)


@pytest.mark.parametrize(
    "more",
    [
        "    __test__ = False",
        "    def __init__(self): pass",
    ],
)
def test_a_class_that_cannot_run_is_refused(author: pytest.Pytester, more: str) -> None:
    _write(author, more)
    outcome = author.runpytest("-p", "no:cacheprovider")
    outcome.assert_outcomes(errors=1)
    outcome.stdout.fnmatch_lines(["*TypeError: TestMyBus *so pytest would run none*"])


def test_an_override_as_a_strict_xfail_passes(author: pytest.Pytester) -> None:
    _write(author, XFAIL, fault="never_polls")
    outcome = author.runpytest("-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=ALL - UNWIRED - 2, skipped=UNWIRED, xfailed=2)


def test_a_strict_xfail_that_passes_fails(author: pytest.Pytester) -> None:
    _write(author, XFAIL)
    outcome = author.runpytest("-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=ALL - UNWIRED - 2, skipped=UNWIRED, failed=2)


@pytest.mark.parametrize("more", [SILENCED, REMOVED])
def test_a_silent_override_fails(author: pytest.Pytester, more: str) -> None:
    _write(author, more, fault="never_polls")
    outcome = author.runpytest("-k", "overridden", "-p", "no:cacheprovider")
    assert outcome.parseoutcomes()["failed"] == 1
    outcome.stdout.fnmatch_lines(["*test_the_poll_interval_is_positive*"])


def test_a_failing_scenario_shows_what_it_compared(author: pytest.Pytester) -> None:
    _write(author, fault="never_polls")
    outcome = author.runpytest("-k", "poll and asyncio", "-p", "no:cacheprovider")
    outcome.assert_outcomes(failed=1, deselected=ALL - 1)
    outcome.stdout.fnmatch_lines(["*poll_interval*"])
