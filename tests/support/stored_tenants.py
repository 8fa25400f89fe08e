"""Tenants and their objects, written directly to a store: how the server opens, closes and removes a tenant."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api import tenants
from probate.store import contract
from probate.store.contract import CommitResult, EmptyRange, FailedGuards, Revision, Store


def value(labels: dict[str, str] | None = None, **fields: Any) -> bytes:
    """Returns a stored object."""
    return orjson.dumps({"metadata": {"name": "x", **({"labels": labels} if labels else {})}, **fields})


def label_of(stored: bytes) -> str | None:
    """Returns the tenant's label of a stored object."""
    label: str | None = (orjson.loads(stored)["metadata"].get("labels") or {}).get(tenants.TENANT_LABEL)
    return label


async def create_tenant(store: Store, tenant: str) -> CommitResult:
    """Creates an open tenant, if nothing is named as its objects would be."""
    guards = [EmptyRange(tenants.content_range(tenant))]
    return await store.commit(
        contract.create(tenants.tenant_key(tenant), value(), add_entries=[tenants.open_entry(tenant)], guards=guards)
    )


async def close_tenant(store: Store, tenant: str) -> CommitResult:
    """Marks a tenant as being deleted, and closes it."""
    current = await store.read(tenants.tenant_key(tenant))
    assert current is not None
    deleted = orjson.dumps({"metadata": {"name": tenant, "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    return await store.commit(
        contract.update(current.key, deleted, revision=current.revision, remove_entries=[tenants.open_entry(tenant)])
    )


async def remove_tenant(store: Store, tenant: str) -> CommitResult:
    """Removes a closed tenant if it is empty."""
    current = await store.read(tenants.tenant_key(tenant))
    assert current is not None
    guards = [EmptyRange(tenants.content_range(tenant))]
    return await store.commit(contract.delete(current.key, revision=current.revision, guards=guards))


async def entries(store: Store, tenant: str) -> set[str]:
    """Returns the keys of the objects that the index lists for a tenant."""
    prefix = tenants.content_range(tenant)
    return {record.key.removeprefix(prefix) for record in (await store.scan(prefix, limit=1000)).records}


def committed(result: CommitResult) -> Revision:
    """Returns the revision of a transaction that must have been committed."""
    assert not isinstance(result, FailedGuards), result
    return result
