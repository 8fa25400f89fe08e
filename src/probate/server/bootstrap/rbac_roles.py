"""Creates the default roles and bindings, or adds the rules that they lack, before the server is ready."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.rbac import bootstrap_roles, rule_resolver
from probate.api.rbac.bootstrap_roles import BootstrapObject
from probate.core import errors
from probate.server.bootstrap.namespaces import MANAGER
from probate.server.codec import object_codec
from probate.server.context import ServerContext
from probate.server.objects import deletion, managed_fields, write
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import DamagedRecord, FailedGuards, ReadResult, Txn, create

MAX_ATTEMPTS = 20
"""Attempts, as several servers may do so at once."""


async def ensure_roles(api: ServerContext) -> None:
    """Creates or completes the default roles and bindings."""
    for _ in range(MAX_ATTEMPTS):
        txns = await _missing_changes(api)
        if not txns:
            return
        outcomes = await api.store.commit_many(txns)
        if not any(isinstance(outcome, FailedGuards) for outcome in outcomes) and not any(txn.value is None for txn in txns):
            return
    raise errors.Conflict("the default RBAC roles keep changing while the server starts")


async def _missing_changes(api: ServerContext) -> list[Txn]:
    seeds = bootstrap_roles.bootstrap_objects()
    kinds = {resource: _resource(api, resource) for resource in rule_resolver.RESOURCES}
    keys = [
        storage_keys.object_key(kinds[seed.resource], seed.object["metadata"].get("namespace", ""), _name(seed)) for seed in seeds
    ]
    records = await api.store.read_many(keys)
    rows = zip(seeds, keys, records, strict=True)
    changes = [_change(api, kinds[seed.resource], seed, key, record) for seed, key, record in rows]
    return [txn for txn in changes if txn is not None]


def _change(api: ServerContext, resource: Resource, seed: BootstrapObject, key: str, stored: ReadResult) -> Txn | None:
    if stored is None:
        return _create(api, resource, seed, key)
    if isinstance(stored, DamagedRecord):  # grants nothing until it is deleted; the next start creates it again
        return None
    old = object_codec.loaded(stored, resource)
    if old.get("roleRef") != seed.object.get("roleRef") and not bootstrap_roles.is_protected(old):
        return deletion.plan_removal(
            stored, object_codec.meta(stored.value)
        ).txn  # a roleRef is immutable: the binding is recreated
    new = bootstrap_roles.reconcile(seed, old)
    return None if new is None else deletion.plan_update(stored, object_codec.meta(stored.value), new).txn


def _create(api: ServerContext, resource: Resource, seed: BootstrapObject, key: str) -> Txn:
    namespace = seed.object["metadata"].get("namespace", "")
    object_: dict[str, Any] = {**seed.object, "metadata": dict(seed.object["metadata"])}
    owners = managed_fields.entries_on_create(api.kinds, Target(resource, namespace), MANAGER)
    write.prepare_create(api, resource, object_, namespace, owners)
    value = object_codec.stored(object_)
    return create(key, value, add_entries=index_entries.entries_of(key, object_codec.meta(value)))


def _resource(api: ServerContext, plural: str) -> Resource:
    resource = api.catalog.find(rule_resolver.GROUP, "v1", plural)
    if resource is None:
        raise errors.InvariantViolation(f"there is no resource {plural}")
    return resource


def _name(seed: BootstrapObject) -> str:
    return str(seed.object["metadata"]["name"])
