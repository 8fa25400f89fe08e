"""The built-in kinds that tenants have: those of a cluster, without those about the nodes and the server that all tenants share."""

from __future__ import annotations

import msgspec

from probate.api.catalog import Catalog, Resource

LEFT_OUT = {
    "tenants.tenant.kubezoo.io": "a tenant does not see the other tenants",
    "componentstatuses": "the state of the platform",
    "csinodes.storage.k8s.io": "the drivers on the platform's nodes",
    "resourceslices.resource.k8s.io": "the devices of the platform's nodes",
    "devicetaintrules.resource.k8s.io": "the devices of the platform's nodes",
    "flowschemas.flowcontrol.apiserver.k8s.io": "how the server shares its capacity between tenants",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": "how the server shares its capacity between tenants",
    "servicecidrs.networking.k8s.io": "the addresses that all tenants share",
    "ipaddresses.networking.k8s.io": "the addresses that all tenants share",
    "storageversions.internal.apiserver.k8s.io": "how the store keeps the objects of all tenants",
    "storageversionmigrations.storagemigration.k8s.io": "how the store keeps the objects of all tenants",
}
"""Resources that tenants do not have, and what they are about."""
READ_ONLY = frozenset({"nodes", "apiservices.apiregistration.k8s.io"})
"""Resources of which tenants see objects that the platform maintains, and can change none. They have no subresources."""
READ_VERBS = ("get", "list", "watch")


def tenant_catalog(builtin: Catalog) -> Catalog:
    """Returns what tenants have of the built-in kinds."""
    return Catalog(_restricted(resource) for resource in builtin if str(resource.group_resource) not in LEFT_OUT)


def _restricted(resource: Resource) -> Resource:
    if str(resource.group_resource) not in READ_ONLY:
        return resource
    return msgspec.structs.replace(resource, verbs=READ_VERBS, subresources=())
