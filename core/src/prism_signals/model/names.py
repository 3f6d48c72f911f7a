"""Identity names, project ids, and the scope that keeps projects apart."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ..errors import InvalidName, InvalidProject

BROADCAST = "*"
"""As a recipient: everyone on the project but the sender."""
SYSTEM = "system"
"""The reserved sender of system signals; no agent can take it."""

_LONGEST = 64
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
# Scripts whose letters are mistaken for one another (Unicode TS 39 §5.2): a name has one of them.
_CONFUSABLE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant and project that a signal or session belongs to; nothing crosses it."""

    tenant: str
    pid: str


@dataclass(frozen=True, slots=True)
class Name:
    """An identity's name.

    Attributes:
        display: As its owner writes it.
        canonical: As it is compared: NFKC, then casefold.
    """

    display: str
    canonical: str

    def __str__(self) -> str:
        return self.display

    def candidates(self) -> tuple[str, ...]:
        """Canonical names this one can reach, nearest first: itself, then each dotted parent."""
        parts = self.canonical.split(".")
        return tuple(".".join(parts[:n]) for n in range(len(parts), 0, -1))


def canonical(text: str) -> str:
    """The form in which names are compared, without checking that the name is valid."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def parse_name(text: str) -> Name:
    """Check a name and give both its forms.

    A name has 1 to 64 characters: letters, digits, `_`, `-` and `.`, with no leading, trailing or
    double dot. Letters of scripts that look alike (Latin, Cyrillic, Greek, …) are not mixed.

    Raises:
        InvalidName: The text breaks one of these rules; the message names the rule.
    """
    if not isinstance(text, str) or not text:
        raise InvalidName("A name must not be empty. Use 1 to 64 letters, digits, '_', '-' or '.'.")
    shown = _shown(text)
    compared = canonical(text)
    if len(text) > _LONGEST or len(compared) > _LONGEST:
        raise InvalidName(
            f"The name {shown} is too long ({max(len(text), len(compared))} characters). "
            f"Use at most {_LONGEST}."
        )
    for form in (text, compared):
        wrong = next((c for c in form if not (c.isalnum() or c in "_-.")), None)
        if wrong is not None:
            raise InvalidName(
                f"The name {shown} contains {_shown(wrong)}. "
                "Use only letters, digits, '_', '-' and '.'."
            )
        if form.startswith(".") or form.endswith(".") or ".." in form:
            raise InvalidName(f"The name {shown} has a leading, trailing or double dot. Remove it.")
    scripts = {unicodedata.name(c, "").split(" ")[0] for c in compared if c.isalpha()}
    if len(scripts & _CONFUSABLE) > 1:
        raise InvalidName(
            f"The name {shown} mixes look-alike scripts "
            f"({', '.join(sorted(scripts & _CONFUSABLE))}). Write it in one of them."
        )
    if compared == SYSTEM:
        raise InvalidName(f"The name {shown} is reserved for system signals. Choose another.")
    return Name(text, compared)


def parse_recipient(text: str) -> Name:
    """Like `parse_name`, and also accepts `*`.

    Raises:
        InvalidName: The text is neither a name nor `*`.
    """
    return Name(BROADCAST, BROADCAST) if text == BROADCAST else parse_name(text)


def parse_project(text: str) -> str:
    """Check a project id (`pid`) or a tenant.

    It has 1 to 128 characters of `A-Z a-z 0-9 . _ : -` and begins with a letter or digit.

    Raises:
        InvalidProject: It is empty or contains something else.
    """
    if not isinstance(text, str) or not _SLUG.fullmatch(text):
        raise InvalidProject(
            f"The project id {_shown(text)} is not valid. Use 1 to 128 letters, digits, "
            "'.', '_', ':' or '-', beginning with a letter or digit, for example PID-PGR01."
        )
    return text


def _shown(text: object) -> str:
    written = ascii(text)
    return written if len(written) <= 90 else written[:87] + "…'"
