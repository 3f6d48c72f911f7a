"""`prism conformance` runs the kit against what is installed, and says what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prism_signals_testkit.command import main
from prism_signals_testkit.installed import Installed
from prism_signals_testkit.running import Run, run
from prism_signals_testkit.verdict import weigh

PLUGIN = """
from contextlib import asynccontextmanager
from prism_signals import SignalDeliveryStrategy, StrategyPlugin, hookimpl

class Letters(SignalDeliveryStrategy):
    async def deliver(self, signal): return False
    def supports_push(self): return True

@asynccontextmanager
async def opened(settings, context):
    yield Letters()

@hookimpl
def prism_strategies():
    return [StrategyPlugin("letters", ("letter_box",), opened)]
"""
HARNESS = """
import pytest
from faulty_strategies import LetterBoxes
from prism_signals_testkit import StrategyConformance

class LettersConformance(StrategyConformance):
    @pytest.fixture
    def harness(self):
        return LetterBoxes({fault!r})
{more}
"""
XFAIL = """
    @pytest.mark.xfail(reason="the box has two doors", strict=True)
    def test_whether_it_pushes_never_changes(self, harness, backend):
        super().test_whether_it_pushes_never_changes(harness, backend)
"""
SILENCED = """
    def test_whether_it_pushes_never_changes(self, harness, backend):
        pass
