"""Every error a caller can meet, as one tree.

```
PrismError
├── InvalidInput
│   ├── InvalidName
│   ├── InvalidProject
│   ├── InvalidPayload
│   ├── InvalidArgument
│   ├── PayloadTooLarge
│   ├── UnknownSignalType
│   ├── SystemTypeRefused
│   └── UnknownSignal
├── NotAllowed
│   ├── ForeignProject
│   └── IdentityMismatch
├── NoIdentity
├── SessionReleased
├── IdempotencyConflict
├── LimitReached
│   ├── RateLimited
│   ├── TooManyHops
│   └── InboxFull
├── Unavailable
│   ├── StoreBusy
│   ├── StoreUnavailable
│   └── StrategyUnavailable
└── ConfigurationError
    ├── InvalidSetting
    ├── NoSuchPlugin
    ├── NoRoute
    ├── UnsupportedSQLite
    └── SchemaTooNew
```

Each error has a `code` (stable, for programs) and a message: what is wrong and what to do.
`ERROR_TABLE` maps a code to the exit code of the command line, an HTTP status and whether the same
call may succeed later. A driver's exception never leaves a plugin as it is; it becomes one of
these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


class PrismError(Exception):
    """Something Prism Signals refuses or cannot do; the root of every error it raises.

    Args:
        message: What is wrong and what to do. Without one, the class's own first line is used.
        details: Facts for programs (JSON values); never a secret.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str = "", **details: Any) -> None:
        doc = (type(self).__doc__ or "").strip().splitlines()
        self.message = message or (doc[0] if doc else type(self).__name__)
        self.details = details
        super().__init__(self.message)

    def as_json(self) -> dict[str, Any]:
        """The error as a JSON object: `code`, `message`, and the details beside them."""
        return {"code": self.code, "message": self.message, **self.details}


class InvalidInput(PrismError):
    """An argument is not acceptable; nothing was changed."""

    code = "invalid_input"


class InvalidName(InvalidInput):
    """A name is not a valid identity name."""

    code = "invalid_name"


class InvalidProject(InvalidInput):
    """The project id (`pid`) is empty or malformed."""

    code = "invalid_project"


class InvalidPayload(InvalidInput):
    """The payload does not fit its signal type."""

    code = "invalid_payload"


class InvalidArgument(InvalidInput):
    """An optional argument has a value that cannot be used."""

    code = "invalid_argument"


class PayloadTooLarge(InvalidInput):
    """The payload is larger than this project accepts."""

    code = "payload_too_large"


class UnknownSignalType(InvalidInput):
    """No installed plugin and no setting declares this signal type."""

    code = "unknown_signal_type"


class SystemTypeRefused(InvalidInput):
    """System signals come from the controller and cannot be sent by an agent."""

    code = "system_type_refused"


class UnknownSignal(InvalidInput):
    """No such signal in this project."""

    code = "unknown_signal"


class NotAllowed(PrismError):
    """The caller may not do this."""

    code = "not_allowed"


class ForeignProject(NotAllowed):
    """This session belongs to another project."""

    code = "foreign_project"


class IdentityMismatch(NotAllowed):
    """This session already speaks for another identity."""

    code = "identity_mismatch"


class NoIdentity(PrismError):
    """No identity is known for this session; call `prism_start` or set `PRISM_AGENT_IDENTITY`."""

    code = "no_identity"


class SessionReleased(PrismError):
    """This session has ended; call `prism_start` to open a new one."""

    code = "session_released"


class IdempotencyConflict(PrismError):
    """The idempotency key was used before for a signal with other content."""

    code = "idempotency_conflict"


class LimitReached(PrismError):
    """A limit that protects the agents was reached."""

    code = "limit_reached"


class RateLimited(LimitReached):
    """Too many signals in a short time; wait before sending the next."""

    code = "rate_limited"

    def __init__(self, message: str = "", *, retry_after: float = 0.0, **details: Any) -> None:
        super().__init__(message, retry_after=retry_after, **details)
        self.retry_after = retry_after
        """Seconds until the same call can succeed."""


