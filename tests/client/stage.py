"""Agents that share one world, each test in a project of its own.

Starting a `prism mcp` takes a second, so that a gateway whose agent has wrapped serves another one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Self

from .gateway import Gateway, Refused
from .world import World, new_project


class Pool:
    """A world whose gateways are lent out. None of them has a configured identity or project."""

    def __init__(self) -> None:
        self.world = World()
        self._idle: dict[str, list[Gateway]] = {}

    def lend(self, surface: str) -> Gateway:
        """A gateway of that surface with the handshake done and no session."""
        idle = self._idle.setdefault(surface, [])
        return idle.pop() if idle else self.world.gateway(surface)

    def take_back(self, surface: str, gateway: Gateway) -> None:
        """Keep it for another test."""
        if not gateway.ended:
            self._idle[surface].append(gateway)


class Stage:
    """One test's project and the agents in it.

    Attributes:
        pid: The project.
        world: Where the store is.
    """

    def __init__(self, pool: Pool) -> None:
        self.pid = new_project()
        self.world = pool.world
        self._pool = pool
        self._lent: list[tuple[str, Gateway]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for surface, gateway in self._lent:
            if not gateway.ended:
                with suppress(Refused):  # it never had a session
                    gateway.wrap()
            self._pool.take_back(surface, gateway)

    def enter(self, name: str, surface: str = "claude_desktop") -> Gateway:
        """An agent that has called `prism_start`."""
        gateway = self.seat(surface)
        gateway.start(agent_identity=name)
        gateway.forget()
        return gateway

    def seat(self, surface: str = "claude_desktop") -> Gateway:
        """A gateway of this project whose agent has called nothing yet."""
        gateway = self._pool.lend(surface)
        gateway.project = self.pid
        gateway.forget()
        self._lent.append((surface, gateway))
        return gateway
