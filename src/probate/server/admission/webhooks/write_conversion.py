"""Converts a write to the version that a webhook expects, and what the webhook made of it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.server.admission import phases
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.webhooks.admission_review import VersionedWrite

ConvertCustom: TypeAlias = Callable[[Object, Resource, Resource], Awaitable[Object]]
"""Converts a custom resource between two versions with the conversion webhook of its CustomResourceDefinition."""


class WriteConverter:
    """Converts built-in kinds itself, and custom resources with `convert_custom`."""

    def __init__(self, convert_custom: ConvertCustom) -> None:
        self._convert_custom = convert_custom

    async def convert_write(self, write: Attributes, resource: Resource) -> VersionedWrite:
        """Returns the write as one to this resource, which may be another version of the write's own."""
        if resource is write.at.resource or write.kind != write.at.resource.group_version_kind:
            return VersionedWrite(resource, write.kind, write.object, write.old)
        object_, old = [await self._convert(object_, write.at.resource, resource) for object_ in (write.object, write.old)]
        return VersionedWrite(resource, resource.group_version_kind, object_, old)

    async def _convert(self, object_: Object | None, source: Resource, target: Resource) -> Object | None:
        return None if object_ is None else await self.convert_object(object_, source, target)

    async def convert_object(self, object_: Object, source: Resource, target: Resource) -> Object:
        """Returns the object in the version of `target`."""
        if source.is_converted:
            return await self._convert_custom(object_, source, target)
        return phases.convert_version(object_, source, target)
