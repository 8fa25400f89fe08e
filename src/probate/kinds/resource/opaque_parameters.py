"""What is for a driver alone. Nobody else knows what it means, so it has to be an object, and not too large, and that is all."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api.field_errors import Path, invalid, required, too_long
from probate.kinds.resource.device_names import check_driver
from probate.kinds.shared.field_checks import Problems, Value, child, text

MAX_CONFIGURATIONS = 32
MAX_BYTES = 10 * 1024


def check_configuration(config: Value | None, path: Path, *, is_new: bool = True) -> Problems:
    """A configuration, which has nothing but what is for a driver. It may be as large as it is already."""
    if (config or {}).get("opaque") is None:
        yield required(path / "opaque")
        return
    opaque = child(config or {}, "opaque")
    yield from check_driver(text(opaque, "driver"), path / "opaque" / "driver")
    yield from check_parameters(opaque.get("parameters"), path / "opaque" / "parameters", is_new=is_new)


def check_parameters(value: Any, path: Path, *, is_new: bool = True) -> Problems:
    """What is for a driver."""
    if value is None:
        yield required(path)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")
    elif is_new and len(orjson.dumps(value)) > MAX_BYTES:
        yield too_long(path, MAX_BYTES)
