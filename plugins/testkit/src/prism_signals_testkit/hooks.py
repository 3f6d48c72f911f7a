"""What discovery imports of the kit: the command `prism conformance`, and nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence

from prism_signals import CommandPlugin, hookimpl

__all__ = ["prism_commands"]


@hookimpl
def prism_commands() -> Sequence[CommandPlugin]:
    """The command `prism conformance`."""
    return [
        CommandPlugin(
            "conformance",
            "Run the conformance kit against an installed plugin.",
            "prism_signals_testkit.command:main",
        )
    ]
