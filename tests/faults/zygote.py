"""Starts real `prism mcp` processes in milliseconds, for a test that needs hundreds of them.

Nearly all of a start is importing. One process imports once and then only forks: each child is a
process of its own with its own environment and pipes, and runs the command from its first line.
Nothing is open in the parent, so that nothing is shared.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn, Self

_ENDLESS = 600.0
_MOST = 65_536


class Zygote:
    """The parent's side."""

    def __init__(self, root: Path) -> None:
        self._asking = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()], cwd=root,
                env={k: v for k, v in os.environ.items() if not k.startswith("PRISM_")},
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait(30)

    def start(self, env: Mapping[str, str], cwd: Path, errors: Path) -> Forked:
        """Start a `prism mcp`."""
        their_in, our_in = os.pipe()
        our_out, their_out = os.pipe()
        with errors.open("ab") as stderr:
            fds = [their_in, their_out, stderr.fileno()]
            request = json.dumps({"env": dict(env), "cwd": str(cwd)}).encode()
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
            with self._asking:
                self._socket.sendmsg([request], [rights])
                pid = int(self._socket.recv(32))
        os.close(their_in)
        os.close(their_out)
        return Forked(pid, os.fdopen(our_in, "wb"), os.fdopen(our_out, "rb"))


class Forked:
    """A process that is somebody else's child, held by a descriptor that no other can inherit.

    Attributes:
        pid: The process id.
        stdin: What it reads.
        stdout: What it writes.
    """

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._fd = os.pidfd_open(pid)

    def send_signal(self, sig: int) -> None:
        """Send it a POSIX signal, if it still runs."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._fd, sig)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit status is its parent's to know, so that this gives 0."""
        limit = _ENDLESS if timeout is None else timeout
        if not select.select([self._fd], [], [], limit)[0]:
            raise subprocess.TimeoutExpired("prism mcp", limit)
        return 0


def _serve(fd: int) -> None:
    import prism_signals_cli.main  # noqa: F401
    import prism_signals_gateway_mcp.serving  # noqa: F401
    from prism_signals import Registry

    Registry.discover()  # imports every plugin; a child discovers anew what its own path holds
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system collects them
    with socket.socket(fileno=fd) as requests:
        while True:
            data, rights, _, _ = requests.recvmsg(_MOST, socket.CMSG_SPACE(12))
            if not data:
                return
            fds = array.array("i")
            fds.frombytes(rights[0][2])
            pid = os.fork()
            if pid == 0:
                requests.close()
                _become(json.loads(data), list(fds))
            for one in fds:
                os.close(one)
            requests.sendall(str(pid).encode())


def _become(request: dict[str, Any], fds: list[int]) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = ["prism", "mcp"]
    status = 1
    try:
        from prism_signals_cli.main import main

        status = main()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
