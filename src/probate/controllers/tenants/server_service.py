"""The server as a Service of each tenant: `kubernetes` in the tenant's namespace `default`, which clients in pods expect.

It has an address of its own, and the ports and endpoints of the Service that the server publishes for the platform
(`server.bootstrap.kubernetes_service`). If these change, since the server listens elsewhere now, those of all tenants follow.
"""

from __future__ import annotations

from collections.abc import Callable

from probate.api import tenants
from probate.api.objects import Object
from probate.client.informers import Informer, Informers, NamespacedName
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.core import errors

NAME, NAMESPACE = "kubernetes", "default"
SERVICES = GroupVersionResource("", "v1", "services")
ENDPOINT_SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
ENDPOINTS = GroupVersionResource("", "v1", "endpoints")
OF_PLATFORM = NamespacedName(NAMESPACE, NAME)

FollowPlatform = Callable[[], None]
FollowTenant = Callable[[str], None]


class ServerServices:
    """The Services of all tenants, with their EndpointSlices and Endpoints."""

    def __init__(self, informers: Informers) -> None:
        self._informers = [informers.for_resource(resource) for resource in (SERVICES, ENDPOINT_SLICES, ENDPOINTS)]

    def add_handlers(self, on_platform: FollowPlatform, on_tenant: FollowTenant) -> None:
        """Calls one of these whenever an object of the platform, or of a tenant, was changed or deleted."""

        def handle(old: Object | None, new: Object | None) -> None:
            meta = (new or old or {"metadata": {}})["metadata"]
            if meta.get("name") != NAME:
                return
            tenant = tenants.id_in_name(meta["namespace"])
            if meta["namespace"] == NAMESPACE:
                on_platform()
            elif old is not None and meta["namespace"] == _namespace(tenant):
                on_tenant(tenant)

        for informer in self._informers:
            informer.add_event_handler(handle)

    async def ensure(self, tenant: str) -> None:
        """Creates or completes the objects of a tenant. Does nothing while the platform has none."""
        for informer in self._informers:
            if (platform := informer.get(OF_PLATFORM)) is not None:
                await _ensure(informer, tenant, platform)


async def _ensure(informer: Informer, tenant: str, platform: Object) -> None:
    name = NamespacedName(_namespace(tenant), NAME)
    existing, wanted = informer.get(name), _shared_part(platform)
    if existing is None:
        labels = platform["metadata"].get("labels") or {}
        try:
            await informer.create(name.namespace, {**_with_type(platform, wanted), "metadata": {"name": NAME, "labels": labels}})
        except errors.AlreadyExists:
            return  # the informer does not know it yet: its event brings the tenant back
    elif not is_deleting(existing) and _shared_part(existing) != wanted:
        await informer.patch(name, wanted)


def _namespace(tenant: str) -> str:
    return f"{tenants.prefix_of(tenant)}{NAMESPACE}"


def _shared_part(object_: Object) -> Object:
    """Returns what a tenant's object has in common with the platform's."""
    if "spec" in object_:
        return {"spec": {"ports": object_["spec"].get("ports") or []}}
    fields = ("endpoints", "ports") if "addressType" in object_ else ("subsets",)
    return {field: object_.get(field) or [] for field in fields}


def _with_type(platform: Object, wanted: Object) -> Object:
    """Adds what can be set at the creation only."""
    return {**wanted, "addressType": platform["addressType"]} if "addressType" in platform else wanted
