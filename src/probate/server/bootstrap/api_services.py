"""Keeps an APIService object for each served group version, as Kubernetes does. All of them are local.

Those of custom resources are created and deleted with their CRDs. Requests are never proxied to other servers: the status of an
APIService that names one says so.
"""

from __future__ import annotations

from probate.api.catalog import Catalog, Resource
from probate.api.objects import Object
from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.server.codec import object_codec
from probate.server.storage import index_entries, storage_keys
from probate.store import contract, pagination
from probate.store.contract import Record, Store, Txn

MANAGED_LABEL = "kube-aggregator.kubernetes.io/automanaged"
"""`onstart` for built-in APIs, `true` for those of custom resources."""

_GROUP_PRIORITIES = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "resource.k8s.io": 15900,
}
_OWN_GROUP = "apiregistration.k8s.io"
_CUSTOM_GROUP_PRIORITY, _CUSTOM_VERSION_PRIORITY, _DEFAULT_GROUP_PRIORITY = 1000, 100, 15000


async def sync_api_services(store: Store, planner: CreationPlanner) -> None:
    """Creates missing APIServices, and deletes those of custom resources that are gone. Several servers may do so at once."""
    resource = planner.resource(_OWN_GROUP, "apiservices")
    pages = pagination.pages(store, storage_keys.resource_range(resource))
    stored = {record.key: record async for page in pages for record in page.records}
    desired = {storage_keys.object_key(resource, "", _name(served)): served for served in _served_resources(planner.kinds.catalog)}
    txns = [planner.plan(resource, _api_service(served)) for key, served in desired.items() if key not in stored]
    txns += [_delete(record) for key, record in stored.items() if key not in desired and _is_of_custom_kind(record)]
    if txns:
        await store.commit_many(txns)


def _served_resources(catalog: Catalog) -> list[Resource]:
    """Returns one resource of each group version, except for the group of APIServices itself, as in Kubernetes."""
    by_version = {(served.group, served.version): served for served in catalog if served.group != _OWN_GROUP}
    return list(by_version.values())


def _name(served: Resource) -> str:
    return f"{served.version}.{served.group}"


def _api_service(served: Resource) -> Object:
    group = _CUSTOM_GROUP_PRIORITY if served.is_custom else _GROUP_PRIORITIES.get(served.group, _DEFAULT_GROUP_PRIORITY)
    version = _CUSTOM_VERSION_PRIORITY if served.is_custom else _version_priority(served.version)
    spec = {"group": served.group, "version": served.version, "groupPriorityMinimum": group, "versionPriority": version}
    labels = {MANAGED_LABEL: "true" if served.is_custom else "onstart"}
    return {"metadata": {"name": _name(served), "labels": labels}, "spec": spec}


def _version_priority(version: str) -> int:
    """Returns the version's priority: stable versions first, then beta, then alpha."""
    if "alpha" in version:
        return 1
    return 9 if "beta" in version else {"v1": 15, "v2": 30}.get(version, 15)


def _is_of_custom_kind(record: Record) -> bool:
    return object_codec.meta(record.value).labels.get(MANAGED_LABEL) == "true"


def _delete(record: Record) -> Txn:
    return contract.delete(
        record.key, revision=record.revision, remove_entries=index_entries.entries_of(record.key, object_codec.meta(record.value))
    )