class TooManyHops(LimitReached):
    """This chain of replies is too long; start a new thread, or ask the human."""

    code = "too_many_hops"


class InboxFull(LimitReached):
    """The recipient has too many pending signals; wait until some are read."""

    code = "inbox_full"


class Unavailable(PrismError):
    """Something needed is out of reach for now; the same call may succeed later."""

    code = "unavailable"


class StoreBusy(Unavailable):
    """The store stayed locked by other processes until the deadline; nothing was changed."""

    code = "store_busy"


class StoreUnavailable(Unavailable):
    """The store cannot be opened or reached; nothing was changed."""

    code = "store_unavailable"


class StrategyUnavailable(Unavailable):
    """A strategy's surface is not reachable from here; raised by a strategy while it opens."""

    code = "strategy_unavailable"


class ConfigurationError(PrismError):
    """The configuration cannot work as it is."""

    code = "configuration_error"


class InvalidSetting(ConfigurationError):
    """A setting has a value that cannot be used."""

    code = "invalid_setting"


class NoSuchPlugin(ConfigurationError):
    """The configuration names a plugin that is not installed."""

    code = "no_such_plugin"


class NoRoute(ConfigurationError):
    """No installed strategy serves this surface."""

    code = "no_route"


class UnsupportedSQLite(ConfigurationError):
    """The SQLite library of this Python is too old."""

    code = "unsupported_sqlite"


class SchemaTooNew(ConfigurationError):
    """The store was written by a newer version; upgrade Prism Signals to open it."""

    code = "schema_too_new"


@dataclass(frozen=True, slots=True)
class ErrorMeaning:
    """What a `code` means to each kind of caller.

    Attributes:
        exit_code: The command line's exit status.
        http_status: The HTTP status of the same error.
        retry: Whether the very same call may succeed later.
    """

    exit_code: int
    http_status: int
    retry: bool = False


ERROR_TABLE: dict[str, ErrorMeaning] = {
    PrismError.code: ErrorMeaning(1, 500),
    InvalidInput.code: ErrorMeaning(2, 422),
    InvalidName.code: ErrorMeaning(2, 422),
    InvalidProject.code: ErrorMeaning(2, 422),
    InvalidPayload.code: ErrorMeaning(2, 422),
    InvalidArgument.code: ErrorMeaning(2, 422),
    PayloadTooLarge.code: ErrorMeaning(2, 413),
    UnknownSignalType.code: ErrorMeaning(2, 422),
    SystemTypeRefused.code: ErrorMeaning(2, 422),
    UnknownSignal.code: ErrorMeaning(2, 404),
    NotAllowed.code: ErrorMeaning(3, 403),
    ForeignProject.code: ErrorMeaning(3, 403),
    IdentityMismatch.code: ErrorMeaning(3, 403),
    NoIdentity.code: ErrorMeaning(3, 401),
    SessionReleased.code: ErrorMeaning(3, 410),
    IdempotencyConflict.code: ErrorMeaning(4, 409),
    LimitReached.code: ErrorMeaning(4, 429, retry=True),
    RateLimited.code: ErrorMeaning(4, 429, retry=True),
    TooManyHops.code: ErrorMeaning(4, 409),
    InboxFull.code: ErrorMeaning(4, 429, retry=True),
    Unavailable.code: ErrorMeaning(5, 503, retry=True),
    StoreBusy.code: ErrorMeaning(5, 503, retry=True),
    StoreUnavailable.code: ErrorMeaning(5, 503, retry=True),
    StrategyUnavailable.code: ErrorMeaning(5, 503, retry=True),
    ConfigurationError.code: ErrorMeaning(6, 500),
    InvalidSetting.code: ErrorMeaning(6, 500),
    NoSuchPlugin.code: ErrorMeaning(6, 500),
    NoRoute.code: ErrorMeaning(6, 500),
    UnsupportedSQLite.code: ErrorMeaning(6, 500),
    SchemaTooNew.code: ErrorMeaning(6, 500),
}


def root_cause(error: BaseException) -> BaseException:
    """The first error inside an exception group, however deep; any other error is its own cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
