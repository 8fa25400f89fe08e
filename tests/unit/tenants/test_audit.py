"""The audit finds every way in which objects and the indexes of tenants can differ, and nothing if they do not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from probate.api import tenants
from probate.store import contract
from probate.store.contract import EmptyRange, Store, Txn
from probate.store.sqlite.store import SqliteStore, open_file, open_memory
from probate.tenants.ownership import audit as auditing
from probate.tenants.ownership.audit import MAX_FINDINGS, audit
from probate.tenants.ownership.ownership_store import OwnershipStore
from support import stored_value_damage
from support.stored_tenants import close_tenant, committed, create_tenant, value

ONE, TWO, NOBODY = "111111", "222222", "333333"
POD, ROLE = "objects/pods/111111-web/p", "objects/clusterroles.rbac.authorization.k8s.io/-/111111-r"
VOLUME = "objects/persistentvolumes/-/v"


@pytest.fixture
async def engine() -> AsyncIterator[SqliteStore]:
    """The store below the layer, in which anything can be written, with two tenants."""
    store = await open_memory()
    for tenant in (ONE, TWO):
        await create_tenant(store, tenant)
    yield store
    await store.close()


def labelled(tenant: str) -> dict[str, str]:
    return {tenants.TENANT_LABEL: tenant}


async def found(store: Store, tenant: str = "") -> set[tuple[str, str]]:
    return {(finding.finding, finding.key) for finding in (await audit(store, tenant)).findings}


async def create(store: Store, key: str, stored: bytes | None = None, *entries: str) -> Txn:
    txn = contract.create(key, value() if stored is None else stored, add_entries=entries)
    committed(await store.commit(txn))
    return txn


def entry(tenant: str, key: str) -> str:
    return tenants.content_entry(tenant, key)


async def test_nothing_is_found_in_what_the_layer_writes(engine: SqliteStore) -> None:
    store = OwnershipStore(engine)
    claimed = value(spec={"claimRef": {"namespace": "222222-web"}})
    for key in (POD, ROLE, "objects/pods/333333-web/p", "objects/namespaces/-/333333-web", "objects/pods/default/p"):
        await create(store, key)
    await create(store, VOLUME, claimed)
    await create(store, "objects/foos.333333-a.com/-/111111-x")
    await close_tenant(store, ONE)
    report = await audit(store)
    assert (report.findings, report.rows, report.entries) == ((), 6, 6)
    assert report.revision == await store.revision()
    one = await audit(store, ONE)
    assert (one.tenant, one.findings, one.rows, one.entries) == (ONE, (), 3, 3)
    assert orjson.loads(orjson.dumps(one.as_object())) == {
        "revision": one.revision,
        "tenant": ONE,
        "rows": 3,
        "entries": 3,
        "findings": [],
    }


async def test_label_of_a_tenant_that_does_not_exist(engine: SqliteStore) -> None:
    key = "objects/pods/333333-web/p"
    await create(engine, key, value(labelled(NOBODY)), entry(NOBODY, key))
    await create(engine, "objects/pods/default/p", value(labelled("not an id")))
    expected = {("UnknownTenant", key)}
    assert await found(engine, NOBODY) == expected
    other = "objects/pods/default/p"
    assert await found(engine) == expected | {("UnknownTenant", other), ("WrongLabel", other)}


async def test_object_with_the_prefix_without_label_and_entry(engine: SqliteStore) -> None:
    for key in (POD, ROLE):
        await create(engine, key)
    assert await found(engine, ONE) == {("MissingLabel", POD), ("MissingLabel", ROLE)}
    assert await found(engine, TWO) == set()


async def test_object_with_the_label_without_entry(engine: SqliteStore) -> None:
    await create(engine, POD, value(labelled(ONE)))
    await create(engine, VOLUME, value(labelled(ONE)))
    assert await found(engine) == {("MissingEntry", POD), ("MissingEntry", VOLUME)}


async def test_label_that_contradicts_the_prefix(engine: SqliteStore) -> None:
    await create(engine, POD, value(labelled(TWO)), entry(TWO, POD))
    default = "objects/pods/default/p"
    await create(engine, default, value(labelled(TWO)), entry(TWO, default))
    assert await found(engine, TWO) == await found(engine) == {("WrongLabel", POD), ("WrongLabel", default)}
    assert await found(engine, ONE) == {("WrongLabel", POD)}


async def test_entry_without_its_object(engine: SqliteStore) -> None:
    await create(engine, "objects/pods/default/p", None, entry(ONE, POD), entry(NOBODY, POD), "tenant/111111/no/object")
    expected = {("StrayEntry", entry(ONE, POD)), ("StrayEntry", "tenant/111111/no/object")}
    assert await found(engine, ONE) == expected
    assert await found(engine) == expected | {("StrayEntry", entry(NOBODY, POD))}


async def test_entry_of_an_object_of_another(engine: SqliteStore) -> None:
    await create(engine, POD, value(labelled(ONE)), entry(ONE, POD), entry(TWO, POD))
    await create(engine, "objects/pods/default/p", None, entry(TWO, "objects/pods/default/p"))
    assert await found(engine) == {("StrayEntry", entry(TWO, POD)), ("StrayEntry", entry(TWO, "objects/pods/default/p"))}


async def test_entry_of_a_namespaced_object_reserves_no_name(engine: SqliteStore) -> None:
    key, role = "objects/pods/333333-web/p", "objects/clusterroles.rbac.authorization.k8s.io/-/333333-r"
    await create(engine, key, None, entry(NOBODY, key))
    await create(engine, role, None, entry(NOBODY, role))
    assert await found(engine) == {("StrayEntry", entry(NOBODY, key))}


@pytest.mark.parametrize("created_at", ["2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"])
async def test_object_that_was_created_after_the_deletion_of_its_tenant_began(engine: SqliteStore, created_at: str) -> None:
    stored = orjson.dumps({"metadata": {"labels": labelled(ONE), "creationTimestamp": created_at}})
    await create(engine, POD, stored, entry(ONE, POD))
    await close_tenant(engine, ONE)
    assert await found(engine, ONE) == set()
    await create(engine, ROLE, stored, entry(ONE, ROLE))
    assert await found(engine, ONE) == {("CreatedTooLate", ROLE)}


async def test_status_of_a_terminating_tenant_hides_no_object_that_was_created_too_late(engine: SqliteStore) -> None:
    await close_tenant(engine, ONE)
    stored = orjson.dumps({"metadata": {"labels": labelled(ONE), "creationTimestamp": "2026-01-01T00:00:05Z"}})
    await create(engine, POD, stored, entry(ONE, POD))
    tenant = await engine.read(tenants.tenant_key(ONE))
    assert tenant is not None
    committed(await engine.commit(contract.update(tenant.key, tenant.value + b" ", revision=tenant.revision)))
    assert await found(engine, ONE) == {("CreatedTooLate", POD)}
    await engine.compact(await engine.revision())
    assert await found(engine, ONE) == {("CreatedTooLate", POD)}


async def test_object_created_in_the_second_in_which_the_deletion_of_its_tenant_began_is_no_finding(engine: SqliteStore) -> None:
    stored = orjson.dumps({"metadata": {"labels": labelled(ONE), "creationTimestamp": "2026-01-01T00:00:00Z"}})
    await create(engine, POD, stored, entry(ONE, POD))
    await close_tenant(engine, ONE)
    assert await found(engine, ONE) == set()
    await engine.compact(await engine.revision())
    assert await found(engine, ONE) == set()


async def test_open_entries(engine: SqliteStore) -> None:
    await create(engine, "objects/pods/default/p", None, tenants.open_entry(NOBODY))
    await close_tenant(engine, ONE)
    await create(engine, "objects/pods/default/q", None, tenants.open_entry(ONE))
    await create(engine, tenants.tenant_key("444444"))
    expected = {
        ("StrayOpenEntry", "tenant-open/333333"),
        ("StrayOpenEntry", "tenant-open/111111"),
        ("MissingOpenEntry", "tenant-open/444444"),
    }
    assert await found(engine) == expected
    assert await found(engine, ONE) == {("StrayOpenEntry", "tenant-open/111111")}
    assert await found(engine, NOBODY) == {("StrayOpenEntry", "tenant-open/333333")}


async def test_damaged_objects_are_compared_by_their_keys(tmp_path: Path) -> None:
    folder = stored_value_damage.SqliteFile(tmp_path)
    engine = await open_file(folder.path)
    await create_tenant(engine, ONE)
    for key in (POD, VOLUME):
        await create(engine, key, value(labelled(ONE)), entry(ONE, key))
    await create(engine, ROLE)
    for key in (POD, VOLUME, ROLE):
        stored_value_damage.flip_bit(folder, key)
    assert await found(engine) == {("MissingEntry", ROLE)}
    stored_value_damage.flip_bit(folder, tenants.tenant_key(ONE))
    assert await found(engine) == {("MissingEntry", ROLE)}
    await engine.close()


async def test_change_during_the_audit_is_no_finding(engine: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects are read before entries, and both while they change."""
    store = OwnershipStore(engine)
    await create(store, POD)
    await create(store, ROLE)
    plain = engine.read_many
    is_first = iter((True,))

    async def changing(keys: list[str]) -> list[contract.ReadResult]:
        if entry(ONE, POD) in keys and next(is_first, False):
            pod = await engine.read(POD)
            assert pod is not None
            await store.commit(contract.delete(POD, revision=pod.revision))
            await create(store, "objects/pods/111111-web/q")
        return await plain(keys)

    monkeypatch.setattr(engine, "read_many", changing)
    assert await found(engine) == set()
    assert next(is_first, False) is False


async def test_report_ends_after_many_findings(engine: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "MAX_FINDINGS", 3)
    for number in range(5):
        await create(engine, f"{POD}{number}")
    assert len((await audit(engine)).findings) == 3 < MAX_FINDINGS


async def test_audit_reads_every_page(engine: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "PAGE", 2)
    store = OwnershipStore(engine)
    for number in range(7):
        await create(store, f"{POD}{number}")
    await create(engine, f"{POD}x")
    report = await audit(store)
    assert (report.rows, report.entries, [one.key for one in report.findings]) == (8, 7, [f"{POD}x"])


async def test_tenant_that_is_finalized_leaves_nothing(engine: SqliteStore) -> None:
    await close_tenant(engine, ONE)
    tenant = await engine.read(tenants.tenant_key(ONE))
    assert tenant is not None
    guards = [EmptyRange(tenants.content_range(ONE))]
    committed(await engine.commit(contract.delete(tenant.key, revision=tenant.revision, guards=guards)))
    report = await audit(engine, ONE)
    assert (report.findings, report.rows, report.entries) == ((), 0, 0)
