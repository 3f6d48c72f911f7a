"""Prism Signals: agents send each other typed, threaded, durable signals by name.

This is the public face: everything a plugin or a program needs is importable from here, and nothing
else of the package is promised. Names are loaded when they are first used, because start-up time is
paid at every turn of an agent.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, tuple[str, ...]] = {
    "agent": ("Agent",),
    "app": ("Prism", "backend_urls"),
    "clock": ("Clock", "ManualClock", "SystemClock", "from_iso", "iso"),
    "contract.bus": ("Bell", "BellKind", "Bus"),
    "contract.capabilities": ("AnswerBuilder", "ClientNotifications", "HandshakeNeeds"),
    "contract.descriptors": (
        "BackendURL",
        "BusPlugin",
        "CommandPlugin",
        "DirectoryPlugin",
        "GatewayPlugin",
        "Observer",
        "ObserverPlugin",
        "Policy",
        "PolicyPlugin",
        "StorePlugin",
    ),
    "contract.directory": ("Directory",),
    "contract.inspection": ("Inspectable", "Inspection"),
    "contract.posting": ("Limit", "Posted", "Posting", "Recipient", "RecipientState"),
    "contract.reading": ("Counts", "Page", "Query"),
    "contract.store": (
        "AckResult",
        "AckStatus",
        "Claim",
        "Recall",
        "RecallStatus",
        "Store",
        "Swept",
    ),
    "contract.strategy": (
        "API_VERSION",
        "SignalDeliveryStrategy",
        "StrategyContext",
        "StrategyPlugin",
    ),
    "engine.rendering": ("provenance", "quote", "render_text", "shown_signal"),
    "engine.routing": ("Route", "plan"),
    "engine.verbs": ("ladder",),
    "errors": (
        "ERROR_TABLE",
        "ConfigurationError",
        "ErrorMeaning",
        "ForeignProject",
        "IdempotencyConflict",
        "IdentityMismatch",
        "InboxFull",
        "InvalidArgument",
        "InvalidInput",
        "InvalidName",
        "InvalidPayload",
        "InvalidProject",
        "InvalidSetting",
        "LimitReached",
        "NoIdentity",
        "NoRoute",
        "NoSuchPlugin",
        "NotAllowed",
        "PayloadTooLarge",
        "PrismError",
        "RateLimited",
        "SchemaTooNew",
        "SessionReleased",
        "StoreBusy",
        "StoreUnavailable",
        "StrategyUnavailable",
        "SystemTypeRefused",
        "TooManyHops",
        "Unavailable",
        "UnknownSignal",
        "UnknownSignalType",
        "UnsupportedSQLite",
    ),
    "fingerprint": ("ancestors", "boot_id", "lives", "of_process", "of_this_process"),
    "hookspecs": ("hookimpl",),
    "memory.backend": ("MemoryBackend",),
    "model.delivery": (
        "ENDED_STATES",
        "OPEN_STATES",
        "Delivery",
        "DeliveryState",
        "Entry",
        "Lease",
        "Settlement",
    ),
    "model.ids": (
        "NIL_SESSION",
        "OUTSIDE_SESSION",
        "LeaseToken",
        "SessionId",
        "SignalId",
        "canonical_uuid",
        "new_session_id",
        "new_signal_id",
        "project_uuid",
        "tenant_uuid",
        "uuid7",
    ),
    "model.names": (
        "BROADCAST",
        "SYSTEM",
        "Name",
        "Scope",
        "canonical",
        "parse_name",
        "parse_project",
        "parse_recipient",
    ),
    "model.outcome": (
        "CONFIRMED",
        "HANDED_OVER",
        "DeliveryOutcome",
        "OutcomeKind",
        "deferred",
        "refused",
        "unknown",
    ),
    "model.session": (
        "Departure",
        "Election",
        "Fingerprint",
        "Heartbeat",
        "LeftReason",
        "MasterClaim",
        "Registered",
        "Registration",
        "Session",
        "SessionToken",
    ),
    "model.signal": ("Lane", "Priority", "PrismSignal", "Signal"),
    "model.types": ("Payload", "SignalType", "TypeRegistry", "check_payload", "headline"),
    "outsider": ("Outsider",),
    "registry": ("Found", "Origin", "Problem", "Registry"),
    "settings": ("Settings", "load_plugin_settings", "plugin_prefix", "unknown_variables"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'prism_signals' has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
