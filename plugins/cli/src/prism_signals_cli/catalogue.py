"""The commands of this distribution, as data: listing them imports none of them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import click


class Entry(NamedTuple):
    """A command: its name, one line of help, and `package.module:attribute`."""

    name: str
    help: str
    target: str


def _own(name: str, module: str, attribute: str, text: str) -> Entry:
    return Entry(name, text, f"prism_signals_cli.commands.{module}:{attribute}")


COMMANDS: tuple[Entry, ...] = (
    _own("signal", "send", "signal", "Send a signal to an agent by name."),
    _own("read-signals", "inbox", "read_signals", "Show the signals for a name; changes nothing."),
    _own("ack-signals", "inbox", "ack_signals", "Say by id which signals were acted on."),
    _own("recall", "send", "recall", "Take back a signal that was not shown yet."),
    _own("status", "status", "status", "Show who is here, or how far one signal got."),
    _own("thread", "threads", "thread", "Show a conversation as a tree."),
    _own("history", "threads", "history", "Show a project's signals, newest first."),
    _own("watch", "watch", "watch", "Follow new signals as they are sent."),
    _own("strategies", "strategies", "strategies", "Show the ways to reach an agent from here."),
    _own("doctor", "doctor", "doctor", "Check store, doorbell, route, settings and plugins."),
    _own("new-strategy", "new_strategy", "new_strategy", "Write the folder of a new strategy."),
    Entry(
        "demo",
        "Watch two agents talk to each other; takes seconds.",
        "prism_signals_cli.demo.command:demo",
    ),
)
"""In the order in which `prism --help` shows them."""

TUR_COMMANDS = ("signal", "read-signals", "ack-signals")
"""What EP-0123 knows; the script `tur` has just these."""

EXIT_CODES = (
    (0, "done"),
    (1, "not done, or something is broken"),
    (2, "the input cannot be used"),
    (3, "not allowed, or no identity is known"),
    (4, "a limit or a conflict"),
    (5, "something is out of reach for now; try again"),
    (6, "the configuration cannot work"),
    (130, "interrupted"),
)
"""What each exit status means; the ones from 2 on are those of `prism_signals.ERROR_TABLE`."""


def own(name: str) -> Entry | None:
    """The command of that name in this distribution, or None."""
    return next((e for e in COMMANDS if e.name == name), None)


def load(entry: Entry) -> click.Command:
    """Import one of this distribution's commands."""
    module, _, attribute = entry.target.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command


def overview(program: str, entries: Iterable[Entry], plugged: Iterable[Entry] = ()) -> str:
    """The text of `--help`."""
    own_ones, others = list(entries), list(plugged)
    width = max(len(e.name) for e in (*own_ones, *others))
    lines = [
        f"Usage: {program} COMMAND [ARGUMENTS]…",
        "",
        "Signals between coding agents, in the terminal.",
        "",
        "Commands:",
        *(f"  {e.name:<{width}}  {e.help}" for e in own_ones),
    ]
    if others:
        lines += ["", "Commands of plugins:", *(f"  {e.name:<{width}}  {e.help}" for e in others)]
    lines += [
        "",
        f"'{program} COMMAND --help' explains a command, '{program} --version' tells the version.",
        "",
        "Exit status:",
        *(f"  {code:<3}  {meaning}" for code, meaning in EXIT_CODES),
    ]
    return "\n".join(lines) + "\n"
