"""The layer that records tenants, on each engine: the life of a tenant, from its names being taken to its removal."""

from __future__ import annotations

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import FailedGuards, Record, Store
from probate.store.etcd.store import EtcdStore
from probate.store.sqlite.store import SqliteStore
from probate.tenants.ownership.audit import audit
from probate.tenants.ownership.ownership_store import OwnershipStore
from probate.tenants.ownership.transaction_planner import RESERVED
from support.store_engines import ModelStore
from support.stored_tenants import close_tenant, committed, create_tenant, entries, remove_tenant, value

TENANT = "111111"
NAMESPACE, POD, OTHER = "objects/namespaces/-/111111-web", "objects/pods/111111-web/p", "objects/pods/default/p"


@pytest.fixture
def servers(store: Store) -> tuple[OwnershipStore, OwnershipStore]:
    """Two servers on one engine: what one of them knows of a tenant becomes stale when the other changes it."""
    if not isinstance(store, SqliteStore | EtcdStore | ModelStore):
        pytest.skip("it is a layer already")
    return OwnershipStore(store), OwnershipStore(store)


async def test_life_of_a_tenant(servers: tuple[OwnershipStore, OwnershipStore]) -> None:
    one, other = servers
    revision = committed(await one.commit(contract.create(NAMESPACE, value())))
    assert isinstance(await create_tenant(other, TENANT), FailedGuards)
    await one.commit(contract.delete(NAMESPACE, revision=revision))
    committed(await create_tenant(other, TENANT))
    results = await one.commit_many([contract.create(key, value()) for key in (NAMESPACE, POD, OTHER)])
    assert [bool(committed(result)) for result in results] == [True] * 3
    assert await entries(other, TENANT) == {NAMESPACE, POD}
    await close_tenant(other, TENANT)
    with pytest.raises(errors.Forbidden):
        await one.commit(contract.create(f"{POD}2", value()))
    assert isinstance(await remove_tenant(other, TENANT), FailedGuards)
    assert (await audit(one)).findings == ()
    found = [record for record in await one.read_many([POD, NAMESPACE]) if isinstance(record, Record)]
    await one.commit_many([contract.delete(record.key, revision=record.revision) for record in found])
    committed(await remove_tenant(other, TENANT))
    assert await one.count("tenant/") == await one.count("tenant-open/") == 0


async def test_object_of_a_tenant_with_the_most_entries_can_be_deleted(servers: tuple[OwnershipStore, OwnershipStore]) -> None:
    store, _ = servers
    await create_tenant(store, TENANT)
    most = [f"owned/u{number}/x" for number in range(store.limits.entries - RESERVED)]
    revision = committed(await store.commit(contract.create(POD, value(), add_entries=most)))
    committed(await store.commit(contract.delete(POD, revision=revision, remove_entries=most)))
    assert await store.count("owned/") == await store.count("tenant/") == 0
