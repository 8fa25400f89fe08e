"""How long a client is ready to wait: `?timeout=30s`, at any path."""

from __future__ import annotations

import re

from probate.core import errors
from probate.server import query
from probate.server.context import PATIENCE
from probate.server.query import Query

MAX_DIGITS, MAX_LENGTH = 18, 100
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+")


def seconds(asked: Query) -> float | None:
    """How long the client is ready to wait, if it says so; `BadRequest` if that is no length of time."""
    text = query.first(asked, "timeout")
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:MAX_DIGITS]) or PATIENCE, PATIENCE)
    if len(text) > MAX_LENGTH or _WHOLE.fullmatch(text) is None:
        told = "invalid timeout specified in the request URL: give a length of time such as 30s or 1m30s"
        raise errors.BadRequest(f"{told}, not {text[:MAX_LENGTH]!r}")
    found = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return min(found or PATIENCE, PATIENCE)
