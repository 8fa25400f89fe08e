"""The LimitRanger admission plugin: sets default requests and limits of containers, and enforces limits of pods and claims."""

from __future__ import annotations

import orjson

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core.aio.large_work import Offloader
from probate.kinds.core.quota import limit_ranges
from probate.server import api_errors
from probate.server.admission.admission_attributes import CREATE, NO_REQUIREMENTS, UPDATE, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.request import Target

_PODS, _CLAIMS = ("", "pods"), ("", "persistentvolumeclaims")


class LimitRangerPlugin:
    """Applies all LimitRanges."""

    def __init__(self, chain: AdmissionChain, offloader: Offloader) -> None:
        self._chain = chain
        self._offloader = offloader
        self._ranges: dict[str, list[Object]] = {}  # by namespace

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the LimitRange objects."""
        configuration.subscribe(GroupResource("", "limitranges"), self._configure)

    def _configure(self, objects: dict[str, Object]) -> None:
        ranges: dict[str, list[Object]] = {}
        for object_ in objects.values():
            ranges.setdefault(object_["metadata"]["namespace"], []).append(object_)
        self._ranges = ranges
        if ranges:
            self._chain.enable(PluginOrder.LIMITS, self)
        else:
            self._chain.disable(PluginOrder.LIMITS)

    def handles(self, operation: str, at: Target) -> bool:
        if at.namespace not in self._ranges:
            return False
        resource, operation_and_subresource = (at.resource.group, at.resource.plural), (operation, at.subresource)
        if resource == _PODS:
            return operation_and_subresource in {(CREATE, ""), (UPDATE, "resize")}
        return resource == _CLAIMS and operation_and_subresource in {(CREATE, ""), (UPDATE, "")}

    async def mutate(self, write: Attributes) -> None:
        if write.operation != CREATE or write.at.resource.plural != "pods" or write.object is None:
            return
        await self._offloader.offload_if_large(write.size, lambda: self._fill(write))

    def _fill(self, write: Attributes) -> None:
        filled = orjson.loads(orjson.dumps(write.object))
        limit_ranges.set_container_defaults(filled, self._ranges.get(write.namespace, ()))
        if filled != write.object:
            write.replace_object(filled)

    async def validate(self, write: Attributes) -> CommitRequirements:
        problems = await self._offloader.offload_if_large(write.size, lambda: self._problems(write))
        if problems:
            name = write.name or str((write.object or {}).get("metadata", {}).get("name", ""))
            raise api_errors.forbidden(write.at.resource, name, limit_ranges.join_problems(problems))
        return NO_REQUIREMENTS

    def _problems(self, write: Attributes) -> list[str]:
        return limit_ranges.problems(write.at.resource.plural, write.object or {}, self._ranges.get(write.namespace, ()))
