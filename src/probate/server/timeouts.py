"""The `?timeout=30s` parameter, which any path accepts: how long the client waits for the response."""

from __future__ import annotations

import re

from probate.core import errors
from probate.server import query
from probate.server.query import Query

REQUEST_TIMEOUT_SECONDS = 60.0
"""How long a request may take, unless its client asks for less with `?timeout=`."""
MAX_DIGITS, MAX_LENGTH = 18, 100
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+")


def requested_timeout(parameters: Query) -> float | None:
    """Returns the timeout in seconds, at most REQUEST_TIMEOUT_SECONDS, or None if absent. Raises `BadRequest` if it is invalid."""
    text = query.first_value(parameters, "timeout")
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:MAX_DIGITS]) or REQUEST_TIMEOUT_SECONDS, REQUEST_TIMEOUT_SECONDS)
    if len(text) > MAX_LENGTH or _WHOLE.fullmatch(text) is None:
        message = "invalid timeout specified in the request URL: give a duration such as 30s or 1m30s"
        raise errors.BadRequest(f"{message}, not {text[:MAX_LENGTH]!r}")
    total = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return min(total or REQUEST_TIMEOUT_SECONDS, REQUEST_TIMEOUT_SECONDS)
