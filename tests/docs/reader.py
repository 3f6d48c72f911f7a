"""A reader who follows a page to the letter: types its commands, writes its files, looks."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

from tests.client import PATIENCE, Gateway, World
from tests.client.wire import start

from .pages import Block

_ID = re.compile(r"^  id ([0-9a-f-]{36})", re.MULTILINE)


class Reader:
    """One page's folder, variables, and what was printed last.

    Args:
        world: Whose folder it uses. The store is where it is without any setting.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._env = world.environ()
        del self._env["PRISM_STORE_URL"]
        self._env["PATH"] = f"{Path(sys.executable).parent}:{self._env['PATH']}"
        self._printed = ""

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.mark == "prints":
            self._compare(block)
        elif block.detail.startswith("id "):
            self._env[block.detail.removeprefix("id ")] = self._last_id()
        elif block.detail.startswith("file "):
            (self._world.folder / block.detail.removeprefix("file ")).write_text(
                block.text, "utf-8"
            )
        elif block.detail.startswith("install "):
            self._install(self._world.folder / block.detail.removeprefix("install "))
        elif block.detail == "mcp entry":
            self._start_servers(block)
        else:
            self._run(block)

    def _run(self, block: Block) -> None:
        status = int(block.detail.removeprefix("exit ")) if block.detail else 0
        match block.language:
            case "sh":
                self._shell(block, status)
            case "sql":
                self._query(block)
            case "json":
                json.loads(block.text)
            case "toml":
                tomllib.loads(block.text)
            case _:
                raise AssertionError(f"{block}: nobody can run {block.language!r}")

    def _shell(self, block: Block, status: int) -> None:
        kept = self._world.folder / "variables"
        kept.unlink(missing_ok=True)
        script = f"trap 'env -0 > {shlex.quote(str(kept))}' EXIT\n{block.text}\n"
        done = subprocess.run(
            ["bash", "-eu", "-c", script],
            env=self._env,
            cwd=self._world.folder,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert done.returncode == status, f"{block}: exit {done.returncode}\n{done.stderr}"
        self._saw(done.stdout + (done.stderr if status else ""))
        pairs = (v.partition("=") for v in kept.read_text("utf-8").split("\0") if v)
        self._env = {name: value for name, _, value in pairs}

    def _install(self, distribution: Path) -> None:
        """What `pip install -e` does, for this page's processes only and without a network."""
        site = self._world.folder / "site-packages"
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
        command += ["--disable-pip-version-check", "--target", str(site), str(distribution)]
        subprocess.run(command, check=True, capture_output=True, timeout=2 * PATIENCE)
        self._env["PYTHONPATH"] = f"{distribution / 'src'}:{site}"

    def _query(self, block: Block) -> None:
        (store,) = self._world.folder.rglob("prism.db")
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            rows = db.execute(block.text).fetchall()
        self._saw("\n".join("|".join("" if v is None else str(v) for v in row) for row in rows))

    def _start_servers(self, block: Block) -> None:
        servers = json.loads(block.text)["mcpServers"]
        assert servers
        for entry in servers.values():
            command = [entry["command"], *entry["args"]]
            errors = self._world.folder / "stderr"
            env = {**self._env, **entry["env"]}
            process = start(command, env, self._world.folder, errors)
            gateway = self._world.adopt(Gateway(process, errors, entry["env"]["PRISM_PROJECT"]))
            gateway.initialize()
            assert gateway.start()["context"]["identity"] == entry["env"]["PRISM_AGENT_IDENTITY"]
            assert gateway.close() == 0

    def _last_id(self) -> str:
        """The id of the last signal that was printed."""
        return str(_ID.findall(self._printed)[-1])

    def _saw(self, text: str) -> None:
        self._printed = text

    def _compare(self, block: Block) -> None:
        parts = [re.escape(p) for p in block.text.strip().split("…")]
        printed = "\n".join(line.rstrip() for line in self._printed.strip().splitlines())
        assert re.fullmatch(".*?".join(parts), printed, re.DOTALL), (
            f"{block} says\n{block.text}\nand this was printed:\n{printed}"
        )
