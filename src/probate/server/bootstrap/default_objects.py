"""Creates default objects besides namespaces, roles and the server's own Service: priority classes, ServiceCIDR, flow schemas.

FlowSchemas and priority levels are also restored if they were changed, unless their annotation says to keep the changes. Several
servers may do so at once: a conflict means that another server has done it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.kinds.flowcontrol import bootstrap_flows as flows
from probate.kinds.flowcontrol import dangling_references
from probate.kinds.networking import service_cidrs
from probate.kinds.shared import system_priority_classes
from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.server.codec import object_codec
from probate.server.objects import deletion
from probate.server.storage import storage_keys
from probate.store.contract import DamagedRecord, ReadResult, Store, Txn


class _DefaultObject(NamedTuple):
    resource: Resource
    object: Object
    condition: Object | None = None  # the condition in its status
    seed: flows.BootstrapObject | None = None  # set if an existing object may have to be restored


async def ensure(store: Store, planner: CreationPlanner, *, service_addresses: str) -> None:
    """Creates the default objects that are missing. `service_addresses` is the range of cluster IPs."""
    defaults = list(_default_objects(planner, service_addresses))
    keys = [storage_keys.object_key(default.resource, "", default.object["metadata"]["name"]) for default in defaults]
    records = await store.read_many(keys)
    changes = [_change(planner, default, stored) for default, stored in zip(defaults, records, strict=True)]
    txns = [txn for txn in changes if txn is not None]
    if txns:
        await store.commit_many(txns)


def _default_objects(planner: CreationPlanner, service_addresses: str) -> Iterator[_DefaultObject]:
    classes = planner.resource("scheduling.k8s.io", "priorityclasses")
    yield from (_DefaultObject(classes, object_) for object_ in system_priority_classes.objects())
    ranges = planner.resource("networking.k8s.io", "servicecidrs")
    yield _DefaultObject(ranges, service_cidrs.default_service_cidr(service_addresses), service_cidrs.READY)
    kinds = {plural: planner.resource(flows.GROUP, plural) for plural in (flows.LEVELS, flows.SCHEMAS)}
    for seed in flows.bootstrap_objects():
        is_schema = seed.resource == flows.SCHEMAS
        condition = dangling_references.condition(dangling_references.level_of(seed.object), is_there=True) if is_schema else None
        yield _DefaultObject(kinds[seed.resource], seed.object, condition, seed)


def _change(planner: CreationPlanner, default: _DefaultObject, stored: ReadResult) -> Txn | None:
    if stored is None:
        return planner.plan(default.resource, default.object, condition=default.condition)
    if isinstance(stored, DamagedRecord):
        return None
    new = None if default.seed is None else flows.restored_object(default.seed, object_codec.loaded(stored, default.resource))
    return None if new is None else deletion.plan_update(stored, object_codec.meta(stored.value), new).txn
