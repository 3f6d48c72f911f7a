"""Where the sources and the tracked files are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from devtools.layout import ROOT


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file that git tracks and that is there, relative to the root."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        if os.environ.get("TESTS_REQUIRE_SERVICES"):
            pytest.fail("this needs git and a clone")
        pytest.skip("this needs git and a clone")
    command = [git, "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=30)
    names = [Path(os.fsdecode(n)) for n in answer.stdout.split(b"\0") if n]
    return [n for n in names if (ROOT / n).is_file()]
