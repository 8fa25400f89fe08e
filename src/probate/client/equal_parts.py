"""EqualParts: one copy in memory of the parts that many cached objects have in common.

Each tenant has the same roles: their rules take 20 KB as Python objects, and differ only if a tenant changes them. What the field
managers own (`managedFields`) is mostly the same too. Cached objects are never changed in place, so they can share these parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from probate.api.objects import Object

MAX_PARTS = 500
"""Parts that are remembered, so that later objects can share them: the newest, and up to as many older ones."""
MIN_BYTES = 64
"""The size, as JSON, of the smallest part that is shared."""


class EqualParts:
    """The parts of the objects of one resource. Without fields, it leaves objects as they are."""

    def __init__(self) -> None:
        self.fields: set[str] = set()
        """The top-level fields whose values objects share."""
        self._newer: dict[bytes, Any] = {}
        self._older: dict[bytes, Any] = {}

    def share(self, objects: Iterable[Object]) -> None:
        """Replaces parts of new objects by equal parts of earlier ones."""
        if not self.fields:
            return
        for object_ in objects:
            for field in self.fields:
                if field in object_:
                    object_[field] = self._shared(object_[field])
            for entry in object_["metadata"].get("managedFields") or ():
                if "fieldsV1" in entry:
                    entry["fieldsV1"] = self._shared(entry["fieldsV1"])

    def _shared(self, part: Any) -> Any:
        key = orjson.dumps(part)
        if len(key) < MIN_BYTES:
            return part
        known = self._newer.get(key)
        if known is None:
            known = self._older.get(key, part)
            if len(self._newer) >= MAX_PARTS:
                self._older, self._newer = self._newer, {}
            self._newer[key] = known
        return known
