"""One build of every wheel, and one clean environment, shared by all tests here."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from devtools.environment import python_of
from devtools.layout import CONSTRAINTS, Distribution, distributions

ENVIRON = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}


class Wheel:
    """A built wheel, opened."""

    def __init__(self, source: Distribution, file: Path) -> None:
        self.source = source
        self.file = file
        with ZipFile(file) as archive:
            self.names = archive.namelist()
            (where,) = [n for n in self.names if n.endswith(".dist-info/METADATA")]
            self.metadata: Message = Parser().parsestr(archive.read(where).decode())
            self._licenses = [archive.read(n) for n in self.names if "/licenses/" in n]

    @property
    def requires(self) -> list[str]:
        """Its requirements, those of extras included."""
        return [str(r) for r in self.metadata.get_all("Requires-Dist", [])]

    @property
    def licenses(self) -> list[bytes]:
        """The license texts inside it."""
        return self._licenses


Wheels = dict[str, Wheel]


def checked(command: list[str | Path], cwd: Path) -> str:
    """Run a command that must succeed and give what it printed."""
    answer = subprocess.run(
        command, cwd=cwd, env=ENVIRON, capture_output=True, text=True, timeout=240
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout}\n{answer.stderr}"
    return answer.stdout


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    """Every distribution's wheel, by the distribution's name."""
    built = {}
    for d in distributions():
        folder = tmp_path_factory.mktemp(d.folder.name)
        built[d.name] = Wheel(d, build(d.folder, folder))
    return built


def build(source: Path, folder: Path) -> Path:
    """Build one wheel into this folder."""
    checked([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], source)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an empty environment far from the workspace."""
    return empty(tmp_path_factory.mktemp("clean"))


def empty(folder: Path) -> Path:
    """Make an environment with nothing in it; gives its Python."""
    venv.EnvBuilder(symlinks=os.name != "nt").create(folder)
    return python_of(folder)


def install(python: Path, *files: Path) -> None:
    """Install these wheels; what they need from outside comes from where pip is set up to look."""
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "-qq"]
    options = ["--disable-pip-version-check", "--no-input", "-c", str(CONSTRAINTS)]
    checked([*pip, *options, *files], python.parent)
