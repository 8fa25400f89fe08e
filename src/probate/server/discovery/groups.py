"""Discovery documents: the groups, versions and resources that the server serves.

There are two formats of the same data. The older one has a document for the groups and one for each group version. The aggregated
one, which kubectl requests since 1.26, has two documents in all, `/api` and `/apis`. All are generated from the catalog only, so
they cannot contradict each other. Generation takes a millisecond; the caller caches the documents until the catalog changes.

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
    """Returns the media type of aggregated discovery, for the Accept and the Content-Type header."""
    return f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def api_versions(catalog: Catalog, server_address: str) -> Document:
    """Returns `/api`: the versions of the core group and the address (host:port) of this server."""
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
    return {"kind": "APIVersions", "versions": catalog.versions(""), "serverAddressByClientCIDRs": [address]}


def api_group_list(catalog: Catalog) -> Document:
    """Returns `/apis`: all groups except the core group."""
    groups = [_group(name, list(versions)) for name, versions in _by_group(catalog).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(catalog: Catalog, group: str) -> Document | None:
    """Returns `/apis/<group>`: one group; None if it is not served."""
    versions = catalog.versions(group)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions and group else None


def api_resource_list(catalog: Catalog, group: str, version: str) -> Document | None:
    """Returns `/api/v1` or `/apis/<group>/<version>`: the resources, each followed by its subresources; None if not served."""
    found = [one for one in catalog if (one.group, one.version) == (group, version)]
    if not found:
        return None
    kind = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}  # the core group predates this field
    return {**kind, "groupVersion": str(GroupVersion(group, version)), "resources": [row for one in found for row in _rows(one)]}


def aggregated_core(catalog: Catalog, version: str = "v2") -> Document:
    """Returns `/api` in the aggregated format: the core group."""
    return _aggregated({"": _by_group(catalog).get("", {})}, version)


def aggregated_groups(catalog: Catalog, version: str = "v2") -> Document:
    """Returns `/apis` in the aggregated format: all other groups."""
    groups = {name: versions for name, versions in _by_group(catalog).items() if name}
    return _aggregated(groups, version)


def _by_group(catalog: Catalog) -> dict[str, dict[str, list[Resource]]]:
    groups: dict[str, dict[str, list[Resource]]] = {}
    for one in catalog:
        groups.setdefault(one.group, {}).setdefault(one.version, []).append(one)
    return groups


# The documents of the older format.


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
    """Returns the storage version hash, an opaque value that changes with the storage version, if the resource is stored."""
    if "watch" not in resource.verbs:
        return {}
    stored = resource.storage_gvk or resource
    version = resource.storage_version or stored.version
    digest = hashlib.sha256(f"{stored.group}/{version}/{stored.kind}".encode()).digest()
    return {"storageVersionHash": base64.b64encode(digest[:8]).decode()}


# The aggregated format.


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
        "responseKind": _response_kind(resource, "", "", kind=resource.kind),
        "scope": "Namespaced" if resource.is_namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    parts = [_subresource(resource, one) for one in resource.subresources]
    return {**row, "subresources": parts} if parts else row


def _subresource(resource: Resource, one: Subresource) -> Document:
    kind = _response_kind(resource, one.group, one.version, kind=one.kind)
    return {"subresource": one.name, "responseKind": kind, "verbs": list(one.verbs)}


def _response_kind(resource: Resource, group: str, version: str, *, kind: str) -> Document:
    """Returns the response kind. Group and version are omitted if they are the resource's own, except for custom resources."""
    if resource.is_custom and not version:
        group, version = resource.group_version
    return {"group": group, "version": version, "kind": kind}
