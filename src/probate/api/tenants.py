"""Tenants: the names, store keys and index entries that all parts of multi-tenancy share.

A tenant's id is the name of its Tenant object. In the physical view, names of what belongs to tenant 111111 begin with `111111-`
(`tenants.view` converts them). Which objects belong to a tenant is stored: as a label of each object, and as index entries that the
transaction adds that creates the object and the one removes that deletes it (ADR 10).

    objects/tenants.tenant.kubezoo.io/-/111111          the Tenant
    tenant-open/111111                                  it is not being deleted: each create in it is guarded by this entry
    tenant/111111/objects/pods/111111-web/p             the pod belongs to the tenant
    tenant/111111/objects/persistentvolumes/-/111111-v  the volume belongs to the tenant
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probate.api import object_keys
from probate.api.gvk import GroupResource
from probate.api.object_keys import Key
from probate.api.objects import Object

GROUP = "tenant.kubezoo.io"
VERSION = "v1alpha1"
KIND = "Tenant"
TENANTS = GroupResource(GROUP, "tenants")
TENANTS_RANGE = object_keys.resource_range(TENANTS)

FINALIZER = "kubezoo.io/tenant"
"""Keeps a Tenant until nothing of it is left. Only the transaction that finds the tenant empty removes it."""
TENANT_LABEL = "kubezoo.io/tenant"
"""The label that each object of a tenant has in the physical view. Its value is the tenant's id."""
SHARED_LABEL = "kubezoo.io/shared"
"""With the value `true`: tenants see this cluster-scoped object of the platform, and may use but not change it."""
READY = "Ready"
"""The condition of a Tenant that says whether it has what every tenant has, and can be used."""

ID_LENGTH = 6
_ID = re.compile(r"[a-z0-9][a-z0-9-]{4}[a-z0-9]")
_CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_API_SERVICES = "apiservices.apiregistration.k8s.io"


def is_valid_id(name: str) -> bool:
    """Whether a tenant can have this id: six characters `[a-z0-9-]` that neither begin nor end with a dash."""
    return _ID.fullmatch(name) is not None


def prefix_of(tenant: str) -> str:
    """Returns what the names of a tenant begin with in the physical view."""
    return f"{tenant}-"


def id_in_name(name: str) -> str:
    """Returns the tenant whose names begin like this one, if such a tenant exists; empty if there can be none."""
    return name[:ID_LENGTH] if name[ID_LENGTH : ID_LENGTH + 1] == "-" and is_valid_id(name[:ID_LENGTH]) else ""


def ids_in_key(key: str) -> tuple[str, ...]:
    """Returns the tenants to which the object of a key belongs if they exist: by the prefixes of its namespace, name and group.

    An object has at most two: a custom resource in a namespace of one tenant whose CRD is another's, which is refused.
    """
    _, resource, namespace, name = key.split("/")
    if namespace != object_keys.NO_NAMESPACE:
        found = id_in_name(namespace)
    elif resource in {_CRDS, _API_SERVICES}:
        found = id_in_name(name.partition(".")[2])
    else:
        found = id_in_name(name)
    definition = id_in_name(resource.partition(".")[2])
    if not definition or definition == found:
        return (found,) if found else ()
    return (found, definition) if found else (definition,)


def tenant_key(tenant: str) -> Key:
    """Returns the key of a Tenant."""
    return object_keys.object_key(TENANTS, "", tenant)


def open_entry(tenant: str) -> str:
    """Returns the index entry that exists as long as objects can be created in the tenant."""
    return f"tenant-open/{tenant}"


def content_range(tenant: str) -> str:
    """Returns the range of the entries of all objects of a tenant."""
    return f"tenant/{tenant}/"


def resource_content_range(tenant: str, resource: GroupResource | str) -> str:
    """Returns the range of the entries of a tenant's objects of one resource. `resource` is physical."""
    return f"tenant/{tenant}/{object_keys.resource_range(resource)}"


def content_entry(tenant: str, key: str) -> str:
    """Returns the entry of one object of a tenant."""
    return f"tenant/{tenant}/{key}"


def tenant_of(object_: Object) -> str:
    """Returns the tenant that an object belongs to; empty if it belongs to none. `object_` is as the physical view shows it."""
    labels = object_["metadata"].get("labels")
    return labels.get(TENANT_LABEL) or "" if labels else ""


def is_shared(object_: Object) -> bool:
    """Whether the platform shares a cluster-scoped object with tenants."""
    return (object_["metadata"].get("labels") or {}).get(SHARED_LABEL) == "true"


def applies_to(object_: Object, tenant: str) -> bool:
    """Whether a cluster-scoped object applies to the objects of a tenant; an empty tenant means to those of the platform.

    A tenant's own objects and those that the platform shares apply to the tenant; the platform's own ones to the platform.
    """
    owner = tenant_of(object_)
    return owner == tenant or (not owner and is_shared(object_))


def terminating_conditions(conditions: Sequence[Object], now: str) -> list[Object]:
    """Returns the conditions of a Tenant that is being deleted: it is not Ready. Others stay as they are."""
    ready = next((condition for condition in conditions if condition.get("type") == READY), {})
    since = ready.get("lastTransitionTime") if ready.get("status") == "False" else None
    terminating = {
        "type": READY,
        "status": "False",
        "lastTransitionTime": since or now,
        "reason": "Terminating",
        "message": "The tenant is being deleted, and nothing can be created in it",
    }
    return [*(condition for condition in conditions if condition.get("type") != READY), terminating]
