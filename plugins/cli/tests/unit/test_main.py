from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prism_signals import ERROR_TABLE
from prism_signals_cli import catalogue, plugged

if TYPE_CHECKING:
    from plugins.cli.tests.unit.conftest import Terminal


def _distribution(folder: Path, name: str, source: str) -> None:
    """An installed distribution with a plugin module of this source."""
    module = f"{name}_plugin"
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[prism_signals]\n{name} = {module}\n")


_GREETS = """
from prism_signals import CommandPlugin, hookimpl
@hookimpl
def prism_commands():
    return [CommandPlugin("greet", "Says hello.", "greets_plugin:greet"),
            CommandPlugin("crash", "Fails.", "greets_plugin:crash")]
def greet(args):
    print("hello", *args)
    return 7
def crash(args):
    raise RuntimeError("boom")
"""


def _prism(place: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "prism_signals_cli", *args],
        capture_output=True,
        text=True,
        timeout=25,
        check=False,
        env={**os.environ, "PYTHONPATH": str(place)},
    )


def test_help_lists_every_own_command_and_every_exit_status(bare: Terminal) -> None:
    said = bare("--help")
    assert said.status == 0
    assert said.err == ""
    for entry in catalogue.COMMANDS:
        assert f"  {entry.name} " in said.out
    for code, meaning in catalogue.EXIT_CODES:
        assert f"  {code:<3}  {meaning}" in said.out


def test_every_exit_status_of_the_error_table_is_explained() -> None:
    explained = {code for code, _ in catalogue.EXIT_CODES}
    assert {m.exit_code for m in ERROR_TABLE.values()} <= explained


def test_every_own_command_loads_and_explains_itself(bare: Terminal) -> None:
    for entry in catalogue.COMMANDS:
        said = bare(entry.name, "--help")
        assert said.status == 0
        assert f"prism {entry.name}" in said.out


def test_without_a_command_the_overview_goes_to_stderr(bare: Terminal) -> None:
    said = bare()
    assert said.status == 2
    assert said.out == ""
    assert "Usage: prism" in said.err


def test_version(bare: Terminal) -> None:
    assert bare("--version").out.startswith("prism 0.")
    assert bare.tur("--version").out.startswith("tur 0.")


def test_an_unknown_command_is_refused_with_the_nearest(bare: Terminal) -> None:
    said = bare("histroy")
    assert said.status == 2
    assert said.out == ""
    assert "Did you mean 'prism history'?" in said.err
    assert bare("histroy", "--json").error["code"] == "unknown_command"


def test_tur_has_just_its_three_commands(bare: Terminal) -> None:
    shown = bare.tur("--help").out
    assert [n for n in ("signal", "read-signals", "ack-signals") if f"  {n} " in shown] == list(
        catalogue.TUR_COMMANDS
    )
    assert "doctor" not in shown
    assert bare.tur("doctor").status == 2


def test_usage_errors_are_one_message_on_stderr(bare: Terminal) -> None:
    said = bare("signal")
    assert said.status == 2
    assert said.out == ""
    assert said.err.count("Error") == 1
    assert "TO" in said.err
    assert bare("signal", "--json").error["code"] == "usage"


def test_commands_of_plugins_are_listed_and_run(place: Path) -> None:
    _distribution(place, "greets", _GREETS)
    assert "greet  " in _prism(place, "--help").stdout
    run = _prism(place, "greet", "--json", "you")
    assert (run.returncode, run.stdout) == (7, "hello --json you\n")


def test_a_crashing_plugin_command_is_told_and_exits_1(place: Path) -> None:
    _distribution(place, "greets", _GREETS)
    run = _prism(place, "crash")
    assert run.returncode == 1
    assert "Unexpected RuntimeError: boom" in run.stderr


def test_a_broken_plugin_hides_nothing(place: Path) -> None:
    _distribution(place, "greets", _GREETS)
    _distribution(place, "broken", "raise RuntimeError('no luck')\n")
    shown = _prism(place, "--help")
    assert shown.returncode == 0
    assert "greet  " in shown.stdout
    assert "signal " in shown.stdout
    told = _prism(place, "strategies")
    assert "broken 1.0" in told.stdout


def test_what_is_remembered_follows_what_is_installed(place: Path) -> None:
    assert "greet" not in _prism(place, "--help").stdout
    _distribution(place, "greets", _GREETS)
    assert "greet" in _prism(place, "--help").stdout
    (place / "greets_plugin.py").write_text(_GREETS.replace('"greet"', '"welcome"'))
    assert "welcome" in _prism(place, "--help").stdout
    (place / "greets-1.0.dist-info" / "entry_points.txt").unlink()
    (place / "greets-1.0.dist-info" / "METADATA").unlink()
    (place / "greets-1.0.dist-info").rmdir()
    assert "welcome" not in _prism(place, "--help").stdout


@pytest.mark.parametrize("content", ["", "nonsense", "prism-signals commands 1\npath\t/x\nend"])
def test_a_spoilt_memory_is_ignored(place: Path, content: str) -> None:
    before = plugged.listing()
    file = next((place / "cache" / "prism-signals").iterdir())
    file.write_text(content)
    assert plugged.listing() == before


def test_without_a_place_to_remember_everything_works(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "occupied").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "occupied"))
    assert plugged.listing() == plugged.discover()


def test_json_is_told_from_the_command_line_before_it_is_parsed(bare: Terminal) -> None:
    assert bare("signal", "--nonsense", "--json").error["code"] == "usage"
    assert bare("signal", "--", "--json").err.startswith("Error (")


def test_start_up_times(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # what is found is remembered, and that itself touches the folder once
        _prism(place, "--help")
    took: dict[str, float] = {}
    for args in (("--help",), ("strategies",)):
        began = time.perf_counter()
        assert _prism(place, *args).returncode == 0
        took[args[0]] = (time.perf_counter() - began) * 1000
    with capsys.disabled():
        told = ", ".join(f"prism {what}: {ms:.0f} ms" for what, ms in took.items())
        sys.stdout.write(f"\n[start-up] {told}\n")
    assert took["--help"] < 2000  # a hang or an accidental heavy import, not a promise


def test_help_imports_neither_click_nor_the_core(place: Path) -> None:
    program = (
        "import sys; from prism_signals_cli.main import main; main(['--help']);"
        "print(sorted(m for m in ('click', 'pydantic', 'anyio', 'asyncio') if m in sys.modules))"
    )
    for _ in range(2):  # the first one has to look and remembers
        looked = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=25, check=True
        )
    assert looked.stdout.splitlines()[-1] == "[]"
