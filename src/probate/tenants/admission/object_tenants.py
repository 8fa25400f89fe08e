"""To which tenant the object of a write in the physical view belongs, if that tenant exists."""

from __future__ import annotations

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.server.admission.admission_attributes import Attributes
from probate.server.request import Target
from probate.server.storage import storage_keys

_VOLUMES = GroupResource("", "persistentvolumes")


def of_target(at: Target) -> tuple[str, ...] | None:
    """Returns the tenants whose prefixes are in the path of a write; None if only the object tells."""
    if at.namespace:
        return _of_namespace(at.namespace)
    return None if not at.name or at.resource.group_resource == _VOLUMES else _in_name(at, at.name)


def of_write(write: Attributes) -> tuple[str, ...]:
    """Returns the tenant of the object. Its label is set before admission runs."""
    if write.namespace:
        return _of_namespace(write.namespace)
    metadata = (write.old or write.object or {}).get("metadata") or {}
    label = (metadata.get("labels") or {}).get(tenants.TENANT_LABEL)
    return (label,) if label else _in_name(write.at, write.name or metadata.get("name") or metadata.get("generateName") or "")


def _of_namespace(namespace: str) -> tuple[str, ...]:
    tenant = tenants.id_in_name(namespace)
    return (tenant,) if tenant else ()


def _in_name(at: Target, name: str) -> tuple[str, ...]:
    return tenants.ids_in_key(storage_keys.object_key(at.resource, "", name))
