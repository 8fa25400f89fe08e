"""PersistentVolumes that the platform created for a tenant's claim: they are the tenant's, under their own names."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from probate.api import tenants
from probate.store import contract
from probate.store.contract import Absent, Event, Record, Unchanged
from support import store_operations as steps
from support import tenant_stores
from support.tenant_stores import Cluster

VOLUMES = "objects/persistentvolumes/-"
KEY = f"{VOLUMES}/pvc-1"
CLAIM = "objects/persistentvolumeclaims/web/c"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with tenant_stores.cluster() as cluster:
        yield cluster


def volume(name: str, namespace: str, **labels: str) -> bytes:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return orjson.dumps(
        {"metadata": metadata, "spec": {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": "c"}}}
    )


def provisioned(tenant: str = "111111", name: str = "pvc-1") -> bytes:
    return volume(name, f"{tenant}-web", **{tenants.TENANT_LABEL: tenant})


def claim(volume_name: str, **labels: str) -> bytes:
    return orjson.dumps(
        {"metadata": {"name": "c", "namespace": "web", "labels": {"a": "b", **labels}}, "spec": {"volumeName": volume_name}}
    )


async def test_volume_is_seen_by_its_tenant_among_the_others_and_by_nobody_else(cluster: Cluster) -> None:
    view = cluster.view()
    revision = await steps.create(cluster.physical, KEY, provisioned())
    for name in ("a", "z"):
        await steps.create(view, f"{VOLUMES}/{name}", volume(name, "web"))
    await steps.create(cluster.physical, f"{VOLUMES}/disk", volume("disk", "default"))
    expected = [f"{VOLUMES}/a", KEY, f"{VOLUMES}/z"]
    assert await view.read(KEY) == Record(KEY, volume("pvc-1", "web"), revision)
    for size in (1, 2, 3):
        assert [record.key for record in await steps.records(view, "objects/persistentvolumes/", size=size)] == expected
    assert [record.key for record in await steps.records(view, f"{VOLUMES}/", at=await view.revision())] == expected
    assert await view.count(f"{VOLUMES}/") == 3
    assert await steps.list_keys(cluster.view("222222"), "objects/") == []
    assert await cluster.view("222222").read(KEY) is None


@pytest.mark.parametrize("tenant", ["111111", "zebra1"])
async def test_volume_of_the_platform_hides_one_of_the_same_name(cluster: Cluster, tenant: str) -> None:
    view = cluster.view(tenant)
    await steps.create(view, KEY, volume("pvc-1", "web"))
    before = await view.revision()
    revision = await steps.create(cluster.physical, KEY, provisioned(tenant))
    for at in (None, revision):
        assert [record.revision for record in await steps.records(view, "objects/persistentvolumes/", at=at)] == [revision]
    assert [record.revision for record in await steps.records(view, "objects/persistentvolumes/", at=before)] == [before]
    assert await view.read(KEY) == Record(KEY, volume("pvc-1", "web"), revision)


async def test_volume_is_watched_from_its_creation_or_adoption(cluster: Cluster) -> None:
    """A volume of the platform becomes the tenant's when it is bound to the tenant's claim."""
    view = cluster.view()
    start = await steps.create(cluster.physical, KEY, volume("pvc-1", ""))
    record = contract.update(KEY, provisioned(), revision=start, add_entries=[tenants.content_entry("111111", KEY)])
    adopted = await steps.commit(cluster.physical, record)
    deleted = await steps.delete(cluster.physical, KEY, adopted)
    seen = volume("pvc-1", "web")
    for prefix in ("objects/persistentvolumes/", "objects/"):
        assert await steps.collect_events(view, prefix, after=contract.NO_REVISION, last=deleted) == [
            Event(adopted, KEY, seen, None),
            Event(deleted, KEY, None, Record(KEY, seen, adopted)),
        ]


async def test_tenant_changes_and_deletes_its_volume_under_the_platforms_name(cluster: Cluster) -> None:
    view = cluster.view()
    created = await steps.create(cluster.physical, KEY, provisioned())
    entry = f"waiting/u/{KEY}"
    changed = volume("pvc-1", "web", colour="red")
    updated = await steps.commit(
        view, contract.update(KEY, changed, revision=created, add_entries=[entry], guards=[Unchanged(KEY, created)])
    )
    stored = orjson.loads((await cluster.physical.read(KEY)).value)
    assert stored["metadata"] == {"name": "pvc-1", "labels": {"colour": "red", tenants.TENANT_LABEL: "111111"}}
    assert stored["spec"]["claimRef"]["namespace"] == "111111-web"
    assert await cluster.physical.read(entry) is not None
    assert await steps.failed_guards(view, contract.create(KEY, changed)) == (Absent(KEY),)
    await steps.commit(view, contract.delete(KEY, revision=updated, remove_entries=[entry]))
    assert await cluster.physical.count("waiting/") == 0
    assert await view.read(KEY) is None


async def test_volume_of_another_tenant_is_absent_for_writes_too(cluster: Cluster) -> None:
    created = await steps.create(cluster.physical, KEY, provisioned("222222"))
    view = cluster.view()
    txn = contract.update(KEY, volume("pvc-1", "web"), revision=created)
    assert await steps.failed_guards(view, txn) == (Unchanged(KEY, created),)
    await steps.create(view, KEY, volume("pvc-1", "web"))
    assert await cluster.physical.read(f"{VOLUMES}/111111-pvc-1") is not None
    assert (await cluster.physical.read(KEY)).revision == created


async def test_claim_keeps_the_name_of_its_volume_when_the_tenant_changes_the_claim(cluster: Cluster) -> None:
    """Also when the volume is gone, or was never the tenant's."""
    view, physical = cluster.view(), cluster.physical
    physical_claim = "objects/persistentvolumeclaims/111111-web/c"
    for name in ("pvc-1", "nfs"):
        bound = claim(name).replace(b'"web"', b'"111111-web"')
        revision = await steps.create(physical, physical_claim, bound)
        assert (await view.read(CLAIM)).value == claim(name)  # type: ignore[union-attr]
        revision = await steps.update(view, CLAIM, claim(name, new="label"), revision=revision)
        stored = orjson.loads((await physical.read(physical_claim)).value)
        assert stored["spec"]["volumeName"] == name
        assert (await view.read(CLAIM)).value == claim(name, new="label")  # type: ignore[union-attr]
        await steps.delete(view, CLAIM, revision)


@pytest.mark.parametrize(("name", "stored_name"), [("pvc-1", "pvc-1"), ("own", "111111-own"), ("pvc-2", "111111-pvc-2")])
async def test_new_claim_names_the_volume_that_the_tenant_sees(cluster: Cluster, name: str, stored_name: str) -> None:
    await steps.create(cluster.physical, KEY, provisioned())
    await steps.create(cluster.physical, f"{VOLUMES}/pvc-2", provisioned("222222", "pvc-2"))
    await steps.create(cluster.view(), CLAIM, claim(name))
    stored = orjson.loads((await cluster.physical.read("objects/persistentvolumeclaims/111111-web/c")).value)
    assert stored["spec"]["volumeName"] == stored_name
    assert (await cluster.view().read(CLAIM)).value == claim(name)  # type: ignore[union-attr]
