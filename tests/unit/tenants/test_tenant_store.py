"""TenantStore: what a tenant writes is stored under its names in the physical view, and nothing of others is ever seen."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import orjson
import pytest

from probate.api import tenants
from probate.api.catalog import Catalog, Resource
from probate.core import errors
from probate.store import contract
from probate.store.contract import Absent, DamagedRecord, EmptyRange, Guard, ReadResult, Record, Revision, Unchanged
from probate.tenants.store_view.tenant_store import TenantStore
from support import store_operations as steps
from support import tenant_stores
from support.tenant_stores import Cluster

POD = "objects/pods/web/p"
NAMESPACE = "objects/namespaces/-/web"
NAMED = b'{"metadata":{"name":"x"}}'
CRDS = "objects/customresourcedefinitions.apiextensions.k8s.io/-"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with tenant_stores.cluster() as cluster:
        yield cluster


def pod(name: str = "p", namespace: str = "web", **labels: str) -> bytes:
    metadata = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    return orjson.dumps({"metadata": metadata, "spec": {"priorityClassName": "high"}})


async def test_object_is_stored_under_the_physical_names_with_the_label_and_read_back_as_written(cluster: Cluster) -> None:
    view = cluster.view()
    revision = await steps.create(view, POD, pod())
    assert await view.read(POD) == Record(POD, pod(), revision)
    stored = await cluster.physical.read("objects/pods/111111-web/p")
    assert orjson.loads(stored.value) == {
        "metadata": {"name": "p", "namespace": "111111-web", "labels": {tenants.TENANT_LABEL: "111111"}},
        "spec": {"priorityClassName": "111111-high"},
    }


async def test_objects_of_another_tenant_and_of_the_platform_are_absent(cluster: Cluster) -> None:
    for key in ("objects/pods/222222-web/p", "objects/pods/web/p", "objects/namespaces/-/222222-web", "objects/namespaces/-/web"):
        await steps.create(cluster.physical, key, NAMED)
    view = cluster.view()
    assert await view.read_many([POD, NAMESPACE, "objects/pods/222222-web/p"]) == [None, None, None]
    assert await view.read(POD) is None
    assert await view.read(POD, at=await view.revision()) is None
    assert await steps.list_keys(view, "objects/") == []
    assert await view.child_prefixes("objects/") == []
    assert await view.nonempty_ranges(["objects/pods/", "objects/namespaces/-/", "objects/pods/web/"]) == set()
    await steps.create(view, POD, pod())


async def test_name_that_begins_with_the_id_gets_the_prefix_all_the_same(cluster: Cluster) -> None:
    view, key = cluster.view(), "objects/namespaces/-/111111-web"
    await steps.create(view, key, b'{"metadata":{"name":"111111-web"}}')
    assert await cluster.physical.read("objects/namespaces/-/111111-111111-web") is not None
    assert await steps.list_keys(view, "objects/namespaces/") == [key]


async def test_failed_guards_are_those_that_the_tenant_stated(cluster: Cluster) -> None:
    view = cluster.view()
    there = await steps.create(view, NAMESPACE, NAMED)
    await steps.create(view, POD, pod())
    guards: list[Guard] = [
        Unchanged(NAMESPACE, there),
        Absent(POD),
        EmptyRange("objects/pods/"),
        EmptyRange("objects/pods/web/"),
        EmptyRange("owned/u/web/"),
        Absent("quota/web"),
        Unchanged("quota/web", there),
        Absent(POD),
    ]
    failed = await steps.failed_guards(view, contract.create("objects/pods/web/q", pod("q"), guards=guards))
    assert failed == (
        Absent(POD),
        EmptyRange("objects/pods/"),
        EmptyRange("objects/pods/web/"),
        Unchanged("quota/web", there),
        Absent(POD),
    )


@pytest.mark.parametrize("prefix", ["objects/", "owned/", "since/", "custom/Foo.a.com/", "objects/storageclasses.storage.k8s.io/"])
async def test_range_that_others_have_a_part_of_cannot_be_a_guard(cluster: Cluster, prefix: str) -> None:
    with pytest.raises(errors.BadRequest, match="name a smaller one"):
        await cluster.view().commit(contract.create(POD, pod(), guards=[EmptyRange(prefix)]))


async def test_labels_of_tenant_cannot_be_forged(cluster: Cluster) -> None:
    with pytest.raises(errors.Invalid, match="which cannot be changed"):
        await steps.create(cluster.view(), POD, pod(**{tenants.TENANT_LABEL: "222222"}))
    assert await steps.list_keys(cluster.physical, "objects/pods/") == []


async def test_custom_resources_of_two_tenants_with_the_same_group_are_different_ones(cluster: Cluster) -> None:
    views = [cluster.view(), cluster.view("222222")]
    for number, view in enumerate(views):
        key = f"objects/foos.a.com/web/{number}"
        await steps.create(
            view, key, orjson.dumps({"metadata": {"name": str(number), "namespace": "web"}, "apiVersion": "a.com/v1"})
        )
        await steps.create(view, "objects/foos.a.com/-/c", b'{"metadata":{"name":"c"}}')
        assert await steps.list_keys(view, "objects/foos.a.com/") == ["objects/foos.a.com/-/c", key]
        assert await view.count("objects/foos.a.com/", after="objects/foos.a.com/-/c") == 1
        assert await view.child_prefixes("objects/foos.a.com/") == ["objects/foos.a.com/-/", "objects/foos.a.com/web/"]
    assert await cluster.physical.child_prefixes("objects/") == ["objects/foos.111111-a.com/", "objects/foos.222222-a.com/"]


async def test_scope_of_a_custom_resource_is_that_of_the_newest_catalog(cluster: Cluster) -> None:
    """Its objects are listed whether the scope is known yet or not."""
    foos = Resource(
        group="a.com", version="v1", plural="foos", kind="Foo", singular="foo", is_namespaced=False, verbs=(), is_custom=True
    )
    for kinds in (tenant_stores.KINDS, Catalog([*tenant_stores.KINDS, foos])):
        view = cluster.view(kinds=kinds)
        if await view.read("objects/foos.a.com/-/x") is None:
            await steps.create(view, "objects/foos.a.com/-/x", b'{"metadata":{"name":"x"}}')
        assert await steps.list_keys(view, "objects/foos.a.com/") == ["objects/foos.a.com/-/x"]
        owner = {"apiVersion": "a.com/v1", "kind": "Foo", "name": "x", "uid": "u"}
        value = orjson.dumps({"metadata": {"name": "p", "namespace": "web", "ownerReferences": [owner]}})
        record = await view.read(POD)
        await steps.commit(view, contract.update(POD, value, revision=record.revision) if record else contract.create(POD, value))
        assert (await steps.values(view, "objects/pods/"))[POD] == value
    stored = orjson.loads((await cluster.physical.read("objects/pods/111111-web/p")).value)
    assert stored["metadata"]["ownerReferences"][0]["name"] == "111111-x"


async def test_crds_are_listed_in_the_order_of_the_tenants_names_at_every_revision(cluster: Cluster) -> None:
    view = cluster.view()
    names = ["foos.a.com", "bars.z.com", "foos2.a.com"]
    moments = [
        await steps.create(
            view, f"{CRDS}/{name}", orjson.dumps({"metadata": {"name": name}, "spec": {"group": name.partition(".")[2]}})
        )
        for name in names
    ]
    await steps.create(cluster.view("222222"), f"{CRDS}/foos.a.com", b'{"metadata":{"name":"foos.a.com"}}')
    expected = [f"{CRDS}/{name}" for name in sorted(names)]
    assert await steps.list_keys(view, f"{CRDS}/") == expected
    assert [record.key for record in await steps.records(view, f"{CRDS}/", size=1)] == expected
    assert [record.key for record in await steps.records(view, f"{CRDS}/", at=moments[0])] == [f"{CRDS}/foos.a.com"]
    assert (await view.count(f"{CRDS}/"), await view.count(f"{CRDS}/", at=moments[1])) == (3, 2)
    stored = await cluster.physical.read(f"{CRDS}/foos.111111-a.com")
    assert orjson.loads(stored.value)["spec"] == {"group": "111111-a.com"}


async def test_object_that_changes_while_the_index_is_read_is_listed_as_it_was(cluster: Cluster) -> None:
    """A list reads first the index, and then the objects: in between, one is changed and another one deleted."""
    view = cluster.view()
    keys = [f"{CRDS}/{name}.a.com" for name in ("bars", "foos")]
    revisions = [await steps.create(view, key, b'{"metadata":{"name":"x.a.com"}}') for key in keys]
    changing: Any = ChangesBetween(cluster.physical)

    async def change() -> None:
        await steps.update(cluster.physical, f"{CRDS}/bars.111111-a.com", NAMED, revision=revisions[0])
        await steps.delete(cluster.physical, f"{CRDS}/foos.111111-a.com", revisions[1])

    changing.change = change
    page = await TenantStore(changing, "111111", cluster.platform).scan(f"{CRDS}/", limit=10)
    assert [(record.key, record.revision) for record in page.records] == list(zip(keys, revisions, strict=True))
    assert page.revision == revisions[1]


class ChangesBetween:
    """A store that changes once, before several records are read."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.change: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        change, self.change = self.change, None
        if change is not None:
            await change()
        found: list[ReadResult] = await self._store.read_many(keys)
        return found


