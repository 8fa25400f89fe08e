"""Creates default objects besides namespaces, roles and the server's own Service: priority classes, ServiceCIDR, flow schemas.

FlowSchemas and priority levels are also restored if they were changed, unless their annotation says to keep the changes. Several
servers may do so at once: a conflict means that another server has done it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.core import errors
from probate.kinds.flowcontrol import bootstrap_flows as flows
from probate.kinds.flowcontrol import dangling_references
from probate.kinds.networking import service_cidrs
from probate.kinds.shared import system_priority_classes
from probate.server.bootstrap.namespaces import MANAGER
from probate.server.codec import object_codec
from probate.server.context import ServerContext
from probate.server.objects import deletion, managed_fields, write
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import DamagedRecord, ReadResult, Txn, create


class _DefaultObject(NamedTuple):
    resource: Resource
    object: Object
    condition: Object | None = None  # the condition in its status
    seed: flows.BootstrapObject | None = None  # set if an existing object may have to be restored


async def ensure(api: ServerContext) -> None:
    """Creates the default objects that are missing."""
    defaults = list(_default_objects(api))
    keys = [storage_keys.object_key(default.resource, "", default.object["metadata"]["name"]) for default in defaults]
    records = await api.store.read_many(keys)
    changes = [_change(api, default, key, stored) for default, key, stored in zip(defaults, keys, records, strict=True)]
    txns = [txn for txn in changes if txn is not None]
    if txns:
        await api.store.commit_many(txns)


def _default_objects(api: ServerContext) -> Iterator[_DefaultObject]:
    classes = _resource(api, "scheduling.k8s.io", "priorityclasses")
    yield from (_DefaultObject(classes, object_) for object_ in system_priority_classes.objects())
    ranges = _resource(api, "networking.k8s.io", "servicecidrs")
    yield _DefaultObject(ranges, service_cidrs.default_service_cidr(api.service_pools.addresses.name), service_cidrs.READY)
    kinds = {plural: _resource(api, flows.GROUP, plural) for plural in (flows.LEVELS, flows.SCHEMAS)}
    for seed in flows.bootstrap_objects():
        is_schema = seed.resource == flows.SCHEMAS
        condition = dangling_references.condition(dangling_references.level_of(seed.object), is_there=True) if is_schema else None
        yield _DefaultObject(kinds[seed.resource], seed.object, condition, seed)


def _change(api: ServerContext, default: _DefaultObject, key: str, stored: ReadResult) -> Txn | None:
    if stored is None:
        return _create(api, default, key)
    if isinstance(stored, DamagedRecord):
        return None
    new = None if default.seed is None else flows.restored_object(default.seed, object_codec.loaded(stored, default.resource))
    return None if new is None else deletion.plan_update(stored, object_codec.meta(stored.value), new).txn


def _create(api: ServerContext, default: _DefaultObject, key: str) -> Txn:
    object_: Object = {**default.object, "metadata": dict(default.object["metadata"])}
    owners = managed_fields.entries_on_create(api.kinds, Target(default.resource, ""), MANAGER)
    write.prepare_create(api, default.resource, object_, "", owners)
    if default.condition is not None:
        since = object_["metadata"]["creationTimestamp"]
        object_["status"] = {"conditions": [{**default.condition, "lastTransitionTime": since}]}
    value = object_codec.stored(object_)
    return create(key, value, add_entries=index_entries.entries_of(key, object_codec.meta(value)))


def _resource(api: ServerContext, group: str, plural: str) -> Resource:
    resource = api.catalog.find(group, "v1", plural)
    if resource is None:
        raise errors.InvariantViolation(f"there is no resource {plural}")
    return resource
