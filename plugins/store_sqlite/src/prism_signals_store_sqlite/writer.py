"""One thread that writes: every change is one job, one turn and one transaction.

Measured on two cores (medians): a hop to this thread and back costs 50 to 70 µs, one through
`anyio.to_thread` 105 to 150 µs, because nothing is looked up, borrowed or copied per call here. And
the connection with its prepared statements stays with the thread.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

import anyio
import anyio.lowlevel

from .faults import busy, is_locked, replaced, translated
from .turnstile import Turnstile

T = TypeVar("T")
Change = Callable[[sqlite3.Connection], T]

_MOST_WAITING = 1000
_CLOSE_WITHIN = 2.0  # seconds; a thread that waits behind a frozen process is left behind


class _Job(Generic[T]):
    """One change on its way. It is either run or abandoned, and never both."""

    __slots__ = ("_lock", "_post", "change", "done", "error", "level", "result", "state")

    def __init__(self, change: Change[T], level: str | None) -> None:
        self.change = change
        self.level = level
        self.state = "waiting"
        self.done = anyio.Event()
        self.result: T | None = None
        self.error: Exception | None = None
        self._lock = threading.Lock()
        # The loop's own way to be called from a thread, without a round trip: asyncio's and trio's
        # take the same arguments.
        loop: Any = anyio.lowlevel.current_token().native_token
        self._post = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon

    def move(self, to: str) -> bool:
        """Leave `waiting`; False where the other side was quicker."""
        with self._lock:
            if self.state != "waiting":
                return False
            self.state = to
        if to == "abandoned":
            self.change = _nothing  # the queue may keep it for long; let go of what it holds
        return True

    def tell(self) -> None:
        """Wake the task that waits for it."""
        try:
            self._post(self.done.set)
        except RuntimeError:  # its loop has ended, nobody waits
            return


class Writer:
    """Runs changes one after another in its own thread, each when this process has its turn.

    Args:
        connection: Only this thread uses it from now on; it is closed with the writer.
        path: The database file.
        durable: The level of `synchronous` for what must survive a power failure.
        deadline: Seconds a change may wait before it starts.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, *, durable: str, deadline: float
    ) -> None:
        self._connection, self._path = connection, path
        self._durable, self._deadline = durable, deadline
        self._turnstile = Turnstile(path)
        self._inode = _inode(path)
        self._level = ""
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._ended: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._work, name="prism-sqlite", daemon=True)
        self._thread.start()

    async def run(self, change: Change[T], *, durable: bool, transaction: bool = True) -> T:
        """Run a change in a transaction of its own.

        A cancelled call has not happened if the change had not begun, else it happens as a whole.

        Args:
            change: Gets the connection; what it returns is returned, what it raises undoes all.
            durable: It must survive a power failure (`synchronous=FULL`). Without, the commit
                survives the death of any process, and a power failure may undo the latest.
            transaction: False leaves transactions to the change.

        Raises:
            StoreBusy: It had to wait longer than the deadline; it will never run.
        """
        if self._jobs.qsize() >= _MOST_WAITING:
            raise busy(self._path)
        level = (self._durable if durable else "NORMAL") if transaction else None
        job = _Job(change, level)
        self._jobs.put(job)
        await self._wait(job)
        if job.error is not None:
            raise job.error
        return cast("T", job.result)  # None only where T is optional

    async def close(self) -> None:
        """End the thread once the changes before have run, and close its connection."""
        ended = _Job(_nothing, None)
        self._ended = ended.tell
        self._jobs.put(None)
        with anyio.move_on_after(_CLOSE_WITHIN, shield=True):
            await ended.done.wait()

    async def _wait(self, job: _Job[Any]) -> None:
        try:
            with anyio.move_on_after(self._deadline):
                await job.done.wait()
                return
        except anyio.get_cancelled_exc_class():
            if not job.move("abandoned"):
                with anyio.CancelScope(shield=True):
                    await job.done.wait()
            raise
        if job.move("abandoned"):
            raise busy(self._path)
        with anyio.CancelScope(shield=True):  # it has begun, and a transaction is short
            await job.done.wait()

    # -- in the thread ------------------------------------------------------------------------

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.state == "waiting":
                self._serve(job)
                job.tell()
        self._connection.close()
        self._turnstile.close()
        if self._ended is not None:
            self._ended()

    def _serve(self, job: _Job[Any]) -> None:
        try:
            self._turnstile.enter()
        except OSError as e:
            if job.move("running"):
                job.error = translated(e, self._path)
            return
        try:
            if self._begin(job) and job.move("running"):
                job.result = job.change(self._connection)
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")
        except Exception as e:  # noqa: BLE001 - whatever it is goes to the caller
            job.move("running")
            job.error = translated(e, self._path)
        finally:
            self._undo()
            self._turnstile.leave()

    def _begin(self, job: _Job[Any]) -> bool:
        """Begin the job's transaction; False where it was abandoned meanwhile."""
        if _inode(self._path) != self._inode:
            raise replaced(self._path)
        if job.level is None:
            return True
        if job.level != self._level:
            # executescript prepares afresh: this pragma works while it is prepared, so a prepared
            # statement from the cache would do nothing.
            self._connection.executescript(f"PRAGMA synchronous = {job.level}")
            self._level = job.level
        while job.state == "waiting":
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as e:
                if not is_locked(e):  # else someone writes without the turnstile: a person's tool
                    raise
            else:
                return True
        return False

    def _undo(self) -> None:
        if self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                return  # SQLite has already rolled back; the job carries the first error


def _nothing(_connection: sqlite3.Connection) -> Any:
    """The change of a job that is abandoned, or that only marks the end."""
    return None


def _inode(path: Path) -> tuple[int, int]:
    """Which file stands at this path now; nothing's inode where none does."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)