async def test_everything_at_a_past_revision_includes_resources_that_are_gone(cluster: Cluster) -> None:
    view = cluster.view()
    crd = await steps.create(view, f"{CRDS}/foos.a.com", b'{"metadata":{"name":"foos.a.com"}}')
    key = "objects/foos.a.com/-/x"
    created = await steps.create(view, key, b'{"metadata":{"name":"x"}}')
    await steps.delete(view, key, created)
    await steps.delete(view, f"{CRDS}/foos.a.com", crd)
    assert [record.key for record in await steps.records(view, "objects/", at=created)] == [f"{CRDS}/foos.a.com", key]
    assert await steps.list_keys(view, "objects/") == []


@pytest.mark.parametrize("tenant", ["111111", "zebra1"])
async def test_entries_are_in_the_order_of_the_tenants_keys(cluster: Cluster, tenant: str) -> None:
    """Whether the resources of the tenant are before or behind those of the platform with the same plural in the physical order."""
    view = cluster.view(tenant)
    keys = [f"objects/jobs.{group}/web/{name}" for group in ("a.com", "batch", "z.com") for name in ("x", "y")]
    for key in reversed(keys):
        await steps.commit(view, contract.create(key, NAMED, add_entries=[f"owned/u/web/{key}", f"since/2026/{key}"]))
    for prefix in ("owned/u/web/", "since/2026/"):
        for size in (1, 2, 5, 6):
            assert [record.key for record in await steps.records(view, prefix, size=size)] == [prefix + key for key in keys]
        assert await view.count(prefix, after=prefix + keys[2]) == 3


