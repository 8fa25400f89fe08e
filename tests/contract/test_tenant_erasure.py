"""Whether the history of a deleted tenant is gone, on each engine: what is not known is never called gone."""

from __future__ import annotations

import asyncio

from probate.store import contract
from probate.store.contract import NO_REVISION, Revision, Store
from probate.tenants.ownership.erasure import Erasure, erasure
from support.stored_tenants import committed, create_tenant, remove_tenant, value

ONE, TWO = "111111", "222222"


async def of(store: Store, tenant: str = ONE) -> Erasure:
    return await erasure(store, tenant, lambda: asyncio.sleep(0))


async def lived(store: Store, tenant: str = ONE) -> Revision:
    """Creates and removes a tenant with a pod. Returns the revision of its removal."""
    committed(await create_tenant(store, tenant))
    key = f"objects/pods/{tenant}-web/p"
    revision = committed(await store.commit(contract.create(key, value())))
    committed(await store.commit(contract.delete(key, revision=revision)))
    return committed(await remove_tenant(store, tenant))


async def write(store: Store, name: str = "x") -> Revision:
    return committed(await store.commit(contract.create(f"objects/configmaps/default/{name}", b"{}")))


async def test_tenant_that_exists_is_not_erased(store: Store) -> None:
    await create_tenant(store, ONE)
    found = await of(store)
    assert (found.erased, found.message) == (False, "the tenant exists")
    await store.compact(await store.revision())
    assert (await of(store)).erased is False


async def test_history_that_has_the_removal_is_not_erased(store: Store) -> None:
    removed = await lived(store)
    await write(store)
    found = await of(store)
    assert (found.erased, found.removed) == (False, removed)
    assert f"removed at revision {removed}" in found.message
    await store.compact(Revision(removed - 1))
    assert (await of(store))[:3] == (removed - 1, removed, False)


async def test_history_that_begins_with_the_removal_or_later_is_erased(store: Store) -> None:
    removed = await lived(store)
    await create_tenant(store, TWO)
    await store.compact(removed)
    assert (await of(store))[:3] == (removed, NO_REVISION, True)
    now = await write(store)
    await store.compact(now)
    assert (await of(store))[:3] == (now, NO_REVISION, True)


async def test_later_tenant_of_the_same_id_counts(store: Store) -> None:
    await store.compact(await lived(store))
    assert (await of(store)).erased is True
    removed = await lived(store)
    assert (await of(store))[1:3] == (removed, False)


async def test_tenant_that_never_was_is_erased(store: Store) -> None:
    await lived(store, TWO)
    assert (await of(store)).erased is True
