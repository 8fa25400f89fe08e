"""Durations in command-line options and annotations: `200ms`, `90s`, `1h30m`, `3d12h`. In annotations also a number of seconds.

The syntax is Go's, extended with days and bare numbers. Options refuse bare numbers (`cli/option_groups`).
(Durations in Kubernetes' own fields are parsed as Kubernetes parses them.)
"""

from __future__ import annotations

import re

EXAMPLES = "200ms, 90s, 1h30m, 3d12h"
MAX_LENGTH = 100
MAX_SECONDS = 2**63 / 1e9
"""The maximum of Go's time.Duration: 292 years."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PART = re.compile(f"({_NUMBER})(ns|us|µs|μs|ms|s|m|h|d)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+|{_NUMBER}")


def seconds(text: str) -> float | None:
    """Returns the duration in seconds; None if the text is not a valid duration or exceeds the maximum."""
    text = text.strip()
    if len(text) > MAX_LENGTH or _WHOLE.fullmatch(text) is None:
        return None
    parts = _PART.findall(text)
    total = sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else float(text)
    return total if total < MAX_SECONDS else None
