"""The command line, from what `--help` is made of."""

from __future__ import annotations

import inspect

import click

from prism_signals_cli.catalogue import COMMANDS, EXIT_CODES, TUR_COMMANDS, load
from prism_signals_gateway_mcp.command import HELP as MCP
from prism_signals_testkit.command import HELP as CONFORMANCE

from .markdown import code, prose, sentence, table


def commands() -> str:
    """A heading for each command of this workspace."""
    parts = [_command(e.name, load(e)) for e in COMMANDS]
    plugged = [
        f"## {code(f'prism {name}')}\n\n```text\n{text.strip()}\n```"
        for name, text in (("mcp", MCP), ("conformance", CONFORMANCE))
    ]
    names = ", ".join(code(f"tur {name}") for name in TUR_COMMANDS)
    tur = (
        f"## {code('tur')}\n\nThe distribution `prism-signals-tur` also installs the script `tur` "
        f"with EP-0123's commands: {names}. They take the same arguments."
    )
    return "\n\n".join([*parts, *plugged, tur])


def exit_codes() -> str:
    """What each exit status means."""
    return table(("Exit", "Meaning"), ((str(n), sentence(text)) for n, text in EXIT_CODES))


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"prism {name}")
    usage = " ".join([f"prism {name}", *command.collect_usage_pieces(context)])
    told = prose(inspect.cleandoc(command.help or ""))
    parts = [f"## {code(f'prism {name}')}", f"```text\n{usage}\n```", told]
    rows = [r for p in command.params if isinstance(p, click.Option) and (r := _option(p, context))]
    return "\n\n".join([*parts, table(("Option", "Meaning"), rows)])


def _option(option: click.Option, context: click.Context) -> tuple[str, str] | None:
    record = option.get_help_record(context)
    return (
        None
        if record is None
        else (code(" ".join(record[0].split())), prose(" ".join(record[1].split())))
    )
