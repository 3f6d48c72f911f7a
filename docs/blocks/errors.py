"""The errors: their tree, and what each code means to a caller."""

from __future__ import annotations

from prism_signals import ERROR_TABLE, PrismError

from .markdown import code, first_line, table


def tree() -> str:
    """The tree as the module prints it."""
    import prism_signals.errors as module

    text = (module.__doc__ or "").split("```")[1].strip("\n")
    return f"```text\n{text}\n```"


def _rows(root: type[PrismError] = PrismError) -> list[tuple[str, ...]]:
    """One row for each error, parents before children."""
    meaning = ERROR_TABLE[root.code]
    row = (
        code(root.code),
        code(root.__name__),
        first_line(root),
        str(meaning.exit_code),
        str(meaning.http_status),
        "yes" if meaning.retry else "no",
    )
    return [row, *(r for child in _children(root) for r in _rows(child))]


def codes() -> str:
    """One table of all codes."""
    return table(("Code", "Class", "Meaning", "Exit", "HTTP", "Retry"), _rows())


def _children(root: type[PrismError]) -> list[type[PrismError]]:
    """Its children in the core; what plugins and tests derive is left out."""
    return [c for c in root.__subclasses__() if c.__module__ == PrismError.__module__]
