"""Errors: one message and a hint on stderr, or one JSON object there, and an exit status."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from .plaintext import as_json as to_json
from .plaintext import complain, one_line, visible

_HINTS = {
    3: "'--as NAME' says for whom you speak outside an agent.",
    5: "'prism doctor' says what is out of reach; the same command may work later.",
    6: "'prism doctor' checks the configuration.",
}


def wants_json(args: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, as far as it can be told before it is parsed."""
    before = list(args[: args.index("--")] if "--" in args else args)
    return "--json" in before or "-j" in before


def report(error: Exception, *, command: str, as_json: bool) -> int:
    """Tell about any error; gives the exit status."""
    import click

    from prism_signals import ERROR_TABLE, PrismError

    root = cause(error)
    if isinstance(root, PrismError):
        meaning = ERROR_TABLE.get(root.code, ERROR_TABLE["error"])
        hint = _HINTS.get(meaning.exit_code, f"'{command} --help' shows what it takes.")
        return refuse(
            root.code,
            root.message,
            hint,
            as_json=as_json,
            status=meaning.exit_code,
            details={**root.details, **({"retry": True} if meaning.retry else {})},
        )
    if isinstance(root, click.Abort):
        return refuse(
            "interrupted", "Interrupted.", f"'{command}' did not end.", as_json=as_json, status=130
        )
    if isinstance(root, click.ClickException):
        return refuse(
            "usage",
            root.format_message(),
            f"'{command} --help' shows what it takes.",
            as_json=as_json,
        )
    complain(visible("".join(traceback.format_exception(root)).rstrip()))
    return refuse(
        "error",
        f"Unexpected {type(root).__name__}: {root}.",
        "This is a bug; please report it with the lines above.",
        as_json=as_json,
        status=1,
    )


def refuse(
    code: str,
    message: str,
    hint: str,
    *,
    as_json: bool,
    status: int = 2,
    details: dict[str, Any] | None = None,
) -> int:
    """Write one error to stderr; gives the exit status."""
    if as_json:
        error = {"code": code, "message": message, **(details or {}), "hint": hint}
        complain(to_json({"error": error}, ascii_only=True))
    else:
        complain(f"Error ({code}): {one_line(message)}\nHint: {hint}")
    return status


def cause(error: BaseException) -> BaseException:
    """The one error inside of what task groups wrapped it into."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
