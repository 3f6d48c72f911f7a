"""`prism doctor`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import click

from prism_signals import Registry

from .. import checks
from ..backends import Watch, backends
from ..findings import Finding, Verdict
from ..loopback import loopback
from ..options import json_option, verbose_option
from ..plaintext import say, say_json


@click.command()
@click.option(
    "--loopback",
    "looped",
    is_flag=True,
    help="Also send a signal to itself through this environment's route, in a project of its own.",
)
@verbose_option
@json_option
def doctor(looped: bool, verbose: bool, as_json: bool) -> int:
    """Check settings, plugins, route, store, doorbell and clocks; exit 1 if one is broken."""
    with _log(verbose):
        found = _examine(looped)
    healthy = all(f.verdict is not Verdict.BROKEN for f in found)
    if as_json:
        say_json({"ok": healthy, "checks": [f.as_json(verbose=verbose) for f in found]})
    else:
        say(*(line for f in found for line in f.as_text(verbose=verbose)))
        say("Everything works." if healthy else "Something is broken, see above.")
    return 0 if healthy else 1


def _examine(looped: bool) -> list[Finding]:
    watch = Watch()
    registry = Registry.discover()
    settings, about_settings = checks.settings()
    found = [checks.versions(), about_settings, checks.variables(registry)]
    found += checks.plugins(registry)
    if settings is not None:
        found += checks.route(registry, settings)
        found += anyio.run(backends, settings, registry, watch)
        if looped:
            found.append(anyio.run(loopback, registry))
    elif looped:
        found.append(Finding("loopback", Verdict.BROKEN, "not tried: the settings cannot be used"))
    return found


@contextmanager
def _log(verbose: bool) -> Iterator[None]:
    """What strategies and engine log goes to stderr where it is asked for, else nowhere."""
    handler = logging.StreamHandler(sys.stderr) if verbose else logging.NullHandler()
    handler.setLevel(logging.ERROR)
    log = logging.getLogger("prism_signals")
    propagates, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagates
