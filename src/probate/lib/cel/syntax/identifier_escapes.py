"""Names of fields that are no names in expressions: `a-b` is written `a__dash__b`."""

from __future__ import annotations

import re

from probate.lib.cel.syntax.lexer import RESERVED

_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_BACK = {written: meant for meant, written in _ESCAPES.items()}
_MEANT = re.compile(r"__|[./-]")
_WRITTEN = re.compile(r"__(?:underscores|dot|dash|slash)__")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = RESERVED | {"true", "false", "null", "in"}


def escaped(name: str) -> str | None:
    """How an expression writes the name; None if it cannot."""
    if name in _WORDS:
        return f"__{name}__"
    written = _MEANT.sub(lambda match: _ESCAPES[match[0]], name)
    return written if _NAME.fullmatch(written) else None


def meant(written: str) -> str:
    """The name that an expression writes so."""
    inner = written[2:-2]
    if inner in _WORDS and written == f"__{inner}__":
        return inner
    return _WRITTEN.sub(lambda match: _BACK[match[0]], written)
