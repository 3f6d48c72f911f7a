"""`prism new-strategy`."""

from __future__ import annotations

from pathlib import Path

import click

from ..new_strategy import drafted, write
from ..options import json_option
from ..plaintext import one_line, say, say_json


@click.command("new-strategy")
@click.argument("name")
@click.option(
    "--dir",
    "parent",
    metavar="FOLDER",
    default=".",
    help="Where the folder strategy_NAME is made. Default: here.",
)
@json_option
def new_strategy(name: str, parent: str, as_json: bool) -> int:
    """Write the folder to start a strategy from: it works, and its tests pass.

    NAME is also that of its entry point and of the surface it serves. Nothing is overwritten.
    """
    draft = drafted(name, Path(parent))
    written = write(draft)
    following = [
        f"pip install -e '{draft.folder}[dev]'",
        f"pytest {draft.folder}",
        f"prism strategies --surface {name}",
    ]
    if as_json:
        say_json(
            {
                "name": name,
                "folder": str(draft.folder),
                "distribution": draft.distribution,
                "package": draft.package,
                "files": [f.as_posix() for f in written],
                "next": following,
            }
        )
        return 0
    say(f"Wrote {one_line(str(draft.folder))}:", *(f"  {f.as_posix()}" for f in written))
    say("What comes next:", *(f"  {one_line(line)}" for line in following))
    say(f"Then put your surface into src/{draft.package}/strategy.py.")
    return 0
