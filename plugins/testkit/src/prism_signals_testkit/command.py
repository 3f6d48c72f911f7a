"""`prism conformance`: which clauses an installed plugin keeps."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .installed import Installed, installed
from .verdict import ClauseResult, Report, judge

HELP = """\
usage: prism conformance [-h] [--json] [-v] (NAME | --all)

Runs the conformance kit against an installed plugin and says which clauses of its contracts it
keeps. The clauses of the plugin contract are always run. Those of a store, a directory, a bus or a
strategy need the far end, so the plugin's distribution ships conformance classes for them; where it
does not, the verdict is 'incomplete'.

  NAME           the plugin, as its entry point is named
  --all          every installed plugin
  --json         print one JSON object
  -v, --verbose  also print what pytest printed, to standard error

Exit 0 where every plugin passed, 1 where one failed or is incomplete, 2 where NAME is not
installed.
"""
_USAGE = 2


class _Wrong(Exception):
    """The command line cannot be understood."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Wrong(message)


def main(argv: Sequence[str]) -> int:
    """Run the command; gives the exit status."""
    as_json = "--json" in argv
    try:
        asked = _parsed(argv)
    except _Wrong as e:
        return _refuse("usage", f"{e}.", "'prism conformance --help' shows what it takes.", as_json)
    if asked.help:
        sys.stdout.write(HELP)
        return 0
    plugins = installed()
    chosen = [p for p in plugins if asked.all or p.plugin == asked.name]
    if not chosen:
        return _refuse(
            "invalid_argument",
            f"No plugin named {asked.name!a} is installed.",
            f"Installed: {', '.join(sorted({p.plugin for p in plugins})) or 'none'}.",
            as_json,
        )
    reports = [_reported(p, as_json, asked.verbose) for p in chosen]
    if as_json:
        told = [r.as_json() for r in reports]
        answer: dict[str, Any] = {"reports": told} if asked.all else told[0]
        sys.stdout.write(json.dumps(answer) + "\n")
    return int(any(r.verdict != "passed" for r in reports))


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    asked = parser.parse_args(list(argv))
    if not asked.help and bool(asked.name) == asked.all:
        raise _Wrong("Name one plugin, or say --all")
    return asked


def _reported(plugin: Installed, as_json: bool, verbose: bool) -> Report:
    """Run one, and tell about it at once: a store takes a while."""
    report = judge(plugin)
    if verbose:
        sys.stderr.write(report.output)
    if not as_json:
        sys.stdout.write("".join(f"{_safe(line)}\n" for line in _lines(report)))
        sys.stdout.flush()
    return report


def _lines(report: Report) -> list[str]:
    who = report.installed
    lines = [f"{who.plugin}  ({who.distribution} {who.version})"]
    lines.append(f"  contracts: {', '.join(report.contracts)}")
    if report.loops:
        lines.append(f"  event loops: {', '.join(report.loops)}")
    lines += [f"  ! {text}" for text in report.trouble]
    kept = [number for number, c in report.clauses.items() if c.status == "passed"]
    if kept:
        lines.append(f"  passed: {' '.join(kept)}")
    for number, result in report.clauses.items():
        if result.status != "passed":
            lines.append(f"  {number} {_status(result)}")
    if report.unchecked:
        what = ", ".join(report.unchecked)
        lines.append(
            f"  not checked: {what}. {who.distribution} ships no conformance class for it."
        )
    return [*lines, f"  verdict: {report.verdict}"]


def _status(result: ClauseResult) -> str:
    word = {"failed": "FAILED", "xfailed": "not kept yet"}.get(result.status, result.status)
    return f"{word}: {'; '.join(result.reasons)}"


def _safe(text: str) -> str:
    """The text with everything that could act on a terminal written as an escape."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def _refuse(code: str, message: str, hint: str, as_json: bool) -> int:
    if as_json:
        told = json.dumps({"error": {"code": code, "message": message, "hint": hint}})
    else:
        told = f"Error ({code}): {message}\nHint: {hint}"
    sys.stderr.write(f"{told}\n")
    return _USAGE
