"""The roles and bindings that every server has are there once it serves: added, or completed, at its start."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.rbac import bootstrap_roles, grants
from probate.api.rbac.bootstrap_roles import Seed
from probate.core import errors
from probate.server.bootstrap.namespaces import MANAGER
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.objects import deletion, managed_fields, write
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import Damaged, Found, Refused, Txn, create

MAX_TRIES = 20
"""Several servers may do so at once."""


async def ensure_roles(api: Api) -> None:
    """Add what is missing."""
    for _ in range(MAX_TRIES):
        txns = await _needed(api)
        if not txns:
            return
        outcomes = await api.store.commit_many(txns)
        if not any(isinstance(one, Refused) for one in outcomes) and not any(txn.value is None for txn in txns):
            return
    raise errors.Conflict("the roles that every server has keep changing while it starts")


async def _needed(api: Api) -> list[Txn]:
    seeds = bootstrap_roles.seeds()
    kinds = {resource: _resource(api, resource) for resource in grants.RESOURCES}
    keys = [storage_keys.of(kinds[one.resource], one.object["metadata"].get("namespace", ""), _name(one)) for one in seeds]
    found = await api.store.read_many(keys)
    made = [_change(api, kinds[seed.resource], seed, key, record) for seed, key, record in zip(seeds, keys, found, strict=True)]
    return [txn for txn in made if txn is not None]


def _change(api: Api, resource: Resource, seed: Seed, key: str, there: Found) -> Txn | None:
    if there is None:
        return _new(api, resource, seed, key)
    if isinstance(there, Damaged):  # it grants nothing until it is removed; then the next start makes it anew
        return None
    old = object_codec.loaded(there, resource)
    if old.get("roleRef") != seed.object.get("roleRef") and not bootstrap_roles.is_left_alone(old):
        return deletion.removal(there, object_codec.meta(there.value)).txn  # that cannot be changed: the binding is made anew
    new = bootstrap_roles.mended(seed, old)
    return None if new is None else deletion.change(there, object_codec.meta(there.value), new).txn


def _new(api: Api, resource: Resource, seed: Seed, key: str) -> Txn:
    namespace = seed.object["metadata"].get("namespace", "")
    object_: dict[str, Any] = {**seed.object, "metadata": dict(seed.object["metadata"])}
    owners = managed_fields.creator(api.kinds, Target(resource, namespace), MANAGER)
    write.prepare_new(api, resource, object_, namespace, owners)
    value = object_codec.stored(object_)
    return create(key, value, enter=index_entries.entries(key, object_codec.meta(value)))


def _resource(api: Api, plural: str) -> Resource:
    found = api.catalog.find(grants.GROUP, "v1", plural)
    if found is None:
        raise errors.InvariantViolation(f"there is no resource {plural}")
    return found


def _name(seed: Seed) -> str:
    return str(seed.object["metadata"]["name"])
