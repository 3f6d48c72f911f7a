"""What is this strategy's own: what ntfy is told, and what its answers mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import SecretStr

from prism_ntfy import NtfySettings
from prism_ntfy.conformance import TOPIC, Surroundings
from prism_ntfy.strategy import MOST_BYTES, NtfyStrategy
from prism_signals import (
    DeliveryOutcome,
    OutcomeKind,
    Priority,
    Signal,
    SystemClock,
    new_session_id,
    new_signal_id,
)

Answer = Callable[[httpx2.Request], httpx2.Response]


def signal(text: str, priority: Priority = Priority.NORMAL) -> Signal:
    sid = new_signal_id()
    return Signal(
        signal_id=sid,
        tenant="default",
        pid="PID-NTFY1",
        from_identity="Lola",
        from_session=new_session_id(),
        to_identity="Donna",
        signal_type="Question",
        payload={"message": text},
        created_at=SystemClock().now(),
        thread_id=sid,
        priority=priority,
    )


def deliver(sent: Signal, answer: Answer) -> DeliveryOutcome:
    async def whole() -> DeliveryOutcome:
        transport = httpx2.MockTransport(answer)
        async with httpx2.AsyncClient(base_url="http://ntfy.test", transport=transport) as client:
            settings = NtfySettings(topic=SecretStr(TOPIC))
            return await NtfyStrategy(client, settings, Surroundings()).deliver(sent)

    return anyio.run(whole)


def told(sent: Signal) -> dict[str, Any]:
    """What the server is told about a signal."""
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(200)

    deliver(sent, answer)
    (body,) = bodies
    return body


def test_a_notification_names_topic_and_urgency() -> None:
    body = told(signal("Is it done?", Priority.URGENT))
    assert (body["topic"], body["priority"]) == (TOPIC, 5)
    assert body["message"].startswith('📨 Signal from Lola (Question): "Is it done?"')


@pytest.mark.parametrize("sign", ["x", "ü", "你", "🙂", "\x07", "\U000e0041"])
def test_no_text_becomes_an_attachment(sign: str) -> None:
    message = told(signal(sign * 3000))["message"]
    assert len(message.encode()) <= MOST_BYTES
    assert "more characters" in message


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, OutcomeKind.HANDED_OVER),
        (401, OutcomeKind.REFUSED),
        (413, OutcomeKind.REFUSED),
        (429, OutcomeKind.DEFERRED),
        (500, OutcomeKind.UNKNOWN),
    ],
)
def test_what_an_answer_means(status: int, kind: OutcomeKind) -> None:
    assert deliver(signal("?"), lambda _: httpx2.Response(status)).kind is kind


def test_a_busy_server_says_when() -> None:
    busy = httpx2.Response(429, headers={"Retry-After": "7"})
    assert deliver(signal("?"), lambda _: busy).after == timedelta(seconds=7)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(httpx2.ConnectError, OutcomeKind.DEFERRED), (httpx2.ReadTimeout, OutcomeKind.UNKNOWN)],
)
def test_only_what_was_not_sent_is_deferred(
    error: type[httpx2.TransportError], kind: OutcomeKind
) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise error("no")

    assert deliver(signal("?"), fail).kind is kind
