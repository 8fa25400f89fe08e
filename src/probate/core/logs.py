"""What the process writes to standard error: one line for each thing that happened, for people or for machines.

A line has a constant message and facts, so that it can be searched for and counted:

    log.info("deleted", extra=facts(what="pods", name="web-1", because="owner ReplicaSet web (…) is gone"))

    text   2026-01-01T00:00:00.000Z INFO probate.gc.collector: deleted what=pods name=web-1 because="owner ReplicaSet web (…) …"
    json   {"time":"2026-01-01T00:00:00.000Z","level":"INFO","logger":"probate.gc.collector","message":"deleted","what":"pods",…}

Making a line costs more than many a thing it tells of: whoever tells of thousands asks `log.isEnabledFor` first, once.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


def facts(**given: Any) -> dict[str, Any]:
    """The `extra` of a line with these facts. Those that are empty are left out."""
    return {"facts": {name: value for name, value in given.items() if value}}


def begin(level: str, format_: str, stream: TextIO | None = None) -> None:
    """Write lines of this level and above. Of the libraries only what is wrong with them is told."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Json() if format_ == "json" else Text())
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, _number(level)), force=True)
    logging.getLogger("probate").setLevel(_number(level))


class Text(logging.Formatter):
    """For people."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}"
        line += "".join(f" {name}={_shown(value)}" for name, value in _facts(record).items())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class Json(logging.Formatter):
    """For machines."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        error = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return orjson.dumps({**line, **_facts(record), **line, **error}, default=str).decode()


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, "facts", {})
    return found


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and not set(text) & set(' "=') else orjson.dumps(text).decode()
