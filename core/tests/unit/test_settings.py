"""Settings: the environment, then the file, then defaults; mistakes are named, secrets are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr, model_validator

from prism_signals import (
    BackendURL,
    InvalidSetting,
    Settings,
    load_plugin_settings,
    unknown_variables,
)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in [n for n in os.environ if n.startswith("PRISM_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


class Own(BaseModel):
    url: str = "none"
    secret: SecretStr | None = None
    many: list[str] = []
    count: int = 1


def test_environment_beats_file_beats_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "prism.toml").write_text('agent_identity = "File"\nproject = "P-FILE"\n')
    monkeypatch.setenv("PRISM_AGENT_IDENTITY", "Env")
    s = Settings.load()
    assert (s.agent_identity, s.project, s.tenant) == ("Env", "P-FILE", "default")


def test_the_file_is_found_from_below(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "prism.toml").write_text('project = "UP"\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert Settings.load().project == "UP"


def test_a_named_file_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_CONFIG", "nowhere.toml")
    with pytest.raises(InvalidSetting, match=r"PRISM_CONFIG names nowhere\.toml"):
        Settings.load()


def test_what_is_no_json_names_the_variable_and_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STRATEGY_MAP", "{bad")
    with pytest.raises(InvalidSetting, match=r"PRISM_STRATEGY_MAP is not valid JSON.*example"):
        Settings.load()


def test_a_value_inside_is_named_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STRATEGY_MAP", '{"codex": 5}')
    with pytest.raises(InvalidSetting, match=r"PRISM_STRATEGY_MAP\.codex"):
        Settings.load()


def test_a_file_that_is_no_text_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "prism.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSetting, match=r"prism\.toml is not valid TOML"):
        Settings.load()


def test_a_rule_about_several_settings_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Both(Own):
        @model_validator(mode="after")
        def _check(self) -> Both:
            raise ValueError("url needs a secret")

    with pytest.raises(InvalidSetting, match=r"PRISM_MY_PLUG_\*: .*url needs a secret"):
        load_plugin_settings("my-plug", Both)


def test_the_strategy_map_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STRATEGY_MAP", '{"codex": "a", "cursor": ["b", "c"]}')
    assert Settings.load().strategy_map == {"codex": "a", "cursor": ["b", "c"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PRISM_DELIVERY_WAIT", "soon"),
        ("PRISM_MAX_HOPS", "0"),
        ("PRISM_STRATEGY_MAP", "{"),
        ("PRISM_PROBE", "perhaps"),
    ],
)
def test_a_bad_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSetting) as caught:
        Settings.load()
    assert name.removeprefix("PRISM_").lower() in caught.value.message.lower()


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "prism.toml").write_text("= nonsense")
    with pytest.raises(InvalidSetting, match=r"prism\.toml"):
        Settings.load()


def test_a_secret_is_in_no_message_and_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_STORE_URL", "postgresql://me:hunter2@db/x")
    monkeypatch.setenv("PRISM_MAX_HOPS", "x")
    with pytest.raises(InvalidSetting) as caught:
        Settings.load()
    assert "hunter2" not in caught.value.message
    monkeypatch.delenv("PRISM_MAX_HOPS")
    assert "hunter2" not in repr(Settings.load())


def test_a_plugins_own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "prism.toml").write_text('[my_hook]\nurl = "file"\ncount = 5\n')
    monkeypatch.setenv("PRISM_MY_HOOK_URL", "env")
    monkeypatch.setenv("PRISM_MY_HOOK_MANY", '["a"]')
    monkeypatch.setenv("PRISM_MY_HOOK_SECRET", "s3cret")
    own = load_plugin_settings("my_hook", Own)
    assert (own.url, own.count, own.many) == ("env", 5, ["a"])
    assert own.secret is not None
    assert own.secret.get_secret_value() == "s3cret"
    monkeypatch.setenv("PRISM_MY_HOOK_COUNT", "many")
    with pytest.raises(InvalidSetting, match="PRISM_MY_HOOK_COUNT"):
        load_plugin_settings("my_hook", Own)


def test_unknown_variables_are_found() -> None:
    environ = {
        "PRISM_AGENT_IDENTITY": "",
        "PRISM_AGENT_IDENTTY": "",
        "PRISM_MY_HOOK_URL": "",
        "PRISM_MY_HOOK_ULR": "",
        "PATH": "",
        "PRISM_CONFIG": "",
    }
    assert unknown_variables(environ, {"my_hook": Own, "other": None}) == [
        "PRISM_AGENT_IDENTTY",
        "PRISM_MY_HOOK_ULR",
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///var/lib/a@b/x.db", "sqlite:///var/lib/a@b/x.db"),
        ("sqlite:///x.db?synchronous=FULL", "sqlite:///x.db?…"),
        ("memory:", "memory:"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("postgresql://lola:secret@host:5432/db", "postgresql://…@host:5432/db"),
        ("postgresql://lola:se@cr/et@host/db", "postgresql://…@host/db"),
        ("postgresql://host/db?password=secret", "postgresql://host/db?…"),
        ("postgresql://host/db?password=se@cret", "postgresql:…"),
        ("postgresql://lola:se?cret@host/db", "postgresql:…"),
        ("postgresql:///lola:secret@host/db", "postgresql://…@host/db"),
        ("nothing:secret@host", "nothing://…@host"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert BackendURL(url).redacted == shown