"""
ABOUT = "Metadata-Version: 2.1\nName: letters-of-mine\nVersion: 3.1\n"
ENDLESS = "import threading\nthreading.Event().wait()\n"
LETTERS = Installed("letters", "letters-of-mine", "3.1", "letters_conformance")


class Shelf:
    """A folder on the search path, in which a plugin is installed as an installer leaves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, harness: str | None = None, plugin: str = PLUGIN) -> None:
        info = self.folder / "letters_of_mine-3.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(ABOUT)
        points = "[prism_signals]\nletters = letters_of_mine\n"
        (self.folder / "letters_of_mine.py").write_text(plugin)
        if harness is not None:
            points += "[prism_signals_conformance]\nletters = letters_conformance\n"
            (self.folder / "letters_conformance.py").write_text(harness)
        (info / "entry_points.txt").write_text(points)

    def conformance(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the command as the shell of its author would."""
        path = os.pathsep.join([str(self.folder), str(Path(__file__).parent)])
        return subprocess.run(
            [sys.executable, "-m", "prism_signals_testkit", *arguments],
            env={**os.environ, "PYTHONPATH": path, **environ},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def report(self, status: int) -> dict[str, Any]:
        """What it says about the plugin, ending with that status."""
        done = self.conformance("letters", "--json")
        assert done.returncode == status, done.stdout + done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        assert (told["plugin"], told["distribution"], told["version"]) == (
            LETTERS.plugin,
            LETTERS.distribution,
            LETTERS.version,
        )
        return told


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def _with(told: dict[str, Any], status: str) -> set[str]:
    return {number for number, c in told["clauses"].items() if c["status"] == status}


def test_a_good_plugin_passes(shelf: Shelf) -> None:
    shelf.install(HARNESS.format(fault=None, more=""))
    told = shelf.report(0)
    assert told["verdict"] == "passed"
    assert told["contracts"] == ["plugin", "strategy"]
    assert told["harness"] == "letters_conformance"
    assert len(told["clauses"]) == 7 + 13
    assert _with(told, "failed") == set()
    assert "asyncio" in told["event_loops"]
    assert (told["unchecked"], told["trouble"]) == ([], [])


def test_a_faulty_plugin_fails_by_its_clause(shelf: Shelf) -> None:
    shelf.install(HARNESS.format(fault="pushes_sometimes", more=""))
    told = shelf.report(1)
    assert told["verdict"] == "failed"
    assert _with(told, "failed") == {"T12"}
    (why,) = told["clauses"]["T12"]["reasons"]
    assert why.startswith("test_whether_it_pushes_never_changes: ")
    shown = shelf.conformance("letters", "-v")
    assert shown.returncode == 1
    printed = "_ TestLettersConformance1.test_whether_it_pushes_never_changes[asyncio] _"
    assert printed in shown.stderr, "what pytest printed is shown on demand"
    assert f"  T12 FAILED: {why}" in shown.stdout
    assert shown.stdout.endswith("  verdict: failed\n")


def test_what_an_author_cannot_keep_yet_is_told_and_does_not_fail(shelf: Shelf) -> None:
    shelf.install(HARNESS.format(fault="pushes_sometimes", more=XFAIL))
    told = shelf.report(0)
    assert told["clauses"]["T12"] == {
        "status": "xfailed",
        "reasons": ["test_whether_it_pushes_never_changes: the box has two doors"],
    }


def test_an_override_that_hides_a_clause_fails(shelf: Shelf) -> None:
    shelf.install(HARNESS.format(fault="pushes_sometimes", more=SILENCED))
    told = shelf.report(1)
    (why,) = told["trouble"]
    assert "test_whether_it_pushes_never_changes is overridden" in why


def test_without_a_harness_the_verdict_is_incomplete(shelf: Shelf) -> None:
    shelf.install()
    told = shelf.report(1)
    assert told["verdict"] == "incomplete"
    assert told["harness"] is None
    assert (told["contracts"], told["unchecked"]) == (["plugin"], ["strategy"])
    assert _with(told, "failed") == set()
    shown = shelf.conformance("letters").stdout
    assert "  not checked: strategy. letters-of-mine ships no conformance class for it." in shown


def test_a_plugin_that_cannot_be_imported_fails(shelf: Shelf) -> None:
    shelf.install(plugin="import a_library_that_is_missing\n")
    told = shelf.report(1)
    assert told["verdict"] == "failed"
    assert "a_library_that_is_missing" in told["clauses"]["P1"]["reasons"][0]


@pytest.mark.parametrize(
    ("harness", "why"),
    [
        ("import a_library_that_is_missing\n", "a_library_that_is_missing"),
        ("from prism_signals_testkit import StrategyConformance\n", "holds no conformance class"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_a_harness_that_cannot_be_loaded_fails(shelf: Shelf, harness: str, why: str) -> None:
    shelf.install(harness)
    told = shelf.report(1)
    assert told["verdict"] == "failed"
    assert why in told["trouble"][0]


def test_the_callers_configuration_changes_nothing(shelf: Shelf) -> None:
    shelf.install(HARNESS.format(fault=None, more=""))
    (shelf.folder / "pytest.ini").write_text("[pytest]\naddopts = -k nothing\npython_classes = X\n")
    (shelf.folder / "conftest.py").write_text("raise RuntimeError\n")
    done = shelf.conformance("letters", PYTEST_ADDOPTS="-k nothing", PYTEST_PLUGINS="missing")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_that_hangs_is_ended(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.install(ENDLESS)
    monkeypatch.setenv("PYTHONPATH", str(shelf.folder))
    done = run("letters", limit=2)
    assert done.records == [{"trouble": "it did not end within 2 s"}]


def test_a_name_that_is_not_installed_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["nothing"]) == 2
    told = capsys.readouterr().err
    assert "No plugin named 'nothing' is installed." in told
    assert "memory" in told
    assert main(["nothing", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize("argv", [[], ["memory", "--all"], ["a", "b"], ["--alll"]])
def test_a_command_line_that_says_nothing_is_refused(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith("Error (usage): ")


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: prism conformance")


def _record(test: str, outcome: str, *clauses: str, loop: str | None = None) -> dict[str, Any]:
    reason = "" if outcome == "passed" else f"because {outcome}"
    return {"test": test, "clauses": clauses, "loop": loop, "outcome": outcome, "reason": reason}


def test_a_clause_whose_tests_did_not_run_is_not_kept() -> None:
    told = weigh(LETTERS, ["bus"], ["bus"], Run([_record("test_a", "passed", "B1")], ""))
    assert told.clauses["B1"].status == "passed"
    assert told.clauses["B2"].status == "failed"
    assert told.clauses["B2"].reasons == ("no test of it has run",)
    assert told.verdict == "failed"


@pytest.mark.parametrize(
    ("outcomes", "status", "reasons"),
    [
        (["passed", "skipped"], "passed", ()),
        (["skipped", "skipped"], "skipped", ("because skipped",)),
        (["passed", "failed"], "failed", ("test_a: because failed",)),
        (["xfailed", "passed"], "xfailed", ("test_a: because xfailed",)),
    ],
)
def test_one_test_on_two_event_loops(
    outcomes: list[str], status: str, reasons: tuple[str, ...]
) -> None:
    records = [_record("test_a", o, "B1", loop=f"loop {n}") for n, o in enumerate(outcomes)]
    result = weigh(LETTERS, ["bus"], [], Run(records, "")).clauses["B1"]
    assert (result.status, result.reasons) == (status, reasons)


def test_a_clause_is_kept_with_what_was_skipped_beside_it() -> None:
    records = [_record("test_a", "passed", "B1"), _record("test_b", "skipped", "B1")]
    result = weigh(LETTERS, ["bus"], [], Run(records, "")).clauses["B1"]
    assert (result.status, result.reasons) == ("passed", ("because skipped",))
