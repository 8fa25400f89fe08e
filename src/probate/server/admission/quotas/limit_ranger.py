"""LimitRanges: what containers get that say nothing, and what pods and claims are refused for."""

from __future__ import annotations

from typing import Any

import orjson

from probate.kinds.core.quota import limit_ranges
from probate.server import api_errors
from probate.server.admission.attributes import CREATE, NO_TERMS, UPDATE, Attributes, Terms
from probate.server.admission.chain import Place
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

_PODS, _CLAIMS = ("", "pods"), ("", "persistentvolumeclaims")


def install(api: Api) -> None:
    """Hold pods and claims to the ranges there are."""
    api.configured.tell("", "v1", "limitranges", Ranges(api).configure)


class Ranges:
    """All LimitRanges."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._ranges: dict[str, list[Object]] = {}

    def configure(self, objects: dict[str, Object]) -> None:
        """From now on these are the ranges."""
        found: dict[str, list[Object]] = {}
        for object_ in objects.values():
            found.setdefault(object_["metadata"]["namespace"], []).append(object_)
        self._ranges = found
        if found:
            self._api.admission.wake(Place.LIMITS, self)
        else:
            self._api.admission.rest(Place.LIMITS)

    def wants(self, operation: str, at: Target) -> bool:
        if at.namespace not in self._ranges:
            return False
        kind, way = (at.resource.group, at.resource.plural), (operation, at.subresource)
        if kind == _PODS:
            return way in {(CREATE, ""), (UPDATE, "resize")}
        return kind == _CLAIMS and way in {(CREATE, ""), (UPDATE, "")}

    async def mutate(self, write: Attributes) -> None:
        if write.operation != CREATE or write.at.resource.plural != "pods" or write.object is None:
            return
        await self._api.apart(write.size, lambda: self._fill(write))

    def _fill(self, write: Attributes) -> None:
        filled = orjson.loads(orjson.dumps(write.object))
        limit_ranges.fill(filled, self._ranges.get(write.namespace, ()))
        if filled != write.object:
            write.put(filled)

    async def validate(self, write: Attributes) -> Terms:
        found = await self._api.apart(write.size, lambda: self._problems(write))
        if found:
            name = write.name or str((write.object or {}).get("metadata", {}).get("name", ""))
            raise api_errors.forbidden(write.at.resource, name, limit_ranges.told(found))
        return NO_TERMS

    def _problems(self, write: Attributes) -> list[str]:
        return limit_ranges.problems(write.at.resource.plural, write.object or {}, self._ranges.get(write.namespace, ()))
