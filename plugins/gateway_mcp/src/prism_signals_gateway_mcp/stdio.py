"""Takes standard input and output for the protocol, so that nothing else can write into it."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass

_STDIN, _STDOUT, _STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Streams:
    """The two file descriptors that the protocol runs on."""

    read: int
    write: int


@contextmanager
def claimed_stdio() -> Iterator[Streams]:
    """Own standard input and output for a while.

    Meanwhile whoever reads standard input sees its end, and whatever is printed, also by a child
    process, goes to standard error. Both are as before afterwards.

    Raises:
        OSError: Standard input or output is closed.
    """
    sys.stdout.flush()
    streams = Streams(_duplicate(_STDIN), _duplicate(_STDOUT))
    blocking = os.get_blocking(streams.write)
    try:
        _point(_STDIN, os.open(os.devnull, os.O_RDONLY))
        _point(_STDOUT, _stray_output())
        if _is_pipe(streams.write):
            os.set_blocking(streams.write, False)  # a client that does not read must not stop us
        with redirect_stdout(sys.stderr):
            yield streams
    finally:
        sys.stdout.flush()  # what was buffered belongs to standard error, not into the protocol
        os.set_blocking(streams.write, blocking)
        _point(_STDIN, streams.read)
        _point(_STDOUT, streams.write)


def _duplicate(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)


def _point(fd: int, at: int) -> None:
    os.dup2(at, fd)
    os.close(at)


def _stray_output() -> int:
    try:
        return _duplicate(_STDERR)
    except OSError:  # standard error is closed
        return os.open(os.devnull, os.O_WRONLY)


def _is_pipe(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
