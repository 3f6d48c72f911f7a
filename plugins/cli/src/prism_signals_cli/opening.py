"""Opens Prism Signals for one command and decides for whom the command speaks."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from prism_signals import (
    OUTSIDE_SESSION,
    ForeignProject,
    IdentityMismatch,
    NoIdentity,
    Outsider,
    Prism,
    SessionId,
    Unavailable,
    canonical,
)

T = TypeVar("T")

IDENTITY_VARIABLE = "PRISM_AGENT_IDENTITY"
PROJECT_VARIABLE = "PRISM_PROJECT"
# Reads that concern nobody in particular need a name to be made, but nothing is stored under it.
_READER = "terminal"


def run(act: Callable[[Prism], Awaitable[T]]) -> T:
    """Open Prism Signals with the configured settings, run one action, close.

    Raises:
        PrismError: The settings or backends cannot be used, or the action was refused.
    """
    # A broken plugin is told by `prism doctor`, not by every command.
    logging.getLogger("prism_signals").addHandler(logging.NullHandler())

    async def opened() -> T:
        async with Prism.open() as prism:
            return await act(prism)

    return anyio.run(opened)


async def speaker(prism: Prism, name: str | None, pid: str | None) -> Outsider:
    """Whoever this command speaks for; registers no presence.

    Inside an agent's environment that is the agent, and its signals name the agent's live session
    where just one is found around this process.

    Raises:
        NoIdentity: No name was given and none is configured.
        IdentityMismatch: Inside an agent's environment another name was given.
        ForeignProject: Inside an agent's environment another project was given.
    """
    own = os.environ.get(IDENTITY_VARIABLE)
    if own:
        _refuse_another(own, name, pid)
    wanted = own or name or prism.settings.agent_identity
    if wanted is None:
        raise NoIdentity(
            f"Nobody is named to speak for. Give --as NAME, or set {IDENTITY_VARIABLE}."
        )
    session = await _own_session(prism, wanted, pid) if own else OUTSIDE_SESSION
    return prism.outside(wanted, pid, session)


def onlooker(prism: Prism, pid: str | None) -> Outsider:
    """Somebody who only looks at a project.

    Raises:
        ForeignProject: Inside an agent's environment another project was given.
    """
    own = os.environ.get(IDENTITY_VARIABLE)
    if own:
        _refuse_another(own, None, pid)
    return prism.outside(_READER, pid)


def known_name(prism: Prism, name: str | None) -> str | None:
    """The name that a command concerns where it can do without one.

    Raises:
        IdentityMismatch: Inside an agent's environment another name was given.
    """
    own = os.environ.get(IDENTITY_VARIABLE)
    if own:
        _refuse_another(own, name, None)
    return own or name or prism.settings.agent_identity


def _refuse_another(own: str, name: str | None, pid: str | None) -> None:
    if name is not None and canonical(name) != canonical(own):
        raise IdentityMismatch(
            f"This is the environment of the agent {own}: --as {ascii(name)[:70]} is refused. Who "
            "sends is decided by the session, never by an argument. Leave --as out."
        )
    project = os.environ.get(PROJECT_VARIABLE)
    if project and pid is not None and pid != project:
        raise ForeignProject(
            f"This is the environment of an agent on project {project}, not {ascii(pid)[:80]}. "
            "Signals do not cross projects. Leave --project out."
        )


async def _own_session(prism: Prism, name: str, pid: str | None) -> SessionId:
    try:
        session = await prism.session_around(pid)
        live = await prism.directory.sessions(prism.scope(pid), canonical(name))
    except Unavailable:
        return OUTSIDE_SESSION
    mine = {s.session_id for s in live}
    return session if session is not None and session in mine else OUTSIDE_SESSION
