"""The commands of `dev.py`."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence

from .checks import run_checks
from .environment import environment, pip_command, workspace
from .layout import CACHE, CONSTRAINTS, ROOT, SetupError, distributions, lower_bound
from .node import node_variables
from .running import Counts, Report, say
from .suites import OWN_SUITES, SUITES, run_suite, test_environ


def main(arguments: Sequence[str], manual: str) -> int:
    """Run one command and give its exit status."""
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help", "help"):
        print(manual.strip())
        return 0
    try:
        if name in PLAIN:
            return PLAIN[name](rest)
        if name in REPORTING:
            report = Report()
            REPORTING[name](report, rest)
            return report.close()
    except SetupError as e:
        say(str(e))
        return 2
    except KeyboardInterrupt:
        return 130
    say(f"there is no command {name!r}, only {', '.join([*REPORTING, *PLAIN])}")
    return 2


def _test(report: Report, arguments: Sequence[str]) -> None:
    words = list(arguments)
    cut = words.index("--") if "--" in words else len(words)
    names, more = words[:cut], words[cut + 1 :]
    known = [s.name for s in SUITES]
    if wrong := [n for n in names if n not in known]:
        raise SetupError(f"there is no suite {', '.join(wrong)}, only {', '.join(known)}")
    python = workspace()
    env = test_environ()
    chosen = [s for s in SUITES if s.name in names or not names]
    if any(s.name == "acceptance" for s in chosen):
        env |= node_variables(python)
    for suite in chosen:
        run_suite(report, python, suite, env=env, more=more)


def _check(report: Report, _: Sequence[str]) -> None:
    run_checks(report)


def _docs(report: Report, _: Sequence[str]) -> None:
    python = str(workspace())
    report.step("docs generate", [python, "-m", "docs.generate"], test_environ())
    options = ["-W", "--keep-going", "-E", "-q"]
    command = [python, "-m", "sphinx", *options, "docs", "site"]
    report.step("docs build", command, test_environ())


def _lowest(report: Report, more: Sequence[str]) -> None:
    pins = sorted({lower_bound(r) for d in distributions() for r in d.outside})
    names = [pin.partition("==")[0] for pin in pins]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SetupError(f"distributions differ in their lower bound of {', '.join(twice)}")
    CACHE.mkdir(exist_ok=True)
    file = CACHE / "lowest.txt"
    file.write_text("\n".join(pins) + "\n", "utf-8")
    python = environment(".venv-lowest", ("test",), constraints=file)
    for suite in OWN_SUITES:
        run_suite(report, python, suite, env=test_environ(), more=more, label="lowest ")


def _newest(report: Report, more: Sequence[str]) -> None:
    today = time.strftime("%Y-%m-%d")
    python = environment(".venv-newest", ("test",), mark=today)
    for suite in OWN_SUITES:
        run_suite(report, python, suite, env=test_environ(), more=more, label="newest ")


def _ci(report: Report, _: Sequence[str]) -> None:
    os.environ["CI"] = "true"
    for part in (_check, _test, _docs, _lowest, _newest):
        started = time.monotonic()
        try:
            part(report, ())
        except SetupError as e:
            say(str(e))
            report.add(part.__name__.strip("_"), started, False, Counts(failed=1))


def _build(report: Report, _: Sequence[str]) -> None:
    python = str(workspace())
    command = [python, "-m", "hatchling", "build", "-d", str(ROOT / "dist")]
    for d in distributions():
        report.step(d.name, command, test_environ(), d.folder)


def _lock(_: Sequence[str]) -> int:
    python = environment(".venv-lock", ("test", "check", "docs"), mark=str(time.time()))
    freeze = [*pip_command(python), "freeze", "--exclude-editable"]
    pins = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    head = "# The versions that development and CI use. Written by `python3 dev.py lock`.\n"
    CONSTRAINTS.write_text(head + pins, "utf-8")
    return 0


def _demo(arguments: Sequence[str]) -> int:
    return subprocess.call([workspace().parent / "prism", "demo", *arguments])


def _bench(arguments: Sequence[str]) -> int:
    return subprocess.call([workspace(), "-m", "benchmarks", *arguments], cwd=ROOT)


REPORTING: dict[str, Callable[[Report, Sequence[str]], None]] = {
    "test": _test,
    "check": _check,
    "docs": _docs,
    "ci": _ci,
    "lowest": _lowest,
    "newest": _newest,
    "build": _build,
}
PLAIN: dict[str, Callable[[Sequence[str]], int]] = {"demo": _demo, "bench": _bench, "lock": _lock}
