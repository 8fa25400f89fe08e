"""TenantAdmission: the policies and webhooks of tenants, for writes of their objects in the physical view.

A controller that creates a pod of a tenant does not know tenants. The tenant's webhook is called all the same, and sees the pod as
the tenant does. It is never called for an object of another tenant or of the platform.

Which tenants have configured anything is known from the physical view; only these have their context started by such a write. The
plugin is disabled while no tenant has configured anything and no context is running.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core import errors
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.request import Target
from probate.server.storage import storage_keys

if TYPE_CHECKING:
    from probate.tenants.admission.other_chain import OtherChain
    from probate.tenants.running_context import RunningContext

GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = tuple(
    GroupResource(GROUP, f"{phase}{kind}")
    for phase in ("mutating", "validating")
    for kind in ("webhookconfigurations", "admissionpolicybindings")
)
"""The resources without which nothing is configured. A policy without a binding does nothing."""
_VOLUMES = GroupResource("", "persistentvolumes")


class RunningContexts(Protocol):
    """The contexts of tenants."""

    def __len__(self) -> int: ...

    def running(self, tenant: str) -> RunningContext | None:
        """Returns the context of a tenant, if it is running."""
        ...

    async def started(self, tenant: str) -> RunningContext:
        """Returns the context of a tenant, starting it if it is not running. Raises `Unauthorized` if there is no such tenant."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Calls the listener whenever contexts have started or stopped."""
        ...


class TenantAdmission:
    """A plugin of the physical view."""

    def __init__(self, chain: AdmissionChain, contexts: RunningContexts) -> None:
        self._chain = chain
        self._contexts = contexts
        self._by_resource: dict[GroupResource, set[str]] = {}
        self._configured: frozenset[str] = frozenset()

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows which tenants have configured something, and which contexts are running."""
        self._contexts.subscribe(self._update)
        for resource in CONFIGURATIONS:
            configuration.subscribe(resource, functools.partial(self._configure, resource), includes_tenants=True)

    def _configure(self, resource: GroupResource, objects: dict[str, Object]) -> None:
        self._by_resource[resource] = {tenants.tenant_of(object_) for object_ in objects.values()} - {""}
        self._configured = frozenset().union(*self._by_resource.values())
        self._update()

    def _update(self) -> None:
        if self._configured or len(self._contexts):
            self._chain.enable(PluginOrder.TENANT, self)
        else:
            self._chain.disable(PluginOrder.TENANT)

    def handles(self, operation: str, at: Target) -> bool:
        if at.namespace:
            return self._may_act(tenants.id_in_name(at.namespace), operation, at)
        if not at.name or at.resource.group_resource == _VOLUMES:
            return True  # only the object tells
        return any(self._may_act(tenant, operation, at) for tenant in _ids_in_name(at, at.name))

    def _may_act(self, tenant: str, operation: str, at: Target) -> bool:
        running = self._contexts.running(tenant)
        return tenant in self._configured if running is None else running.chain().handles(operation, at)

    async def mutate(self, write: Attributes) -> None:
        chain = await self._chain_for(write)
        if chain is not None:
            await chain.mutate(write)

    async def validate(self, write: Attributes) -> CommitRequirements:
        chain = await self._chain_for(write)
        return NO_REQUIREMENTS if chain is None else await chain.validate(write)

    async def _chain_for(self, write: Attributes) -> OtherChain | None:
        """Returns the chain of the tenant whose object is written; None if there is none."""
        for tenant in _possible_tenants(write):
            is_configured = tenant in self._configured
            running = await self._started(tenant) if is_configured else self._contexts.running(tenant)
            if running is not None:
                return running.chain()
        return None

    async def _started(self, tenant: str) -> RunningContext | None:
        try:
            return await self._contexts.started(tenant)
        except errors.Unauthorized:  # the tenant is gone, and all it had configured
            return None


def _possible_tenants(write: Attributes) -> tuple[str, ...]:
    """Returns the tenants to which the object belongs if they exist. The label is set before admission runs."""
    if write.namespace:
        return (tenants.id_in_name(write.namespace),)
    object_ = write.old or write.object or {}
    metadata = object_.get("metadata") or {}
    label = (metadata.get("labels") or {}).get(tenants.TENANT_LABEL)
    return (label,) if label else _ids_in_name(write.at, write.name or metadata.get("name") or metadata.get("generateName") or "")


def _ids_in_name(at: Target, name: str) -> tuple[str, ...]:
    return tenants.ids_in_key(storage_keys.object_key(at.resource, "", name))
