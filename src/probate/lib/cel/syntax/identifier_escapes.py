"""Escapes field names that are not identifiers of the language: `a-b` is written `a__dash__b`."""

from __future__ import annotations

import re

from probate.lib.cel.syntax.lexer import RESERVED

_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES = {escape: text for text, escape in _ESCAPES.items()}
_SPECIAL = re.compile(r"__|[./-]")
_ESCAPED = re.compile(r"__(?:underscores|dot|dash|slash)__")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = RESERVED | {"true", "false", "null", "in"}


def escape(name: str) -> str | None:
    """Escapes a field name; None if an expression cannot contain it."""
    if name in _KEYWORDS:
        return f"__{name}__"
    written = _SPECIAL.sub(lambda match: _ESCAPES[match[0]], name)
    return written if _NAME.fullmatch(written) else None


def unescape(written: str) -> str:
    """Returns the field name for an escaped identifier."""
    inner = written[2:-2]
    if inner in _KEYWORDS and written == f"__{inner}__":
        return inner
    return _ESCAPED.sub(lambda match: _UNESCAPES[match[0]], written)
