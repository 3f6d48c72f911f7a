"""What SQLite and the operating system complain about, as this project's own errors."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from prism_signals import InvalidInput, PrismError, StoreBusy, StoreUnavailable

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "reading or writing it failed; check the disk and its free space",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and is yours",
    sqlite3.SQLITE_READONLY: "it cannot be written; check the permissions of the file and folder",
    sqlite3.SQLITE_PERM: "it cannot be written; check the permissions of the file and folder",
    sqlite3.SQLITE_NOTADB: "it is no SQLite database; name another file in PRISM_STORE_URL",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away, or restore it from a copy",
}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, or 0 where the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_locked(error: BaseException) -> bool:
    """Whether another connection holds a lock that is needed."""
    return isinstance(error, sqlite3.Error) and primary_code(error) in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def translated(error: Exception, path: Path) -> Exception:
    """The error to raise instead; what is no driver's error is given back as it is."""
    if isinstance(error, PrismError):
        return error
    if is_locked(error):
        return busy(path)
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("A text has characters that are not Unicode (lone surrogates).")
    if isinstance(error, sqlite3.Error):
        advice = _ADVICE.get(primary_code(error), f"SQLite says: {error}")
        return StoreUnavailable(f"The store {path} cannot be used: {advice}.", path=str(path))
    if isinstance(error, OSError):
        return StoreUnavailable(
            f"The store {path} cannot be used: {error.strerror or error}. "
            "Check the permissions of the file and its folder, or set PRISM_STORE_URL.",
            path=str(path),
        )
    return error


def busy(path: Path) -> StoreBusy:
    """The error of a write that could not have its turn."""
    return StoreBusy(
        f"The store {path} stayed locked by other processes; nothing was changed. "
        "Try again; if it persists, look for a suspended process that has the file open.",
        path=str(path),
    )


def replaced(path: Path) -> StoreUnavailable:
    """The error where the file under our feet is not the one that was opened."""
    return StoreUnavailable(
        f"The store {path} was removed or replaced while in use; nothing was changed. "
        "Restart this process to use the file that is there now.",
        path=str(path),
    )
