"""A strategy that is none of ours, and ours as anybody gets them: installed, judged, used."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devtools.layout import ROOT, distributions

from .conftest import Wheels, build, checked, empty, install
from .test_clean_install import DISCOVER, ask
from .test_wheels import META, MOST_PEOPLE

pytestmark = pytest.mark.timeout(300)

EXAMPLE = ROOT / "examples" / "strategy_ntfy"
KIT = "prism-signals-testkit"
REPORTS = json.loads((ROOT / "docs/reference/support-matrix.json").read_text("utf-8"))["reports"]
DELIVER = """\
import json, os
import anyio
from prism_ntfy.conformance import NtfyServer, TOKEN, TOPIC
from prism_signals import Prism

server = NtfyServer()
os.environ.update(
    PRISM_STORE_URL="sqlite:///{folder}/prism.db",
    XDG_RUNTIME_DIR="{folder}",
    PRISM_PROJECT="PID-NTFY1",
    PRISM_AGENT_SURFACE="ntfy",
    PRISM_DELIVERY_WAIT="20",
    PRISM_NTFY_URL=f"http://127.0.0.1:{{server.port}}",
    PRISM_NTFY_TOPIC=TOPIC,
    PRISM_NTFY_TOKEN=TOKEN,
)

async def main():
    with anyio.fail_after(60):
        async with Prism.open() as prism, prism.host() as donna, prism.host() as lola:
            await donna.start(agent_identity="Donna")
            await lola.start(agent_identity="Lola")
            answer = await lola.signal("PID-NTFY1", "Donna", "Question", {{"message": "Done?"}})
            told = await lola.status(signal_id=answer["signal_id"])
    print(json.dumps({{"messages": server.messages, "answer": answer, "told": told}}))

anyio.run(main)
server.stop()
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory, wheels: Wheels) -> Path:
    """An environment with core, one store, the kit, and the strategy of a third party."""
    assert EXAMPLE not in [d.folder for d in distributions()], "it stands outside the workspace"
    copy = tmp_path_factory.mktemp("author") / EXAMPLE.name
    shutil.copytree(EXAMPLE, copy)
    file = build(copy, tmp_path_factory.mktemp("ntfy"))
    python = empty(tmp_path_factory.mktemp("theirs"))
    ours = ("prism-signals-core", "prism-signals-store-sqlite", KIT)
    install(python, file, *(wheels[n].file for n in ours))
    return python


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, wheels: Wheels) -> Path:
    """An environment with what most people install, and the kit."""
    python = empty(tmp_path_factory.mktemp("everything"))
    install(python, *(wheels[n].file for n in (META, *sorted(MOST_PEOPLE), KIT)))
    return python


@pytest.fixture(scope="module")
def reports(everything: Path) -> Mapping[str, Any]:
    """What `prism conformance` says there, by plugin."""
    command: list[str | Path] = [everything.parent / "prism", "conformance", "--all", "--json"]
    told = json.loads(checked(command, everything.parent))["reports"]
    return {r["plugin"]: r for r in told}


def test_it_is_found_by_its_entry_point_alone(theirs: Path) -> None:
    found = ask(theirs, DISCOVER)
    assert found["problems"] == []
    assert found["strategies"] == ["ntfy"]
    assert "prism-ntfy" in found["origins"]


def test_its_own_tests_pass_far_from_here(theirs: Path, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "tests"):
        source = EXAMPLE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    said = checked([theirs, "-m", "pytest", "-p", "no:cacheprovider"], tmp_path)
    passed = re.search(r"(\d+) passed", said)
    assert passed, said
    assert int(passed[1]) > len(REPORTS)
    assert "failed" not in said


@pytest.mark.parametrize("plugin", ["ntfy", "store_sqlite", "memory"])
def test_the_kit_says_so_too(theirs: Path, plugin: str) -> None:
    command: list[str | Path] = [theirs, "-m", "prism_signals_testkit", plugin, "--json"]
    report = json.loads(checked(command, theirs.parent))
    assert report["verdict"] == "passed"
    assert not report["unchecked"]
    assert {c["status"] for c in report["clauses"].values()} <= {"passed", "skipped"}
    if plugin == "ntfy":
        skipped = [n for n, c in report["clauses"].items() if c["status"] == "skipped"]
        assert (report["contracts"], skipped) == (["plugin", "strategy"], [])


def test_it_delivers(theirs: Path, tmp_path: Path) -> None:
    answer = ask(theirs, DELIVER.format(folder=tmp_path))
    (message,) = answer["messages"]
    assert message.startswith('📨 Signal from Lola (Question): "Done?"')
    assert answer["answer"]["delivered"] is True
    (delivery,) = answer["told"]["deliveries"]
    assert delivery["delivery_method"] == "ntfy"
    assert delivery["confirmed_at"] is None


def test_every_plugin_of_ours_is_judged_from_its_wheel(reports: Mapping[str, Any]) -> None:
    assert set(reports) == {r["plugin"] for r in REPORTS}


@pytest.mark.parametrize("committed", REPORTS, ids=lambda r: str(r["plugin"]))
def test_a_plugin_of_ours_passes_from_its_wheel(
    reports: Mapping[str, Any], committed: Mapping[str, Any]
) -> None:
    report = dict(reports[committed["plugin"]])
    # Trio is not among what people install.
    assert report.pop("event_loops") == [n for n in committed["event_loops"] if n != "trio"]
    assert report == {k: v for k, v in committed.items() if k != "event_loops"}
