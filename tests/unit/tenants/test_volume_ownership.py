"""To which tenant a PersistentVolume belongs: by its name, or by the namespace of its claim."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import FailedGuards, Revision, Store
from probate.store.sqlite.store import SqliteStore, open_file, open_memory
from probate.tenants.ownership.ownership_store import OwnershipStore
from support import stored_value_damage
from support.stored_tenants import close_tenant, committed, create_tenant, entries, label_of, remove_tenant, value

ONE, TWO = "111111", "222222"
LABEL = {"kubezoo.io/tenant": ONE}
VOLUME = "objects/persistentvolumes/-/pvc-1"
PREFIXED = "objects/persistentvolumes/-/111111-pvc-1"


@pytest.fixture
async def engine() -> AsyncIterator[SqliteStore]:
    store = await open_memory()
    yield store
    await store.close()


@pytest.fixture
def store(engine: SqliteStore) -> OwnershipStore:
    return OwnershipStore(engine)


def volume(namespace: str = "", labels: dict[str, str] | None = None) -> bytes:
    return value(labels, spec={"claimRef": {"namespace": namespace, "name": "data"}} if namespace else {})


async def label(store: Store, key: str = VOLUME) -> str | None:
    record = await store.read(key)
    assert record is not None
    return label_of(record.value)


async def create(store: Store, stored: bytes, key: str = VOLUME) -> Revision:
    return committed(await store.commit(contract.create(key, stored)))


async def update(store: Store, stored: bytes, key: str = VOLUME) -> Revision:
    record = await store.read(key)
    assert record is not None
    return committed(await store.commit(contract.update(key, stored, revision=record.revision)))


async def test_volume_of_a_claim_of_a_tenant_belongs_to_the_tenant(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    revision = await create(store, volume("111111-web"))
    assert await label(store) == ONE
    assert await entries(store, ONE) == {VOLUME}
    await store.commit(contract.delete(VOLUME, revision=revision))
    assert await entries(store, ONE) == set()


async def test_volume_is_adopted_when_it_is_bound_to_a_claim_of_a_tenant(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await create(store, volume())
    assert await label(store) is None
    await update(store, volume("111111-web"))
    assert await label(store) == ONE
    assert await entries(store, ONE) == {VOLUME}


async def test_adopted_volume_stays_in_the_tenant_without_its_claim(store: OwnershipStore) -> None:
    """It holds the tenant's data."""
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    await create(store, volume("111111-web"))
    await update(store, volume())
    await update(store, volume("222222-web"))
    assert await label(store) == ONE
    [(_, revision)] = [
        (record.key, record.revision) for record in (await store.scan("objects/persistentvolumes/", limit=9)).records
    ]
    await store.commit_many([contract.delete(VOLUME, revision=revision)])
    assert await entries(store, ONE) == await entries(store, TWO) == set()


async def test_volume_is_not_adopted_by_a_terminating_tenant(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await create(store, volume())
    await close_tenant(store, ONE)
    with pytest.raises(errors.Forbidden, match="terminated"):
        await update(store, volume("111111-web"))
    with pytest.raises(errors.Forbidden, match="terminated"):
        await create(store, volume("111111-web"), "objects/persistentvolumes/-/other")
    await update(store, volume("default"))
    committed(await remove_tenant(store, ONE))


async def test_volume_of_a_namespace_that_was_nobodys_can_be_updated_while_a_tenant_of_that_name_terminates(
    store: OwnershipStore,
) -> None:
    """Its claim is long gone, and the namespace is now that of a tenant: nothing but adoption is refused."""
    await create(store, volume("111111-web"))
    await create_tenant(store, ONE)
    await close_tenant(store, ONE)
    await update(store, value(spec={"claimRef": {"namespace": "111111-web"}, "capacity": {}}))
    assert await label(store) is None


async def test_stale_absence_adopts_a_volume(engine: SqliteStore) -> None:
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    await create(stale, volume("111111-web"))
    await create_tenant(other, ONE)
    await update(stale, value(spec={"claimRef": {"namespace": "111111-web", "uid": "u"}}))
    assert await label(engine) == ONE
    assert await entries(engine, ONE) == {VOLUME}


async def test_volume_named_as_those_of_one_tenant_is_not_created_for_the_claim_of_another(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    with pytest.raises(errors.Forbidden, match="tenant 111111 and to tenant 222222"):
        await create(store, volume("222222-web"), PREFIXED)


async def test_label_of_a_volume_is_that_of_its_claim(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    with pytest.raises(errors.Invalid):
        await create(store, volume("222222-web", LABEL))
    await create(store, volume())
    with pytest.raises(errors.Invalid):
        await update(store, volume("222222-web", LABEL))
    with pytest.raises(errors.Invalid):
        await update(store, volume("", LABEL))
    await update(store, volume("111111-web", LABEL))
    assert await entries(store, ONE) == {VOLUME}


async def test_volume_with_the_prefix_leaves_its_tenant_when_it_is_deleted(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    revision = await create(store, volume("111111-web"), PREFIXED)
    assert await entries(store, ONE) == {PREFIXED}
    await store.commit(contract.delete(PREFIXED, revision=revision))
    assert await entries(store, ONE) == set()


async def test_damaged_volume_leaves_its_tenant_when_it_is_deleted(tmp_path: Path) -> None:
    """Nothing can read its label: the index says whose it is."""
    folder = stored_value_damage.SqliteFile(tmp_path)
    engine = await open_file(folder.path)
    store = OwnershipStore(engine)
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    await create(store, volume("222222-web"), "objects/persistentvolumes/-/other")
    revision = await create(store, volume("111111-web"))
    stored_value_damage.flip_bit(folder, VOLUME)
    with pytest.raises(errors.DamagedObject):
        await store.read(VOLUME)
    committed(await store.commit(contract.delete(VOLUME, revision=revision)))
    assert await entries(store, ONE) == set()
    assert await entries(store, TWO) == {"objects/persistentvolumes/-/other"}
    await store.close()


async def test_delete_of_an_outdated_volume_fails_on_its_own_guard(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    revision = await create(store, volume("111111-web"))
    await update(store, volume())
    failed = FailedGuards((contract.Unchanged(VOLUME, revision),))
    assert await store.commit(contract.delete(VOLUME, revision=revision)) == failed
    assert await store.commit(contract.update(VOLUME, volume(), revision=revision)) == failed
    assert await entries(store, ONE) == {VOLUME}
