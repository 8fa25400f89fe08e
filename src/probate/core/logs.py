"""The process's log on standard error: one line per event, for people (text) or for machines (JSON).

A line has a constant message and facts, so that it can be searched and counted:

    log.info("deleted", extra=facts(what="pods", name="web-1", because="owner ReplicaSet web (…) is gone"))

    text   2026-01-01T00:00:00.000Z INFO probate.gc.collector: deleted what=pods name=web-1 because="owner ReplicaSet web (…) …"
    json   {"time":"2026-01-01T00:00:00.000Z","level":"INFO","logger":"probate.gc.collector","message":"deleted","what":"pods",…}

Formatting a line costs more than many of the events that are logged: a caller with thousands of events checks `log.isEnabledFor`
first, once.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


def facts(**values: Any) -> dict[str, Any]:
    """Returns the `extra` of a log line with these facts. Omits empty values."""
    return {"facts": {name: value for name, value in values.items() if value}}


def configure(level: str, format_: str, stream: TextIO | None = None) -> None:
    """Writes Probate's lines of this level and above to `stream` (standard error), and warnings and errors of libraries."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Json() if format_ == "json" else Text())
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, _level_number(level)), force=True)
    logging.getLogger("probate").setLevel(_level_number(level))


class Text(logging.Formatter):
    """Formats lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}"
        line += "".join(f" {name}={_quote(value)}" for name, value in _facts(record).items())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class Json(logging.Formatter):
    """Formats lines for machines: one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        error = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return orjson.dumps({**line, **_facts(record), **line, **error}, default=str).decode()


def _level_number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    values: dict[str, Any] = getattr(record, "facts", {})
    return values


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quote(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and not set(text) & set(' "=') else orjson.dumps(text).decode()
