"""What the conformance kit needs to judge this strategy: an ntfy server that can fail.

Only `prism conformance` and the tests import this module.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio.to_thread
import pytest
from pydantic import SecretStr

from prism_signals import (
    Clock,
    Registration,
    Scope,
    SignalDeliveryStrategy,
    SystemClock,
    new_session_id,
    parse_name,
)
from prism_signals_testkit import StrategyConformance, StrategyHarness

from . import open_ntfy
from .settings import NtfySettings

TOPIC = "topic-nobody-guesses"
TOKEN = "tk_of_the_conformance_kit"  # noqa: S105 - it opens nothing
_PATIENCE = 20.0


class NtfyServer:
    """A server on this machine that takes what ntfy takes, on a port that stays the same."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.rejects = False
        self.port = 0
        self._news = threading.Condition()
        self._answers = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.start()

    def start(self) -> None:
        """Listen, and answer at once."""
        self.rejects = False
        self._answers.set()
        if self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
            self._server.daemon_threads = True
            self.port = self._server.server_port
            threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more."""
        self._answers.set()
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def hang(self) -> None:
        """Take requests and answer none of them."""
        self._answers.clear()

    def wait_for(self, number: int) -> list[str]:
        """The messages, once there are so many."""
        with self._news:
            self._news.wait_for(lambda: len(self.messages) >= number, _PATIENCE)
            return list(self.messages)

    def take(self, notification: dict[str, Any], authorization: str) -> int:
        """Take one notification; gives the HTTP status."""
        if not self._answers.is_set():
            self._answers.wait(_PATIENCE)
            return 503
        if self.rejects or (notification["topic"], authorization) != (TOPIC, f"Bearer {TOKEN}"):
            return 403
        with self._news:
            self.messages.append(notification["message"])
            self._news.notify_all()
        return 200

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = server.take(json.loads(body), self.headers.get("Authorization", ""))
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                """Not to the terminal."""

            def handle(self) -> None:
                """A client that is cancelled leaves in the middle of an answer."""
                try:
                    super().handle()
                except ConnectionError:
                    return

        return Handler


@dataclass
class Surroundings:
    """The context of the strategy."""

    registration: Registration = field(
        default_factory=lambda: Registration(
            new_session_id(), Scope("default", "PID-KIT01"), parse_name("Donna"), "ntfy"
        )
    )
    clock: Clock = field(default_factory=SystemClock)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("conformance"))
    redelivered: bool = False

    def offered(self, capability: Any) -> Any:
        """No gateway is here, and none is needed."""
        return None

    def ready(self) -> None:
        """Nothing waits here."""


class NtfyHarness(StrategyHarness):
    """The strategy towards such a server."""

    max_chars = NtfySettings().max_chars
    secrets = (TOPIC, TOKEN)

    def __init__(self, server: NtfyServer) -> None:
        self._server = server

    def open(self) -> AbstractAsyncContextManager[SignalDeliveryStrategy]:
        return self._open(TOPIC)

    def open_unreachable(self) -> AbstractAsyncContextManager[SignalDeliveryStrategy]:
        return self._open("")

    async def received(self, at_least: int = 0) -> Sequence[str]:
        return await anyio.to_thread.run_sync(
            self._server.wait_for, at_least, abandon_on_cancel=True
        )

    async def go_down(self) -> None:
        await anyio.to_thread.run_sync(self._server.stop)

    async def hang(self) -> None:
        self._server.hang()

    async def reject(self) -> None:
        self._server.rejects = True

    async def come_back(self) -> None:
        self._server.start()

    def _open(self, topic: str) -> AbstractAsyncContextManager[SignalDeliveryStrategy]:
        settings = NtfySettings(
            url=f"http://127.0.0.1:{self._server.port}",
            topic=SecretStr(topic),
            token=SecretStr(TOKEN),
        )
        return open_ntfy(settings, Surroundings())


class NtfyConformance(StrategyConformance):
    """The strategy towards a server on this machine."""

    @pytest.fixture
    def harness(self) -> Iterator[NtfyHarness]:
        """A server that has taken nothing yet, for each test."""
        server = NtfyServer()
        yield NtfyHarness(server)
        server.stop()