async def test_crd_of_a_built_in_resource_is_refused(cluster: Cluster) -> None:
    """It has the same name in both views, so it would be the platform's."""
    with pytest.raises(errors.Forbidden, match="belongs to the platform"):
        await cluster.view().commit(contract.create(f"{CRDS}/deployments.apps", b'{"metadata":{"name":"deployments.apps"}}'))


async def test_tenants_are_not_there_for_tenants(cluster: Cluster) -> None:
    key = tenants.tenant_key("222222")
    await steps.create(cluster.physical, key, b'{"metadata":{"name":"222222"}}')
    assert await cluster.view().read(key) is None
    assert await steps.list_keys(cluster.view(), "objects/") == []


@pytest.mark.parametrize(
    ("key", "limit"),
    [
        ("objects/namespaces/-/{}", 56),
        ("objects/persistentvolumes/-/{}", 246),
        (f"{CRDS}/foos.{{}}", 246 - len("foos.")),
        ("objects/foos.a.com/-/{}", 246),
    ],
)
async def test_name_that_is_too_long_with_the_prefix_is_invalid_in_the_tenants_terms(
    cluster: Cluster, key: str, limit: int
) -> None:
    view = cluster.view()
    await steps.create(view, key.format("n" * limit), NAMED)
    name = "n" * (limit + 1)
    with pytest.raises(errors.Invalid) as caught:
        await view.commit(contract.create(key.format(name), NAMED))
    [cause] = caught.value.details.causes
    reported = limit + len("foos.") if key.startswith(CRDS) else limit
    assert (cause.field, cause.message) == ("metadata.name", f"Too long: may not be more than {reported} bytes")
    assert "111111" not in str(caught.value)


