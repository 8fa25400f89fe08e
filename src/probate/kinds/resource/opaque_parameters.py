"""Validates opaque driver parameters. Only the driver interprets them, so they must only be an object of limited size."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.field_errors import FieldPath, invalid, required, too_long
from probate.kinds.resource.device_names import check_driver
from probate.kinds.shared.field_checks import Problems, Value, child, text

MAX_CONFIGURATIONS = 32
MAX_BYTES = 10 * 1024


def check_configuration(config: Value | None, path: FieldPath, *, is_new: bool = True) -> Problems:
    """Validates a configuration, which has only opaque driver parameters. Existing parameters may keep their size."""
    if (config or {}).get("opaque") is None:
        yield required(path / "opaque")
        return
    opaque = child(config or {}, "opaque")
    yield from check_driver(text(opaque, "driver"), path / "opaque" / "driver")
    yield from check_parameters(opaque.get("parameters"), path / "opaque" / "parameters", is_new=is_new)


def check_parameters(value: Any, path: FieldPath, *, is_new: bool = True) -> Problems:
    """Validates opaque driver parameters."""
    if value is None:
        yield required(path)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")
    elif is_new and len(orjson.dumps(value)) > MAX_BYTES:
        yield too_long(path, MAX_BYTES)
