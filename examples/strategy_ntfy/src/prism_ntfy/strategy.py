"""The strategy itself.

What is said about ntfy stands in its documentation, "Publishing": a POST of a JSON object to the
server's root publishes to the topic named in it; a text over 4,096 bytes becomes an attachment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx2

from prism_signals import (
    HANDED_OVER,
    DeliveryOutcome,
    Priority,
    Signal,
    SignalDeliveryStrategy,
    StrategyContext,
    StrategyUnavailable,
    deferred,
    refused,
    render_text,
    unknown,
)

from .settings import NtfySettings

MOST_BYTES = 4096
"""ntfy turns a longer text into an attachment, which nobody reads on a phone."""
_PRIORITY = {Priority.AMBIENT: 2, Priority.NORMAL: 3, Priority.URGENT: 5}
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_BUSY = 429


class NtfyStrategy(SignalDeliveryStrategy):
    """Publishes each signal as one notification.

    ntfy says that it took it, and never whether anybody read it; so it answers `HANDED_OVER`.
    """

    def __init__(
        self, client: httpx2.AsyncClient, settings: NtfySettings, context: StrategyContext
    ) -> None:
        self._client = client
        self._settings = settings
        self._context = context

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        """Publish it, and say what is known of it afterwards."""
        try:
            answer = await self._client.post("/", json=self._notification(signal))
        except _NOT_SENT as e:
            return deferred(f"the ntfy server is out of reach ({type(e).__name__})")
        except httpx2.TransportError as e:  # the request may have arrived
            return unknown(f"the ntfy server gave no answer ({type(e).__name__})")
        return _outcome(answer)

    def supports_push(self) -> bool:
        """Always: nobody has to ask for a notification."""
        return True

    def _notification(self, signal: Signal) -> dict[str, object]:
        return {
            "topic": self._settings.topic.get_secret_value(),
            "title": "Prism Signals",
            "message": self._text(signal),
            "priority": _PRIORITY[signal.priority],
        }

    def _text(self, signal: Signal) -> str:
        """The rendering, with less of the peer's text until it fits: signs differ in bytes."""
        most = self._settings.max_chars
        while True:
            text = render_text(signal, redelivered=self._context.redelivered, max_chars=most)
            if len(text.encode()) <= MOST_BYTES or not most:
                return text
            most //= 2


def _outcome(answer: httpx2.Response) -> DeliveryOutcome:
    status = answer.status_code
    if answer.is_success:
        return HANDED_OVER
    if status == _BUSY:
        told = answer.headers.get("Retry-After", "")
        wait = timedelta(seconds=int(told)) if told.isdecimal() else None
        return deferred("the ntfy server takes no more for now", after=wait)
    if answer.is_client_error:
        return refused(f"the ntfy server refuses it with HTTP status {status}")
    return unknown(f"the ntfy server answered with HTTP status {status}")


@asynccontextmanager
async def connected(
    settings: NtfySettings, context: StrategyContext
) -> AsyncIterator[NtfyStrategy]:
    """The strategy with its HTTP client, for as long as the context lasts.

    Raises:
        StrategyUnavailable: No topic is configured.
    """
    if not settings.topic.get_secret_value():
        raise StrategyUnavailable("No topic to publish to. Set PRISM_NTFY_TOPIC.")
    token = settings.token.get_secret_value()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(
        base_url=settings.url, headers=headers, timeout=settings.timeout
    ) as client:
        yield NtfyStrategy(client, settings, context)