async def test_object_that_cannot_be_converted_is_damaged_and_leaves_the_others_readable(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    view = cluster.view()
    start = await view.revision()
    good = await steps.create(view, "objects/pods/web/good", pod("good"))
    bad = await steps.create(
        cluster.physical, "objects/pods/111111-web/bad", b'{"metadata":{"name":"bad","ownerReferences":["x"]}}'
    )
    page = await view.scan("objects/pods/", limit=10)
    assert page.records == [Record("objects/pods/web/good", pod("good"), good)]
    assert [(damaged.key, damaged.revision) for damaged in page.damaged_records] == [("objects/pods/web/bad", bad)]
    assert isinstance((await view.read_many(["objects/pods/web/bad"]))[0], DamagedRecord)
    with pytest.raises(errors.DamagedObject, match='pods "bad" in namespace "web" cannot be read'):
        await view.read("objects/pods/web/bad")
    with pytest.raises(errors.Gone, match='the stored data of pods "bad" in namespace "web" is damaged'):
        await steps.collect_events(view, "objects/pods/", after=start, last=bad)
    assert "object not converted for its tenant" in [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert cluster.platform.conversion_failures["pods",] == 4


async def test_ended_view_raises_the_error_from_every_call_and_watch(cluster: Cluster) -> None:
    view, gone = cluster.view(), errors.Gone("tenant deleted")
    async with view.watch("objects/pods/", after=await view.revision()) as watch:
        view.end(gone)
        with pytest.raises(errors.Gone, match="tenant deleted"):
            await steps.take_events(watch, 1)
    calls = [
        view.revision(),
        view.read(POD),
        view.read_many([POD]),
        view.scan("objects/", limit=1),
        view.count("objects/"),
        view.commit(contract.create(POD, pod())),
        view.commit_many([contract.create(POD, pod())]),
        view.child_prefixes("objects/"),
        view.check(),
    ]
    for call in calls:
        with pytest.raises(errors.Gone, match="tenant deleted"):
            await call
    with pytest.raises(errors.Gone, match="tenant deleted"):
        view.watch("objects/", after=Revision(1))
    assert view.confirmed_revision() is None


async def test_closing_a_view_leaves_the_store_and_other_views_open(cluster: Cluster) -> None:
    view, other = cluster.view(), cluster.view()
    await view.close()
    with pytest.raises(errors.StoreUnavailable):
        await view.revision()
    await steps.create(other, POD, pod())
    for refused in (other.compact(Revision(1)), other.record_time(1.0)):
        with pytest.raises(errors.Forbidden):
            await refused


async def test_range_within_a_segment_is_refused(cluster: Cluster) -> None:
    for call in (cluster.view().scan("objects/pods/222222-", limit=1), cluster.view().count("objects/pods/-/222222-")):
        with pytest.raises(errors.InvalidKey, match="a tenant has no tenants"):
            await call


async def test_value_that_is_too_large_as_it_is_stored_is_refused_under_the_tenants_key(cluster: Cluster) -> None:
    view = cluster.view()
    room = view.limits.value_bytes - len(pod(text=""))
    with pytest.raises(errors.TooLarge, match=f"the object '{POD}'"):
        await view.commit(contract.create(POD, pod(text="x" * room)))


async def test_entries_of_other_tenants_for_the_same_owner_are_not_seen(cluster: Cluster) -> None:
    for tenant in ("111111", "222222"):
        view = cluster.view(tenant)
        await steps.commit(view, contract.create(POD, pod(), add_entries=[f"owned/u/web/{POD}", f"since/2026/{POD}", "quota/web"]))
        assert await steps.list_keys(view, "owned/u/") == [f"owned/u/web/{POD}"]
        assert await steps.list_keys(view, "since/") == [f"since/2026/{POD}"]
        assert await steps.list_keys(view, "quota/") == ["quota/web"]
        assert await view.child_prefixes("owned/u/") == ["owned/u/web/"]
    assert await cluster.physical.count("owned/u/") == 2


async def test_addresses_and_ports_of_services_are_unique_among_tenants(cluster: Cluster) -> None:
    txn = contract.create("objects/services/web/s", NAMED, add_entries=["ip/10.0.0.1"], guards=[Absent("ip/10.0.0.1")])
    await steps.commit(cluster.view(), txn)
    assert await steps.failed_guards(cluster.view("222222"), txn) == (Absent("ip/10.0.0.1"),)
    assert await steps.list_keys(cluster.view("222222"), "ip/") == ["ip/10.0.0.1"]
