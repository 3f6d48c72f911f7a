"""The four steps of SPEC-034 §3 between two real servers, checked as they happen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from .client import Answer, DemoFailure, Frame, SimulatedClient
from .surroundings import PROJECT

CHANNEL = "notifications/claude/channel"
PUSHING, FLOOR = "channels_push", "piggyback"
LOLA, DONNA = "Lola", "Donna"
# What SPEC-034 §3 has the two say, in words of our own.
REQUEST = {
    "spec_id": "SPEC-033",
    "instructions": "Please review SPEC-033: sum it up, and name gaps and concerns. "
    "Answer by signal when you are done.",
}
REVIEW = {
    "spec_id": "SPEC-033",
    "summary": "A reference model in five layers; sound, with two open places.",
    "gaps": ["The deployment matrix leaves out Windows.", "Offline agents are not covered."],
    "recommendation": "Accept with amendments",
}
THANKS = {"message": "Thanks, Donna. The review is here; decisions on the gaps follow."}


@dataclass(frozen=True, slots=True)
class Step:
    """One step as it went.

    Attributes:
        number: As SPEC-034 §3 counts.
        title: What happened, in a few words.
        sender: Who sent.
        recipient: Who got it.
        signal_type: What was sent.
        signal_id: Its id.
        strategy: How it was put in front of the recipient's model.
        answer: What the sender's verb answered.
        answered_ms: How long that took.
        shown_ms: From sending to the recipient's side of the wire having it.
        seen: What the recipient's model would see.
    """

    number: str
    title: str
    sender: str
    recipient: str
    signal_type: str
    signal_id: str
    strategy: str
    answer: dict[str, Any]
    answered_ms: float
    shown_ms: float
    seen: dict[str, Any]


@dataclass(slots=True)
class Scenario:
    """Lola asks, Donna answers, nobody relays.

    Args:
        lola: On `claude_desktop`, reached through her own verbs.
        donna: On `claude_code`, reached through channels.
        tell: Called with each step when it is done.
    """

    lola: SimulatedClient
    donna: SimulatedClient
    tell: Callable[[Step], None]
    agents: list[dict[str, Any]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    strategies: dict[str, str] = field(default_factory=dict)

    async def prepare(self) -> None:
        """Both shake hands and start their sessions."""
        async with anyio.create_task_group() as tasks:
            for client in (self.lola, self.donna):
                tasks.start_soon(self._arrive, client)
        self.agents.sort(key=lambda a: a["identity"] != LOLA)
        if self.strategies[DONNA] != PUSHING:
            raise DemoFailure(
                f"{DONNA} is reached by {self.strategies[DONNA]}, not by {PUSHING}: is "
                "prism-signals-strategy-channels-push installed?"
            )

    async def play(self) -> str:
        """Steps 1 to 4; gives the id of the thread's root."""
        root = await self._ask_and_show()
        await self._answer_and_attach(root)
        await self._thank_and_show(root)
        self._once_each()
        return root

    async def _arrive(self, client: SimulatedClient) -> None:
        began = time.perf_counter()
        hello = await client.initialize()
        started = await client.call("prism_start", pid=PROJECT, agent_identity=client.name)
        context = started.value["context"]
        taken = [r["strategy"] for r in context["route"] if r["state"] in ("taken", "floor")]
        if not taken:
            raise DemoFailure(f"{client.name} cannot be reached by any strategy: {context}")
        self.strategies[client.name] = taken[0]
        self.agents.append(
            {
                "identity": client.name,
                "surface": client.surface,
                "client": "simulated",
                "role": started.value["controller_status"]["role"],
                "protocol": hello["protocolVersion"],
                "route": context["route"],
                "ready_ms": round((time.perf_counter() - began) * 1000, 1),
            }
        )

    async def _ask_and_show(self) -> str:
        sent = await self._send(self.lola, DONNA, "ReviewRequested", REQUEST)
        shown = await self._channel(sent.value["signal_id"])
        _expect_text(shown, f'Signal from {LOLA} (ReviewRequested): "')
        self._done(
            "1",
            "Lola asks; it appears in Donna's session",
            LOLA,
            DONNA,
            "ReviewRequested",
            sent,
            shown.at,
            shown.params,
        )
        return str(sent.value["signal_id"])

    async def _answer_and_attach(self, root: str) -> None:
        sent = await self._send(self.donna, LOLA, "ReviewCompleted", REVIEW, root)
        wanted = sent.value["signal_id"]
        looked = await self.lola.call("prism_status", pid=PROJECT)
        pending = looked.value.get("pending_signals", [])
        entry = next((e for e in pending if e["signal_id"] == wanted), None)
        if entry is None:
            raise DemoFailure(f"Lola's next verb did not carry Donna's answer: {looked.value}")
        if entry["in_reply_to"] != root or entry["payload"] != REVIEW or entry["redelivered"]:
            raise DemoFailure(f"Donna's answer reached Lola changed: {entry}")
        self._done(
            "2-3",
            "Donna answers; Lola's next verb carries it",
            DONNA,
            LOLA,
            "ReviewCompleted",
            sent,
            looked.at,
            entry,
        )

    async def _thank_and_show(self, root: str) -> None:
        sent = await self._send(self.lola, DONNA, "Acknowledgment", THANKS, root)
        shown = await self._channel(sent.value["signal_id"])
        _expect_text(shown, f'Signal from {LOLA} (Acknowledgment): "')
        self._done(
            "3-4",
            "Lola acknowledges; it appears in Donna's session",
            LOLA,
            DONNA,
            "Acknowledgment",
            sent,
            shown.at,
            shown.params,
        )

    async def _send(
        self,
        who: SimulatedClient,
        to: str,
        kind: str,
        payload: dict[str, Any],
        in_reply_to: str | None = None,
    ) -> Answer:
        reply = {"in_reply_to": in_reply_to} if in_reply_to else {}
        sent = await who.call(
            "prism_signal", pid=PROJECT, to=to, signal_type=kind, payload=payload, **reply
        )
        if not sent.value.get("resolved_to_session"):
            raise DemoFailure(f"{to} did not resolve to a live session: {sent.value}")
        return sent

    async def _channel(self, signal_id: str) -> Frame:
        def is_it(frame: Frame) -> bool:
            meta = frame.params.get("meta", {})
            return frame.method == CHANNEL and meta.get("signal_id") == signal_id

        return await self.donna.frame(is_it, f"the channel frame of {signal_id}")

    def _done(
        self,
        number: str,
        title: str,
        sender: str,
        recipient: str,
        kind: str,
        sent: Answer,
        shown_at: float,
        seen: dict[str, Any],
    ) -> None:
        step = Step(
            number,
            title,
            sender,
            recipient,
            kind,
            sent.value["signal_id"],
            self.strategies[recipient],
            sent.value,
            round(sent.ms, 1),
            round((shown_at - sent.sent) * 1000, 1),
            seen,
        )
        self.steps.append(step)
        self.tell(step)

    def _once_each(self) -> None:
        shown = [f.params["meta"]["signal_id"] for f in self.donna.frames if f.method == CHANNEL]
        for step in self.steps:
            if step.recipient == DONNA and shown.count(step.signal_id) != 1:
                raise DemoFailure(f"{step.signal_type} was shown more than once")


def _expect_text(frame: Frame, wanted: str) -> None:
    content = frame.params.get("content", "")
    if wanted not in content.split("\n")[0]:
        raise DemoFailure(f"the channel frame does not begin as SPEC-034 §3 shows it: {content}")
