"""The scripts `prism` and `tur`: find the command, import only that, and turn errors into exits.

Start-up time is paid at every start of an agent (`prism mcp`) and every call from a shell, so this
module imports nothing heavy, and `click` only for a command that uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import catalogue

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells count it."""

_HELP = ("--help", "-h", "help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `prism`; gives the exit status."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in _HELP:
        return _overview(asked=bool(args))
    name, rest = args[0], args[1:]
    if name in ("--version", "-V"):
        return _version("prism")
    entry = catalogue.own(name)
    if entry is not None:
        return _run_own(entry, rest, "prism")
    return _run_plugged(name, rest)


def tur(argv: Sequence[str] | None = None) -> int:
    """Run `tur`: EP-0123's three commands under its own name; gives the exit status."""
    args = list(sys.argv[1:] if argv is None else argv)
    entries = [e for e in catalogue.COMMANDS if e.name in catalogue.TUR_COMMANDS]
    if not args or args[0] in _HELP:
        _say(catalogue.overview("tur", entries), asked=bool(args))
        return 0 if args else 2
    if args[0] in ("--version", "-V"):
        return _version("tur")
    for entry in entries:
        if entry.name == args[0]:
            return _run_own(entry, args[1:], "tur")
    return _unknown("tur", args, [e.name for e in entries])


def _overview(*, asked: bool) -> int:
    from . import plugged

    try:
        others = plugged.listing()
    except Exception as e:  # noqa: BLE001 - whatever discovery meets, the help itself is shown
        sys.stderr.write(f"The plugins could not be searched for commands: {e}\n")
        others = ()
    _say(catalogue.overview("prism", catalogue.COMMANDS, others), asked=asked)
    return 0 if asked else 2


def _say(text: str, *, asked: bool) -> None:
    (sys.stdout if asked else sys.stderr).write(text)


def _version(program: str) -> int:
    from importlib.metadata import version

    sys.stdout.write(f"{program} {version('prism-signals-cli')}\n")
    return 0


def _run_own(entry: catalogue.Entry, args: list[str], program: str) -> int:
    from . import failures

    as_json = failures.wants_json(args)
    try:
        command = catalogue.load(entry)
        status = command.main(
            args=args, prog_name=f"{program} {entry.name}", standalone_mode=False, obj=program
        )
    except Exception as e:  # noqa: BLE001 - the last place where an error can be put into words
        return failures.report(e, command=f"{program} {entry.name}", as_json=as_json)
    return status if isinstance(status, int) else 0


def _run_plugged(name: str, args: list[str]) -> int:
    from importlib import import_module

    from . import plugged

    entry = None if name.startswith("-") else plugged.find(name)
    if entry is None:
        known = [e.name for e in catalogue.COMMANDS]
        if not name.startswith("-"):
            known += [e.name for e in plugged.listing()]
        return _unknown("prism", [name, *args], known)
    module, _, function = entry.target.partition(":")
    try:
        run = getattr(import_module(module), function)
        status = run(args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as e:  # noqa: BLE001 - as above
        from . import failures

        return failures.report(e, command=f"prism {name}", as_json=failures.wants_json(args))
    return status if isinstance(status, int) else 0


def _unknown(program: str, args: list[str], known: list[str]) -> int:
    from difflib import get_close_matches

    from . import failures

    near = get_close_matches(args[0], known, 1)
    hint = f"Did you mean '{program} {near[0]}'? " if near else ""
    return failures.refuse(
        "unknown_command",
        f"There is no command {ascii(args[0])[:60]}.",
        f"{hint}'{program} --help' lists the commands; plugins bring more.",
        as_json=failures.wants_json(args),
    )
