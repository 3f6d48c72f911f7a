"""The settings: `PRISM_NTFY_*`."""

from __future__ import annotations

from pydantic import BaseModel, Field, SecretStr


class NtfySettings(BaseModel):
    """Where to publish.

    A topic of ntfy needs no account, so its name is as good as a password: it is never shown.
    """

    url: str = Field(default="https://ntfy.sh", description="The ntfy server.")
    topic: SecretStr = Field(default=SecretStr(""), description="The topic to publish to.")
    token: SecretStr = Field(default=SecretStr(""), description="An access token, where needed.")
    max_chars: int = Field(
        default=900, ge=80, le=3000, description="The most characters of a peer's text."
    )
    timeout: float = Field(default=5.0, gt=0, description="Seconds to wait for the server.")
