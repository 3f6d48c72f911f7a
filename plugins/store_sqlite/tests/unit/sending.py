"""What these tests send, and processes that send it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from prism_signals import (
    BackendURL,
    Claim,
    Clock,
    Posting,
    Scope,
    SessionId,
    Signal,
    Store,
    SystemClock,
    new_session_id,
    new_signal_id,
    parse_recipient,
)
from prism_signals_store_sqlite import open_store
from prism_signals_store_sqlite.url import url_of

SCOPE = Scope("default", "PID-TEST01")
ROOT = Path(__file__).resolve().parents[4]


def posting(to: str = "Donna", content: str = "Is it done?", **options: Any) -> Posting:
    """A Question from Lola."""
    signal_id = new_signal_id()
    options.setdefault("expects_action", True)
    signal = Signal(
        signal_id=signal_id,
        tenant=SCOPE.tenant,
        pid=SCOPE.pid,
        from_identity="Lola",
        from_session=new_session_id(),
        to_identity=to,
        signal_type="Question",
        payload={"message": content},
        created_at=SystemClock().now(),
        thread_id=signal_id,
    )
    return Posting(signal, parse_recipient(to), "lola", **options)


def claim(session: SessionId | None = None, **options: Any) -> Claim:
    """A push claim of one of Donna's sessions."""
    options.setdefault("limit", 100)
    return Claim(SCOPE, "donna", session or new_session_id(), **options)


def opened(
    path: Path, query: str = "", clock: Clock | None = None
) -> AbstractAsyncContextManager[Store]:
    """The file as a store."""
    return open_store(BackendURL(url_of(path) + query), clock or SystemClock())


@contextmanager
def running(module: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """One of these tests' helper programs; it is killed with the context if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.{module}", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def told(process: subprocess.Popen[str]) -> str:
    """The next line of a helper program."""
    return pipe(process.stdout).readline().strip()


def pipe(stream: IO[str] | None) -> IO[str]:
    """A pipe that is there."""
    assert stream is not None
    return stream
