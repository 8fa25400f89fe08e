"""Which cluster-scoped objects of the platform tenants see, and under which names: decided by the stored object alone.

Tenants see all nodes, the PriorityClasses of the system, and the classes and CustomResourceDefinitions (CRDs) with the label
`kubezoo.io/shared=true`. They see them under the platform's names, and cannot change them. The label has no effect on an object of
a tenant, and none on a CRD whose group is named like that of a tenant.

A PersistentVolume that a provisioner of the platform created for a claim of a tenant belongs to the tenant, although its name is
one of the platform's. So has every resource here: its objects can have names without the tenant's prefix.
"""

from __future__ import annotations

import enum

import msgspec

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.tenants.view.object_conversion import API_SERVICES, CRDS

NODES = GroupResource("", "nodes")
VOLUMES = GroupResource("", "persistentvolumes")
PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
SYSTEM_PRIORITY_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
CLASSES = frozenset(
    {
        GroupResource("storage.k8s.io", "storageclasses"),
        GroupResource("storage.k8s.io", "volumeattributesclasses"),
        GroupResource("storage.k8s.io", "csidrivers"),
        GroupResource("networking.k8s.io", "ingressclasses"),
        GroupResource("node.k8s.io", "runtimeclasses"),
        GroupResource("resource.k8s.io", "deviceclasses"),
        PRIORITY_CLASSES,
    }
)
FOLLOWED = (*sorted(CLASSES), CRDS, API_SERVICES)
"""The resources whose shared objects `platform_objects` knows."""
PLATFORM_NAMED = frozenset(map(str, {*FOLLOWED, VOLUMES, NODES}))
"""The resources, as in keys, whose objects a tenant can see under names without its prefix."""
_MARK = tenants.SHARED_LABEL.encode()
_TENANT_MARK = tenants.TENANT_LABEL.encode()


class Visibility(enum.Enum):
    """What an object with a name of the platform is to a tenant."""

    HIDDEN = enum.auto()
    SHARED = enum.auto()  # the tenant sees it, and cannot change it
    OWN = enum.auto()


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct):
    metadata: _Metadata | None = None


_decoder = msgspec.json.Decoder(_Labelled)


def tenant_of(value: bytes, unlabelled: str = "") -> str:
    """Returns the tenant to which a stored object belongs; `unlabelled` if it has no label: it is an object of the platform."""
    return labels_of(value).get(tenants.TENANT_LABEL, unlabelled) if _TENANT_MARK in value else unlabelled


def labels_of(value: bytes) -> dict[str, str]:
    """Returns the labels of a stored object. A value that is no object has none."""
    try:
        metadata = _decoder.decode(value).metadata
    except msgspec.DecodeError:
        return {}
    return (metadata.labels or {}) if metadata else {}


def is_shared(resource: GroupResource, name: str, value: bytes) -> bool:
    """Whether tenants see this object of a class, or this CRD."""
    if resource == PRIORITY_CLASSES and name in SYSTEM_PRIORITY_CLASSES:
        return True
    if _MARK not in value or not (resource in CLASSES or resource == CRDS):
        return False
    labels = labels_of(value)
    if labels.get(tenants.SHARED_LABEL) != "true" or tenants.TENANT_LABEL in labels:
        return False
    return resource != CRDS or not tenants.id_in_name(name.partition(".")[2])


def is_platform_named(key: str) -> bool:
    """Whether the key, or range, is one of objects that can have names without the tenant's prefix."""
    return object_keys.resource_in(key) in PLATFORM_NAMED
