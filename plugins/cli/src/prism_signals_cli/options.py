"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

as_option = click.option(
    "--as",
    "--agent-id",
    "name",
    metavar="NAME",
    help="The name to speak for. Needed outside an agent; inside one it is PRISM_AGENT_IDENTITY.",
)
project_option = click.option(
    "--project",
    "pid",
    metavar="PID",
    help="The project. Default: PRISM_PROJECT, or 'project' in prism.toml.",
)
json_option = click.option(
    "--json", "-j", "as_json", is_flag=True, help="Print JSON, on one line, and errors as JSON too."
)
verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Also show tracebacks and what strategies log as errors."
)


def place_options(command: F) -> F:
    """`--project` and `--json`."""
    return project_option(json_option(command))


def speaker_options(command: F) -> F:
    """`--as`, `--project` and `--json`."""
    return as_option(place_options(command))


def page_options(command: F) -> F:
    """`--limit` and `--cursor`."""
    limit = click.option(
        "--limit",
        type=click.IntRange(1, 100),
        default=20,
        show_default=True,
        help="The most signals to show.",
    )
    cursor = click.option("--cursor", metavar="CURSOR", help="Continue after an earlier page.")
    return limit(cursor(command))
