"""The generated parts of the pages, by name."""

from __future__ import annotations

from collections.abc import Callable

from . import commands, contracts, errors, plugins, settings, signal_types, support, verbs

_PLAIN: dict[str, Callable[[], str]] = {
    "commands": commands.commands,
    "exit codes": commands.exit_codes,
    "error tree": errors.tree,
    "errors": errors.codes,
    "hooks": plugins.hooks,
    "strategies": plugins.strategies,
    "settings": settings.core,
    "plugin settings": settings.of_plugins,
    "sqlite options": settings.sqlite_options,
    "agent types": signal_types.of_agents,
    "system types": signal_types.of_the_controller,
    "indexes": contracts.indexes,
    "support summary": support.summary,
    "support matrix": support.matrix,
    "support reasons": support.reasons,
}
_WITH_ARGUMENT: dict[str, Callable[[str], str]] = {
    "verb": verbs.arguments,
    "clauses": contracts.clauses,
    "fields": plugins.fields,
}


def block(name: str) -> str:
    """The Markdown of a part: a plain name, or a kind and an argument (`verb prism_start`).

    Raises:
        KeyError: There is no such part.
    """
    if name in _PLAIN:
        return _PLAIN[name]()
    kind, _, argument = name.partition(" ")
    return _WITH_ARGUMENT[kind](argument)
