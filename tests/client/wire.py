"""JSON-RPC over the pipes of one process: lines in, lines out."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

from .waiting import PATIENCE, Patience, until

Frame = dict[str, Any]


class RpcError(Exception):
    """The server answered a request with a JSON-RPC error."""

    def __init__(self, error: Frame) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.message = str(error.get("message"))


class Closed(Exception):
    """The process closed its end before it answered."""


class Process(Protocol):
    """What a wire needs of the process at its other end; `subprocess.Popen` has it."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """What it reads."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it writes."""

    def send_signal(self, sig: int) -> None:
        """Send it a POSIX signal."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and give its exit status."""


def start(command: Sequence[str], env: Mapping[str, str], cwd: Path, errors: Path) -> Process:
    """Start a process with pipes for a wire; its stderr goes into a file."""
    with errors.open("ab") as stderr:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=dict(env),
            cwd=cwd,
        )


class Wire:
    """One process and the frames it has written so far.

    Attributes:
        process: The process itself.
        frames: Every frame it wrote, oldest first.
    """

    def __init__(self, process: Process, errors: Path) -> None:
        self._errors = errors
        self.process = process
        assert process.stdout is not None
        self.frames: list[Frame] = []
        self._news = threading.Condition()
        self._ended = False
        self._last_id = 0
        self._write = threading.Lock()
        self._may_read = threading.Lock()
        self._reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reader.start()

    # -- frames -----------------------------------------------------------------------------

    def begin(self, method: str, params: Frame | None = None) -> int:
        """Send a request, and give its id without waiting."""
        with self._write:
            self._last_id += 1
            number = self._last_id
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return number

    def finish(self, number: int, within: float = PATIENCE) -> Frame:
        """Wait for the result of a request.

        Raises:
            RpcError: The answer is an error.
            Closed: There will be none.
        """
        frame = self.wait(
            lambda f: f.get("id") == number and ("result" in f or "error" in f),
            f"the answer to request {number}",
            within,
        )
        if "error" in frame:
            raise RpcError(frame["error"])
        result = frame["result"]
        assert isinstance(result, dict)
        return result

    def request(self, method: str, params: Frame | None = None, within: float = PATIENCE) -> Frame:
        """Send a request and wait for its result."""
        return self.finish(self.begin(method, params), within)

    def notify(self, method: str, params: Frame | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def send(self, frame: Frame) -> None:
        """Write one frame."""
        self.send_text(json.dumps(frame))

    def send_text(self, text: str) -> None:
        """Write one line as it is."""
        assert self.process.stdin is not None
        with self._write:
            try:
                self.process.stdin.write(text.encode() + b"\n")
                self.process.stdin.flush()
            except (BrokenPipeError, ValueError) as e:
                raise Closed("the process reads no more") from e

    def wait(
        self, wanted: Callable[[Frame], bool], what: str, within: float = PATIENCE, start: int = 0
    ) -> Frame:
        """The first frame from number `start` on that is wanted.

        Raises:
            Closed: The process ended without it.
            Patience: It did not come in time.
        """
        deadline = time.monotonic() + within
        looked = start
        with self._news:
            while True:
                for frame in self.frames[looked:]:
                    if wanted(frame):
                        return frame
                looked = len(self.frames)
                if self._ended:
                    raise Closed(f"ended without {what}. {self.last_words()}")
                left = deadline - time.monotonic()
                if left <= 0 or not self._news.wait(left):
                    raise Patience(f"not within {within:g} s: {what}. {self.last_words()}")

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        return self._errors.read_text("utf-8", "replace")[-2000:] if self._errors.exists() else ""

    # -- life -------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def ended(self) -> bool:
        """Whether it wrote its last frame."""
        return self._ended

    @contextmanager
    def unread(self) -> Iterator[None]:
        """Read nothing that it writes, after the frame that is being waited for."""
        with self._may_read:
            yield

    def kill(self) -> None:
        """End it as a crash would, if it still runs, and read what it had written."""
        self.process.send_signal(signal.SIGKILL)
        self._reap(PATIENCE)

    def freeze(self) -> None:
        """Stop it where it stands; when this returns, it stands."""
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: state(self.pid) in "TZX", "the process to stop")

    def thaw(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def close(self, within: float = PATIENCE) -> int:
        """Close its stdin and wait for its end; gives the exit status."""
        assert self.process.stdin is not None
        with self._write, suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self._reap(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Patience(f"alive {within:g} s after its stdin ended") from None

    def wait_for_end(self, within: float = PATIENCE) -> int:
        """Wait for it to end by itself."""
        return self._reap(within)

    def _reap(self, within: float) -> int:
        status = self.process.wait(within)
        self._reader.join(within)
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        return status

    def _read(self, pipe: IO[bytes]) -> None:
        while True:
            with self._may_read:
                pass
            line = pipe.readline()
            if not line:
                break
            frame = json.loads(line)
            with self._news:
                self.frames.append(frame)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


def alive(pid: int) -> bool:
    """Whether that process runs; one that has ended and was not collected does not."""
    return state(pid) not in "ZX"


def state(pid: int) -> str:
    """One letter of `ps`: `T` is stopped, `Z` ended and not collected, `X` no process at all."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            return stat.read_text("utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return "X"
    asked = ["ps", "-o", "stat=", "-p", str(pid)]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return told.strip()[:1] or "X"
