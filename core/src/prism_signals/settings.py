"""Settings: `PRISM_*` variables, then `prism.toml`, then defaults. Nothing is read at import."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from .errors import InvalidSetting

PREFIX = "PRISM_"
CONFIG_FILE = "prism.toml"
CONFIG_VARIABLE = "PRISM_CONFIG"

M = TypeVar("M", bound=BaseModel)
_FIELD = re.compile(r'field "(\w+)"')
_JSON = '["a", "b"] or {"claude_code": "piggyback"}'


class Settings(BaseSettings):
    """Everything that can be set. Each field is `PRISM_<FIELD>` in the environment.

    Durations are in seconds. Where a field holds a list or an object, the variable holds JSON.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        validate_default=False,
        env_ignore_empty=True,
    )

    agent_identity: str | None = Field(None, description="The identity this agent speaks for.")
    agent_surface: str | None = Field(
        None, description="Where the agent lives: claude_code, claude_desktop, codex, cursor, …"
    )
    project: str | None = Field(None, description="The project id (pid) this agent works on.")
    tenant: str = Field("default", description="The tenant the project belongs to.")
    master: bool = Field(False, description="This agent is the project's declared master.")
    store_url: SecretStr | None = Field(
        None, description="Where signals are kept. Default: one SQLite file of this user."
    )
    directory_url: SecretStr | None = Field(
        None, description="Where sessions are kept. Default: the same as the store."
    )
    bus_url: SecretStr | None = Field(
        None, description="What rings sessions. Default: the same as the directory."
    )
    strategy_map: dict[str, str | list[str]] = Field(
        default_factory=dict,
        description="Overrides the route of a surface: surface to strategy name, or to a list.",
    )
    signal_types: list[str] = Field(
        default_factory=list, description="Further signal types, accepted with any JSON object."
    )
    rules_reminders: list[str] = Field(
        default_factory=list, description="Usage rules that prism_start repeats to the agent."
    )
    delivery_wait: float = Field(
        0.5,
        ge=0,
        le=30,
        description="How long prism_signal waits for a live recipient's delivery to settle.",
    )
    delivery_deadline: float = Field(
        10.0, gt=0, le=300, description="How long a strategy may take for one signal."
    )
    register_after: float = Field(
        2.0,
        ge=0,
        le=60,
        description="A configured session registers by itself this long after the handshake.",
    )
    heartbeat: float = Field(
        30.0, gt=0, description="Time between heartbeats; a session without ends after 90 s."
    )
    engaged_window: float = Field(
        600.0,
        ge=0,
        description="After a verb, signals whose type does not wake are still pushed this long "
        "through a strategy that cannot show them without starting a turn.",
    )
    reoffer_after: float = Field(
        10.0, ge=0, description="An unconfirmed hand-over is offered again after this time."
    )
    max_attempts: int = Field(8, ge=1, description="Push attempts of unknown end before the floor.")
    max_payload: int = Field(65_536, ge=1, description="The most bytes of a payload's JSON form.")
    max_hops: int = Field(16, ge=1, description="The most replies between a signal and its root.")
    sender_per_minute: int = Field(30, ge=1, description="Signals a minute from one sender.")
    pair_per_minute: int = Field(20, ge=1, description="Signals a minute between two identities.")
    pair_per_hour: int = Field(200, ge=1, description="Signals an hour between two identities.")
    thread_per_minute: int = Field(20, ge=1, description="Signals a minute in one thread.")
    inbox_cap: int = Field(10_000, ge=1, description="The most pending signals per recipient.")
    answer_signals: int = Field(20, ge=1, description="The most signals attached to one answer.")
    answer_bytes: int = Field(16_384, ge=512, description="The most bytes attached to one answer.")
    audience_days: float = Field(
        7.0, ge=0, description="A broadcast reaches identities seen within this many days."
    )
    broadcast_days: float = Field(7.0, gt=0, description="A broadcast's deliveries expire then.")
    retention_days: float = Field(30.0, ge=0, description="Finished signals are archived then.")
    probe: bool = Field(False, description="Serve, but leave no trace: no session, no presence.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Explicit arguments, then the environment, then the file; no dotenv, no secrets folder."""
        file = find_config()
        sources: tuple[PydanticBaseSettingsSource, ...] = (init_settings, env_settings)
        return (*sources, TomlConfigSettingsSource(settings_cls, file)) if file else sources

    @classmethod
    def load(cls, **explicit: Any) -> Settings:
        """Read the settings now.

        Raises:
            InvalidSetting: A value cannot be used; the message names the setting, never a secret.
        """
        try:
            return cls(**explicit)
        except (ValidationError, tomllib.TOMLDecodeError, ValueError) as e:
            raise InvalidSetting(_explain(e)) from None

    def seconds(self, field: str) -> timedelta:
        """A duration field as a timedelta."""
        return timedelta(seconds=float(getattr(self, field)))


def find_config(start: Path | None = None) -> Path | None:
    """The file that is read: `PRISM_CONFIG`, else the nearest `prism.toml` from here upwards.

    Raises:
        InvalidSetting: `PRISM_CONFIG` names a file that does not exist.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise InvalidSetting(f"{CONFIG_VARIABLE} names {named}, which is not a file.")
        return Path(named)
    here = start or Path.cwd()
    return next((f for d in (here, *here.parents) if (f := d / CONFIG_FILE).is_file()), None)


def load_plugin_settings(plugin: str, model: type[M]) -> M:
    """Read a plugin's own settings from `PRISM_<PLUGIN>_*` and the file's table `[<plugin>]`.

    Raises:
        InvalidSetting: A value cannot be used; the message names the setting, never a secret.
    """
    prefix = plugin_prefix(plugin)
    table = {}
    file = find_config()
    try:
        if file is not None:
            table = tomllib.loads(file.read_text("utf-8")).get(plugin, {})
        reader: type[BaseSettings] = type(
            f"{model.__name__}Reader",
            (model, BaseSettings),
            {
                "model_config": SettingsConfigDict(
                    env_prefix=prefix,
                    extra="ignore",
                    hide_input_in_errors=True,
                    env_ignore_empty=True,
                )
            },
        )
        known = reader.model_fields
        from_env = {f for f in known if os.environ.get(f"{prefix}{f.upper()}")}
        read = reader(**{k: v for k, v in table.items() if k in known and k not in from_env})
        return model.model_validate(read.model_dump())
    except (ValidationError, tomllib.TOMLDecodeError, ValueError) as e:
        raise InvalidSetting(_explain(e, prefix)) from None


def plugin_prefix(plugin: str) -> str:
    """How the environment variables of a plugin's own settings begin."""
    return f"{PREFIX}{plugin.upper().replace('-', '_')}_"


def unknown_variables(
    environ: Mapping[str, str], plugin_models: Mapping[str, type[BaseModel] | None]
) -> list[str]:
    """`PRISM_*` variables that nothing reads, sorted; a misspelt setting is found this way."""
    known = {f"{PREFIX}{f.upper()}" for f in Settings.model_fields} | {CONFIG_VARIABLE}
    for plugin, model in plugin_models.items():
        if model is not None:
            known |= {f"{plugin_prefix(plugin)}{f.upper()}" for f in model.model_fields}
    return sorted(v for v in environ if v.startswith(PREFIX) and v not in known)


def _variable(prefix: str, where: Sequence[str | int]) -> str:
    first, *inside = where or ("*",)
    return ".".join([f"{prefix}{first}".upper(), *map(str, inside)])


def _explain(error: Exception, prefix: str = PREFIX) -> str:
    if isinstance(error, ValidationError):
        parts = [
            f"{_variable(prefix, e['loc'])}: {e['msg']}"
            for e in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        return "These settings cannot be used: " + "; ".join(parts) + "."
    if isinstance(error, SettingsError):
        named = _FIELD.search(str(error))
        where = f"{prefix}{named[1].upper()}" if named else "A setting"
        return f"{where} is not valid JSON. It holds a list or an object, for example {_JSON}."
    if isinstance(error, (tomllib.TOMLDecodeError, UnicodeDecodeError)):
        return f"{CONFIG_FILE} is not valid TOML: {error}."
    return f"A setting cannot be used: {error}."
