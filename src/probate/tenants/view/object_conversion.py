"""Converts whole objects, as they are stored, between a tenant's view and the physical view.

`to_physical` and `to_tenant` are pure and total, and inverse to each other: for every object that a tenant can write,
`to_tenant(to_physical(object))` is the object. They change what the views name differently: the namespace, the name of a
cluster-scoped object, owner references, the references in `reference_paths`, and the label `kubezoo.io/tenant`, which every
object of a tenant has in the physical view only. They never change free text, such as the message of an Event.
"""

from __future__ import annotations

import copy
from typing import Any

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.tenants import TENANT_LABEL
from probate.tenants.view import reference_converter
from probate.tenants.view.name_converter import NameConverter, ToPhysical, ToTenant
from probate.tenants.view.namespace_selectors import NAME_LABEL

NAMESPACES = GroupResource("", "namespaces")
CRDS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
API_SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
NAMED_BY_GROUP = frozenset({CRDS, API_SERVICES})
"""Resources whose names end in a group, which is what the views name differently."""


def to_physical(names: ToPhysical, resource: GroupResource, object_: Object) -> Object:
    """Converts an object of a tenant. `resource` is its resource in the tenant's view."""
    return convert_in_place(names, resource, copy.deepcopy(object_))


def to_tenant(names: ToTenant, resource: GroupResource, object_: Object) -> Object:
    """Converts an object of the physical view. `resource` is its resource in the tenant's view."""
    return convert_in_place(names, resource, copy.deepcopy(object_))


def object_name(names: NameConverter, resource: GroupResource, name: str) -> str:
    """Renames a cluster-scoped object. The names of CRDs and APIServices end in a group."""
    if resource in NAMED_BY_GROUP:
        first, dot, group = name.partition(".")
        if not group:
            return name
        renamed = names.resource(GroupResource(group, first)).group if resource == CRDS else names.group(group)
        return f"{first}{dot}{renamed}"
    return names.cluster_scoped(resource, name)


def convert_in_place(names: NameConverter, resource: GroupResource, converted: Object) -> Object:
    """Converts an object in the direction of `names`, changing it. `resource` is its resource in the tenant's view."""
    metadata = converted.get("metadata")
    if isinstance(metadata, dict):
        _convert_metadata(names, resource, metadata)
    if resource == CRDS:
        _convert_crd(names, converted)
    elif not names.platform.is_shared(resource) and isinstance(converted.get("apiVersion"), str):
        converted["apiVersion"] = _own_api_version(names, converted["apiVersion"])
    reference_converter.rename_references(names, resource, converted)
    return converted


def _own_api_version(names: NameConverter, api_version: str) -> str:
    """Renames the apiVersion of a kind that only the tenant has."""
    group, slash, version = api_version.rpartition("/")
    return f"{names.rename(group)}{slash}{version}" if slash else api_version


def _convert_metadata(names: NameConverter, resource: GroupResource, metadata: dict[str, Any]) -> None:
    if metadata.get("namespace"):
        metadata["namespace"] = names.namespace(metadata["namespace"])
    else:
        for field in ("name", "generateName"):
            if metadata.get(field):
                metadata[field] = object_name(names, resource, metadata[field])
    _convert_labels(names, resource, metadata)
    for owner in metadata.get("ownerReferences") or ():
        reference_converter.rename_object_reference(names, owner)
    if not names.platform.is_shared(resource):
        for entry in metadata.get("managedFields") or ():
            entry["apiVersion"] = _own_api_version(names, entry.get("apiVersion") or "")


def _convert_labels(names: NameConverter, resource: GroupResource, metadata: dict[str, Any]) -> None:
    labels = dict(metadata.get("labels") or {})
    if resource == NAMESPACES and NAME_LABEL in labels:
        labels[NAME_LABEL] = names.namespace(labels[NAME_LABEL])
    names.mark_labels(labels, TENANT_LABEL)
    if labels:
        metadata["labels"] = labels
    else:
        metadata.pop("labels", None)


def _convert_crd(names: NameConverter, crd: Object) -> None:
    """Renames the group of a CRD: by its own kind, since the same group may also have shared kinds."""
    spec = crd.get("spec")
    plural = (spec.get("names") or {}).get("plural") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("group"), str):
        spec["group"] = names.resource(GroupResource(spec["group"], plural or "")).group
