"""Creates the default roles and bindings, or adds the rules that they lack, before the server is ready."""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.rbac import bootstrap_roles, rule_resolver
from probate.api.rbac.bootstrap_roles import BootstrapObject
from probate.core import errors
from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.server.codec import object_codec
from probate.server.objects import deletion
from probate.server.storage import storage_keys
from probate.store.contract import DamagedRecord, FailedGuards, ReadResult, Store, Txn

MAX_ATTEMPTS = 20
"""Attempts, as several servers may do so at once."""


async def ensure_roles(store: Store, planner: CreationPlanner) -> None:
    """Creates or completes the default roles and bindings."""
    for _ in range(MAX_ATTEMPTS):
        txns = await _missing_changes(store, planner)
        if not txns:
            return
        outcomes = await store.commit_many(txns)
        if not any(isinstance(outcome, FailedGuards) for outcome in outcomes) and not any(txn.value is None for txn in txns):
            return
    raise errors.Conflict("the default RBAC roles keep changing while the server starts")


async def _missing_changes(store: Store, planner: CreationPlanner) -> list[Txn]:
    seeds = bootstrap_roles.bootstrap_objects()
    kinds = {resource: planner.resource(rule_resolver.GROUP, resource) for resource in rule_resolver.RESOURCES}
    keys = [
        storage_keys.object_key(kinds[seed.resource], seed.object["metadata"].get("namespace", ""), _name(seed)) for seed in seeds
    ]
    records = await store.read_many(keys)
    rows = zip(seeds, records, strict=True)
    changes = [_change(planner, kinds[seed.resource], seed, stored=record) for seed, record in rows]
    return [txn for txn in changes if txn is not None]


def _change(planner: CreationPlanner, resource: Resource, seed: BootstrapObject, *, stored: ReadResult) -> Txn | None:
    if stored is None:
        return planner.plan(resource, seed.object)
    if isinstance(stored, DamagedRecord):  # grants nothing until it is deleted; the next start creates it again
        return None
    old = object_codec.loaded(stored, resource)
    if old.get("roleRef") != seed.object.get("roleRef") and not bootstrap_roles.is_protected(old):
        return deletion.plan_removal(
            stored, object_codec.meta(stored.value)
        ).txn  # a roleRef is immutable: the binding is recreated
    new = bootstrap_roles.reconcile(seed, old)
    return None if new is None else deletion.plan_update(stored, object_codec.meta(stored.value), new).txn


def _name(seed: BootstrapObject) -> str:
    return str(seed.object["metadata"]["name"])
