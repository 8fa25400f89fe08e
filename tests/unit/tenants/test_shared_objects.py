"""What the platform shares: tenants see it under its own name for as long as it is shared, and cannot change it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest

from probate.api import tenants
from probate.core import errors
from probate.store import contract
from probate.store.contract import Absent, Event, Record
from support import store_operations as steps
from support import tenant_stores
from support.tenant_stores import Cluster

CLASSES = "objects/storageclasses.storage.k8s.io/-"
CRDS = "objects/customresourcedefinitions.apiextensions.k8s.io/-"
FAST = f"{CLASSES}/fast"
SHARED = {tenants.SHARED_LABEL: "true"}


@pytest.fixture(params=[True, False], ids=["followed", "read when needed"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    async with tenant_stores.cluster(follows=request.param) as cluster:
        yield cluster


@pytest.fixture
async def followed() -> AsyncIterator[Cluster]:
    async with tenant_stores.cluster() as cluster:
        yield cluster


def named(key: str, **labels: str) -> bytes:
    return orjson.dumps({"metadata": {"name": key.rpartition("/")[2], **({"labels": labels} if labels else {})}})


def crd(name: str, *, scope: str = "Namespaced", **labels: str) -> bytes:
    plural, _, group = name.partition(".")
    spec = {
        "group": group,
        "scope": scope,
        "names": {"plural": plural, "kind": plural.title()},
        "versions": [{"name": "v1", "served": True}],
    }
    return orjson.dumps({"metadata": {"name": name, "labels": labels}, "spec": spec})


async def test_shared_object_is_read_and_listed_among_the_tenants_own(cluster: Cluster) -> None:
    view = cluster.view()
    fast = await steps.create(cluster.physical, FAST, named(FAST, **SHARED))
    await steps.create(cluster.physical, f"{CLASSES}/slow", named("slow"))
    for name in ("archive", "zfs"):
        await steps.create(view, f"{CLASSES}/{name}", named(name))
    expected = [f"{CLASSES}/archive", FAST, f"{CLASSES}/zfs"]
    assert await view.read(FAST) == Record(FAST, named(FAST, **SHARED), fast)
    assert await view.read(f"{CLASSES}/slow") is None
    for size in (1, 2, 3):
        assert [record.key for record in await steps.records(view, f"{CLASSES}/", size=size)] == expected
    assert (await view.count(f"{CLASSES}/"), await view.count(f"{CLASSES}/", after=FAST)) == (3, 1)
    assert await steps.list_keys(view, "objects/") == expected
    assert await view.child_prefixes("objects/") == ["objects/storageclasses.storage.k8s.io/"]


async def test_past_revisions_show_what_was_shared_then(cluster: Cluster) -> None:
    view = cluster.view()
    before = await view.revision()
    created = await steps.create(cluster.physical, FAST, named(FAST))
    shared = await steps.update(cluster.physical, FAST, named(FAST, **SHARED), revision=created)
    hidden = await steps.update(cluster.physical, FAST, named(FAST), revision=shared)
    listed = [len(await steps.records(view, f"{CLASSES}/", at=at)) for at in (before, created, shared, hidden)]
    found = [await view.read(FAST, at=at) is not None for at in (before, created, shared, hidden)]
    assert (listed, found) == ([0, 0, 1, 0], [False, False, True, False])


async def test_watch_shows_sharing_as_create_and_its_end_as_delete(cluster: Cluster) -> None:
    view = cluster.view()
    start = await view.revision()
    hidden, visible, changed = named(FAST), named(FAST, **SHARED), named(FAST, colour="red", **SHARED)
    revisions = [await steps.create(cluster.physical, FAST, hidden)]
    for value in (visible, changed, hidden, visible):
        revisions.append(await steps.update(cluster.physical, FAST, value, revision=revisions[-1]))
    revisions.append(await steps.delete(cluster.physical, FAST, revisions[-1]))
    for prefix in (f"{CLASSES}/", "objects/"):
        assert await steps.collect_events(view, prefix, after=start, last=revisions[-1]) == [
            Event(revisions[1], FAST, visible, None),
            Event(revisions[2], FAST, changed, Record(FAST, visible, revisions[1])),
            Event(revisions[3], FAST, None, Record(FAST, changed, revisions[2])),
            Event(revisions[4], FAST, visible, None),
            Event(revisions[5], FAST, None, Record(FAST, visible, revisions[4])),
        ]


async def test_shared_object_exists_for_a_create_and_cannot_be_changed(cluster: Cluster) -> None:
    view = cluster.view()
    revision = await steps.create(cluster.physical, FAST, named(FAST, **SHARED))
    assert await steps.failed_guards(view, contract.create(FAST, named(FAST))) == (Absent(FAST),)
    for txn in (contract.update(FAST, named(FAST), revision=revision), contract.delete(FAST, revision=revision)):
        with pytest.raises(errors.Forbidden, match=r'storageclasses.storage.k8s.io "fast" belongs to the platform'):
            await view.commit(txn)
        with pytest.raises(errors.Forbidden):
            await view.commit_many([contract.create("objects/pods/web/p", named("p")), txn])
    assert await view.read("objects/pods/web/p") is None
    assert (await cluster.physical.read(FAST)).revision == revision


async def test_label_has_no_effect_on_an_object_of_a_tenant(cluster: Cluster) -> None:
    await steps.create(cluster.view("222222"), FAST, named(FAST, **SHARED))
    await steps.create(cluster.view("222222"), f"{CRDS}/foos.a.com", crd("foos.a.com", **SHARED))
    assert await steps.list_keys(cluster.view(), "objects/") == []
    assert await cluster.view().read(f"{CLASSES}/222222-fast") is None


async def test_crd_that_is_named_like_one_of_a_tenant_is_never_shared(cluster: Cluster) -> None:
    for name in ("foos.222222-a.com", "foos.111111-a.com"):
        await steps.create(cluster.physical, f"{CRDS}/{name}", crd(name, **SHARED))
    assert await cluster.view().read(f"{CRDS}/foos.222222-a.com") is None
    assert await steps.list_keys(cluster.view("333333"), "objects/") == []


async def test_all_nodes_and_the_priorities_of_the_system_are_shared(cluster: Cluster) -> None:
    keys = ["objects/nodes/-/111111-n", "objects/nodes/-/n", "objects/priorityclasses.scheduling.k8s.io/-/system-node-critical"]
    for key in keys:
        await steps.create(cluster.physical, key, named(key))
    view = cluster.view()
    assert await steps.list_keys(view, "objects/") == keys
    assert [record is not None for record in await view.read_many([*keys, "objects/nodes/-/x"])] == [True, True, True, False]
    for key in keys:
        assert await steps.failed_guards(view, contract.create(key, named(key))) == (Absent(key),)
        with pytest.raises(errors.Forbidden):
            await view.commit(contract.delete(key, revision=await view.revision()))
    with pytest.raises(errors.Forbidden):
        await view.commit(contract.create("objects/nodes/-/111111-other", named("111111-other")))


async def test_api_services_of_groups_in_common_are_shared(followed: Cluster) -> None:
    folder = "objects/apiservices.apiregistration.k8s.io/-"
    await steps.create(followed.physical, f"{CRDS}/bars.b.com", crd("bars.b.com", **SHARED))
    for name in ("v1.apps", "v1.", "v1.b.com", "v2.b.com", "v1.c.com"):
        await steps.create(followed.physical, f"{folder}/{name}", named(f"{folder}/{name}"))
    view = followed.view()
    await steps.create(view, f"{folder}/v1.a.com", named(f"{folder}/v1.a.com"))
    names = [key.rpartition("/")[2] for key in await steps.list_keys(view, f"{folder}/")]
    assert names == ["v1.", "v1.a.com", "v1.apps", "v1.b.com"]
    assert await followed.physical.read(f"{folder}/v1.111111-a.com") is not None


async def test_references_to_shared_classes_keep_their_names(followed: Cluster) -> None:
    key = "objects/persistentvolumeclaims/web/c"
    await steps.create(followed.physical, FAST, named(FAST, **SHARED))
    for name, stored in (("fast", "fast"), ("own", "111111-own")):
        view, value = followed.view(), orjson.dumps({"metadata": {"name": "c"}, "spec": {"storageClassName": name}})
        revision = await steps.create(view, key, value)
        physical = orjson.loads((await followed.physical.read("objects/persistentvolumeclaims/111111-web/c")).value)
        assert physical["spec"]["storageClassName"] == stored
        assert (await view.read(key)) == Record(key, value, revision)
        await steps.delete(view, key, revision)


async def test_objects_of_a_shared_crd_are_the_tenants_own(followed: Cluster) -> None:
    await steps.create(followed.physical, f"{CRDS}/bars.b.com", crd("bars.b.com", **SHARED))
    await steps.create(followed.physical, f"{CRDS}/tops.b.com", crd("tops.b.com", scope="Cluster", **SHARED))
    for tenant in ("111111", "222222"):
        view = followed.view(tenant)
        await steps.create(
            view,
            "objects/bars.b.com/web/x",
            orjson.dumps({"metadata": {"name": "x", "namespace": "web"}, "apiVersion": "b.com/v1"}),
        )
        await steps.create(view, "objects/tops.b.com/-/t", named("t"))
        assert await steps.list_keys(view, "objects/bars.b.com/") == ["objects/bars.b.com/web/x"]
        assert await steps.list_keys(view, "objects/tops.b.com/") == ["objects/tops.b.com/-/t"]
    assert (await followed.physical.scan("objects/bars.b.com/", limit=9)).keys == [
        "objects/bars.b.com/111111-web/x",
        "objects/bars.b.com/222222-web/x",
    ]
    assert await followed.physical.read("objects/tops.b.com/-/222222-t") is not None


async def test_sharing_a_crd_ends_the_watches_of_its_objects_and_of_everything(followed: Cluster) -> None:
    view = followed.view()
    start = await view.revision()
    watches = [view.watch(prefix, after=start) for prefix in ("objects/bars.b.com/web/", "objects/", "objects/pods/")]
    async with watches[0] as bars, watches[1] as everything, watches[2] as pods:
        tasks = [asyncio.create_task(steps.take_events(watch, 1)) for watch in (bars, everything, pods)]
        await asyncio.sleep(0)
        await steps.create(followed.physical, f"{CRDS}/bars.b.com", crd("bars.b.com", **SHARED))
        for task in tasks[:2]:
            with pytest.raises(errors.Gone, match="what the platform shares has changed"):
                await task
        created = await steps.create(view, "objects/pods/web/p", named("p"))
        assert [event.revision for event in await tasks[2]] == [created]


async def test_lists_are_not_taken_for_unchanged_when_a_crd_becomes_shared(followed: Cluster) -> None:
    """The objects of the resource are then others, although nothing was written to them."""
    view, prefix = followed.view(), "objects/bars.b.com/"
    for physical in ("objects/bars.111111-b.com/", "objects/bars.b.com/111111-"):
        assert followed.physical.unchanged_since(physical) is not None  # it is tracked from now on
    await steps.create(followed.physical, "objects/pods/default/p")
    listed = (await view.scan(prefix, limit=1)).revision
    shared = await steps.create(followed.physical, f"{CRDS}/bars.b.com", crd("bars.b.com", **SHARED))
    unchanged = view.unchanged_since(prefix)
    assert unchanged is not None
    assert listed < shared <= unchanged.since <= unchanged.now


async def test_platform_object_hides_one_of_the_tenant_with_the_same_name(followed: Cluster) -> None:
    view = followed.view()
    own = await steps.create(view, FAST, named(FAST))
    shared = await steps.create(followed.physical, FAST, named(FAST, **SHARED))
    assert await view.read(FAST) == Record(FAST, named(FAST, **SHARED), shared)
    assert [record.revision for record in await steps.records(view, f"{CLASSES}/")] == [shared]
    async with view.watch(f"{CLASSES}/", after=shared) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        changed = await steps.update(followed.physical, f"{CLASSES}/111111-fast", named("111111-fast", colour="red"), revision=own)
        await steps.wait_until(view, lambda: watch.revision >= changed)
        last = await steps.delete(followed.physical, FAST, shared)
        assert await taking == [Event(last, FAST, None, Record(FAST, named(FAST, **SHARED), shared))]
    assert await view.read(FAST) == Record(FAST, named(FAST, colour="red"), changed)


async def test_shared_crd_hides_the_objects_of_a_crd_of_the_tenant_with_the_same_name(followed: Cluster) -> None:
    view, key = followed.view(), "objects/bars.b.com/web/x"
    value = orjson.dumps({"metadata": {"name": "x", "namespace": "web"}})
    own = await steps.commit(view, contract.create(key, value, add_entries=[f"since/2026/{key}"]))
    await steps.create(followed.physical, f"{CRDS}/bars.b.com", crd("bars.b.com", **SHARED))
    assert await steps.list_keys(view, "objects/bars.b.com/") == []
    assert await steps.list_keys(view, "since/") == []
    await steps.update(followed.physical, "objects/bars.111111-b.com/111111-web/x", value, revision=own)
    after = await view.revision()
    seen = await steps.create(view, key, value)
    assert [event.revision for event in await steps.collect_events(view, "objects/", after=own, last=seen)][-1:] == [seen]
    assert await view.read(key) == Record(key, value, seen)
    assert after < seen
