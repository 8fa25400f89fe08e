"""What clients ask first: which groups, versions and resources there are.

The same facts are told twice. The old way is a document for the groups and one for each version of each group; the new one, which
kubectl asks for since 1.26, is two documents for everything, `/api` and `/apis`. All are made from the catalog alone, so that they
cannot disagree. Making them costs a millisecond: whoever serves them keeps them until the catalog is another one.

    /api                        api_versions            or aggregated_core
    /api/v1, /apis/apps/v1      api_resource_list
    /apis                       api_group_list          or aggregated_groups
    /apis/apps                  api_group
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, TypeAlias

from probate.api.catalog import Catalog, Resource, Subresource
from probate.api.gvk import GroupVersion

Document: TypeAlias = dict[str, Any]

AGGREGATED_VERSIONS = ("v2", "v2beta1")


def aggregated_media_type(version: str) -> str:
    """What a client accepts that wants everything at once, and the `Content-Type` that it has to be answered with."""
    return f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def api_versions(catalog: Catalog, server_address: str) -> Document:
    """`/api`: the versions of the core group, and where (host:port) to reach this server."""
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
    return {"kind": "APIVersions", "versions": catalog.versions(""), "serverAddressByClientCIDRs": [address]}


def api_group_list(catalog: Catalog) -> Document:
    """`/apis`: all groups but the core one."""
    groups = [_group(name, list(versions)) for name, versions in _by_group(catalog).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(catalog: Catalog, group: str) -> Document | None:
    """`/apis/<group>`: one group, if it is served."""
    versions = catalog.versions(group)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions and group else None


def api_resource_list(catalog: Catalog, group: str, version: str) -> Document | None:
    """`/api/v1` and `/apis/<group>/<version>`: a version's resources, each followed by its subresources, if it is served."""
    found = [one for one in catalog if (one.group, one.version) == (group, version)]
    if not found:
        return None
    kind = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}  # the core group is older than the field
    return {**kind, "groupVersion": str(GroupVersion(group, version)), "resources": [row for one in found for row in _rows(one)]}


def aggregated_core(catalog: Catalog, version: str = "v2") -> Document:
    """`/api` for clients that want everything at once: the core group."""
    return _aggregated({"": _by_group(catalog).get("", {})}, version)


def aggregated_groups(catalog: Catalog, version: str = "v2") -> Document:
    """`/apis` for clients that want everything at once: all other groups."""
    groups = {name: versions for name, versions in _by_group(catalog).items() if name}
    return _aggregated(groups, version)


def _by_group(catalog: Catalog) -> dict[str, dict[str, list[Resource]]]:
    groups: dict[str, dict[str, list[Resource]]] = {}
    for one in catalog:
        groups.setdefault(one.group, {}).setdefault(one.version, []).append(one)
    return groups


# One document each.


def _group(name: str, versions: list[str]) -> Document:
    rows = [{"groupVersion": str(GroupVersion(name, version)), "version": version} for version in versions]
    return {"name": name, "versions": rows, "preferredVersion": rows[0]}


def _rows(resource: Resource) -> Iterator[Document]:
    row = {"name": resource.plural, "singularName": resource.singular, "namespaced": resource.is_namespaced}
    yield {**row, "kind": resource.kind, "verbs": list(resource.verbs), **_names(resource), **_storage(resource)}
    for one in resource.subresources:
        row = {"name": f"{resource.plural}/{one.name}", "singularName": "", "namespaced": resource.is_namespaced}
        foreign = {"group": one.group, "version": one.version} if one.version else {}
        yield {**row, **foreign, "kind": one.kind, "verbs": list(one.verbs)}


def _names(resource: Resource) -> Document:
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {key: value for key, value in names.items() if value}


def _storage(resource: Resource) -> Document:
    """What changes when objects are stored in another version, and says nothing else. What is not stored has none."""
    if "watch" not in resource.verbs:
        return {}
    stored = resource.stored_as or resource
    version = resource.storage_version or stored.version
    digest = hashlib.sha256(f"{stored.group}/{version}/{stored.kind}".encode()).digest()
    return {"storageVersionHash": base64.b64encode(digest[:8]).decode()}


# All in one.


def _aggregated(groups: dict[str, dict[str, list[Resource]]], version: str) -> Document:
    items = [
        {"metadata": {"name": name} if name else {}, "versions": [_version(*one) for one in versions.items()]}
        for name, versions in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}, "items": items}


def _version(version: str, resources: list[Resource]) -> Document:
    return {"version": version, "resources": [_resource(one) for one in resources], "freshness": "Current"}


def _resource(resource: Resource) -> Document:
    row = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, "", "", resource.kind),
        "scope": "Namespaced" if resource.is_namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    parts = [_subresource(resource, one) for one in resource.subresources]
    return {**row, "subresources": parts} if parts else row


def _subresource(resource: Resource, one: Subresource) -> Document:
    kind = _response_kind(resource, one.group, one.version, one.kind)
    return {"subresource": one.name, "responseKind": kind, "verbs": list(one.verbs)}


def _response_kind(resource: Resource, group: str, version: str, kind: str) -> Document:
    """A kind of the resource's own group and version is given without them, but for custom resources."""
    if resource.is_custom and not version:
        group, version = resource.group_version
    return {"group": group, "version": version, "kind": kind}
