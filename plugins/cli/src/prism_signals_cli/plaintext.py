"""What goes to the terminal: plain text and plain JSON, in which peer text can do nothing.

A peer's text may hold escape sequences that move the cursor or retitle the window, and invisible
characters that turn the reading direction around. They are shown as escapes. The joiners that emoji
and some scripts need stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, TextIO

# C0 without tab and newline, DEL and C1; soft hyphen; direction marks, embeddings, overrides and
# isolates; zero width space and no-break space; line and paragraph separators; word joiner and
# other invisible operators; interlinear annotation; tag characters; lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with everything that could act on a terminal written as an escape."""
    return _UNSAFE.sub(lambda m: ascii(m[0])[1:-1], text)


def one_line(text: str) -> str:
    """Like `visible`, and line breaks and tabs are escaped too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def as_json(value: Any, *, ascii_only: bool = False) -> str:
    """A value as JSON on one line; unsafe characters stand in it as JSON's own escapes."""
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(", ", ": "))
    return _UNSAFE.sub(lambda m: json.dumps(m[0])[1:-1], text)


def say(*lines: str) -> None:
    """Write lines to stdout. They were made safe where peer text went into them."""
    _write(sys.stdout, "\n".join(lines))


def say_json(value: Any) -> None:
    """Write one JSON document as one line to stdout."""
    _write(sys.stdout, as_json(value, ascii_only=not _speaks_unicode(sys.stdout)))


def complain(text: str) -> None:
    """Write to stderr."""
    _write(sys.stderr, text)


def draws_lines() -> bool:
    """Whether stdout can show line-drawing characters."""
    return _speaks_unicode(sys.stdout)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    shown = text.encode(encoding, "backslashreplace").decode(encoding)
    stream.write(f"{shown}\n")
    stream.flush()


def _speaks_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("-", "").replace("_", "") == "utf8"
