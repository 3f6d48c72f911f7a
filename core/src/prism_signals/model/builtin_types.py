"""The signal types that are always known: SPEC-034 §5.2's, EP-0118's words, and three more."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from .signal import Lane, Priority
from .types import Payload, SignalType

SYSTEM_TTL = timedelta(minutes=10)
"""System signals that were not delivered by then are of no use."""


class ReviewRequested(Payload):
    """Asks for a review."""

    spec_id: str
    instructions: str


class ReviewCompleted(Payload):
    """Brings a review."""

    spec_id: str
    summary: str
    gaps: list[str] = Field(default_factory=list)
    recommendation: str


class Message(Payload):
    """One text, in the field `message`."""

    message: str


class TaskAssigned(Payload):
    """Hands over work. `priority` also sets the signal's own priority."""

    description: str
    todo_number: int | str | None = None
    priority: str = "normal"


class StatusUpdate(Payload):
    """Tells of progress."""

    description: str
    artifacts: list[str] = Field(default_factory=list)


class SpecStatusChanged(Payload):
    """A document has a new status."""

    spec_id: str
    status: str


class Content(Payload):
    """One text, in the field `content`."""

    content: str


class MasterPreempted(Payload):
    """Tells the former master who took over."""

    preempted_by: str
    new_master_session: str


class PeerJoined(Payload):
    """A session registered."""

    identity: str
    surface: str
    session_id: str


class PeerLeft(Payload):
    """A session ended."""

    identity: str
    surface: str
    reason: str


_URGENT = Priority.URGENT
BUILTIN_TYPES: tuple[SignalType, ...] = (
    SignalType(
        "ReviewRequested", "ask a peer to review something", ReviewRequested, expects_action=True
    ),
    SignalType("ReviewCompleted", "deliver a review", ReviewCompleted),
    SignalType("Acknowledgment", "confirm receipt", Message, wakes=False),
    SignalType(
        "TaskAssigned",
        "delegate work to a peer",
        TaskAssigned,
        expects_action=True,
        escalates_when_urgent=True,
    ),
    SignalType("StatusUpdate", "inform a peer of progress", StatusUpdate, wakes=False),
    SignalType("SpecStatusChanged", "a document has a new status", SpecStatusChanged, wakes=False),
    SignalType("Question", "ask a peer something", Message, expects_action=True),
    SignalType("Answer", "answer a question", Message),
    SignalType("Loopback", "test the way to oneself", Message),
    SignalType("inform", "tell a peer something, at leisure", Content, wakes=False),
    SignalType("query", "ask a peer something", Content, expects_action=True),
    SignalType(
        "delegate",
        "hand work to a peer, now",
        Content,
        expects_action=True,
        default_priority=_URGENT,
        always_escalates=True,
    ),
    SignalType("ack", "confirm receipt", Content, wakes=False),
    SignalType("warn", "warn a peer", Content),
    SignalType(
        "urgent",
        "interrupt a peer",
        Content,
        expects_action=True,
        default_priority=_URGENT,
        always_escalates=True,
    ),
    SignalType(
        "MasterPreempted",
        "another session became master",
        MasterPreempted,
        wakes=False,
        ttl=SYSTEM_TTL,
        lane=Lane.SYSTEM,
    ),
    SignalType(
        "PeerJoined",
        "an agent registered",
        PeerJoined,
        wakes=False,
        ttl=SYSTEM_TTL,
        lane=Lane.SYSTEM,
    ),
    SignalType(
        "PeerLeft",
        "an agent left or timed out",
        PeerLeft,
        wakes=False,
        ttl=SYSTEM_TTL,
        lane=Lane.SYSTEM,
    ),
)
