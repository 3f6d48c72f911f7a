"""`prism doctor`."""

from __future__ import annotations

import logging

import anyio
import click

from prism_signals import Prism, Registry, Settings

from .. import checks
from ..checks import Finding, Verdict
from ..options import json_option
from ..plaintext import one_line, say, say_json

_MARKS = {Verdict.OK: "ok     ", Verdict.WARNING: "warning", Verdict.BROKEN: "BROKEN "}


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check store, directory, doorbell, route, settings and plugins; exit 1 if one is broken."""
    logging.getLogger("prism_signals").addHandler(logging.NullHandler())
    found = _examine()
    healthy = all(f.verdict is not Verdict.BROKEN for f in found)
    if as_json:
        say_json({"ok": healthy, "checks": [f.as_json() for f in found]})
    else:
        for f in found:
            say(f"{_MARKS[f.verdict]}  {f.check}: {one_line(f.detail)}")
            if f.hint:
                say(f"         {one_line(f.hint)}")
        say("Everything works." if healthy else "Something is broken, see above.")
    return 0 if healthy else 1


def _examine() -> list[Finding]:
    registry = Registry.discover()
    settings, about_settings = checks.settings()
    found = [checks.versions(), about_settings, checks.variables(registry)]
    found += checks.plugins(registry)
    if settings is not None:
        found += checks.route(registry, settings)
        found += anyio.run(_backends, settings, registry)
    return found


async def _backends(settings: Settings, registry: Registry) -> list[Finding]:
    try:
        async with Prism.open(settings, registry=registry) as prism:
            return [
                await checks.store(prism),
                await checks.directory(prism),
                await checks.doorbell(prism),
            ]
    except Exception as e:  # noqa: BLE001 - as in the checks
        return [checks.broken("store", e)]
