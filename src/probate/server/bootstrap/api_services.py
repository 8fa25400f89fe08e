"""APIServices: an object for each version of each group that is served, as clients know it from Kubernetes. All of them are local.

Those of custom kinds come and go with the kinds. Nothing is passed on to other servers: an APIService that names one says so.
"""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.core import errors
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.objects import managed_fields, write
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store import contract, paging
from probate.store.contract import Record, Txn

MANAGER = "probate"
LABEL = "kube-aggregator.kubernetes.io/automanaged"
"""`onstart` for what is built in, `true` for what comes and goes."""

_GROUPS = {
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
_CUSTOM_GROUP, _CUSTOM_VERSION, _OTHER_GROUP = 1000, 100, 15000

Object = dict[str, Any]


async def settle(api: Api) -> None:
    """Write those that are missing, and remove those of custom kinds that are gone. Several servers may do so at once."""
    resource = api.catalog.find(_OWN_GROUP, "v1", "apiservices")
    if resource is None:
        raise errors.InvariantViolation("there is no kind APIService")
    pages = paging.pages(api.store, storage_keys.everywhere(resource))
    there = {record.key: record async for page in pages for record in page.records}
    wanted = {storage_keys.of(resource, "", _name(one)): one for one in _served(api)}
    txns = [_new(api, resource, key, one) for key, one in wanted.items() if key not in there]
    txns += [_gone(record) for key, record in there.items() if key not in wanted and _comes_and_goes(record)]
    if txns:
        await api.store.commit_many(txns)


def _served(api: Api) -> list[Resource]:
    """One resource of each version. Of the group of APIServices itself Kubernetes has none."""
    found = {(one.group, one.version): one for one in api.catalog if one.group != _OWN_GROUP}
    return list(found.values())


def _name(one: Resource) -> str:
    return f"{one.version}.{one.group}"


def _new(api: Api, resource: Resource, key: str, one: Resource) -> Txn:
    group = _CUSTOM_GROUP if one.is_custom else _GROUPS.get(one.group, _OTHER_GROUP)
    version = _CUSTOM_VERSION if one.is_custom else _version_priority(one.version)
    spec = {"group": one.group, "version": one.version, "groupPriorityMinimum": group, "versionPriority": version}
    labels = {LABEL: "true" if one.is_custom else "onstart"}
    object_: Object = {"metadata": {"name": _name(one), "labels": labels}, "spec": spec}
    write.prepare_new(api, resource, object_, "", managed_fields.creator(api.kinds, Target(resource, ""), MANAGER))
    value = object_codec.stored(object_)
    return contract.create(key, value, enter=index_entries.entries(key, object_codec.meta(value)))


def _version_priority(version: str) -> int:
    """The newest stable one first, then beta, then alpha."""
    if "alpha" in version:
        return 1
    return 9 if "beta" in version else {"v1": 15, "v2": 30}.get(version, 15)


def _comes_and_goes(record: Record) -> bool:
    return object_codec.meta(record.value).labels.get(LABEL) == "true"


def _gone(record: Record) -> Txn:
    return contract.delete(
        record.key, revision=record.revision, leave=index_entries.entries(record.key, object_codec.meta(record.value))
    )
