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
from probate.tenants.admission import object_tenants

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
        possible = object_tenants.of_target(at)
        return possible is None or any(self._may_act(tenant, operation, at) for tenant in possible)

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
        for tenant in object_tenants.of_write(write):
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
