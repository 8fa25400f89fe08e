"""Watches of a tenant: its own changes only, each once and in order; watchers of one tenant share the conversion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest

from probate.core import errors
from probate.store import watch_hub
from probate.store.contract import Batch, Event, Record
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.tenant_store import TenantStore
from support import store_engines, tenant_stores
from support import store_operations as steps
from support.tenant_stores import Cluster


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with tenant_stores.cluster() as cluster:
        yield cluster


def pod(name: str) -> bytes:
    return orjson.dumps({"metadata": {"name": name, "namespace": "web"}})


async def test_changes_of_others_are_not_delivered_and_advance_the_revision(cluster: Cluster) -> None:
    view, other = cluster.view(), cluster.view("222222")
    async with view.watch("objects/pods/", after=await view.revision()) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        foreign = await steps.create(other, "objects/pods/web/p", pod("p"))
        await steps.create(cluster.physical, "objects/pods/web/p", pod("p"))
        await steps.wait_until(view, lambda: watch.revision > foreign)
        assert not taking.done()
        own = await steps.create(view, "objects/pods/web/p", pod("p"))
        assert await taking == [Event(own, "objects/pods/web/p", pod("p"), None)]


@pytest.mark.parametrize("prefix", ["objects/", "objects/customresourcedefinitions.apiextensions.k8s.io/", "objects/foos.a.com/"])
async def test_batch_without_changes_of_the_tenant_is_neither_yielded_nor_offered(cluster: Cluster, prefix: str) -> None:
    """The range that is watched below contains the changes of all tenants."""
    view, other = cluster.view(), cluster.view("222222")
    key = "objects/foos.a.com/web/x" if "crd" not in prefix else prefix
    key = f"{prefix}-/foos.a.com" if "apiextensions" in prefix else key
    offered: list[Batch] = []
    async with view.watch(prefix, after=await view.revision()) as watch:
        watch.set_handler(lambda batch: bool(offered.append(batch)) or True)  # type: ignore[func-returns-value]
        taking = asyncio.ensure_future(anext(aiter(watch)))
        await asyncio.sleep(0)
        await steps.create(other, key, b'{"metadata":{"name":"foos.a.com"}}')
        await steps.create(view, key, pod("p"))
        assert [[event.key for event in batch] for batch in offered] == [[key]]
        assert not taking.done()
        watch.wake()
        assert await taking == []


async def test_handler_that_declines_leaves_the_converted_batch_to_the_iterator(cluster: Cluster) -> None:
    view = cluster.view()
    offered: list[Batch] = []
    async with view.watch("objects/pods/", after=await view.revision()) as watch:
        watch.set_handler(lambda batch: bool(offered.append(batch)))  # type: ignore[func-returns-value]
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        revision = await steps.create(view, "objects/pods/web/p", pod("p"))
        assert await taking == offered[0] == [Event(revision, "objects/pods/web/p", pod("p"), None)]


@pytest.mark.parametrize("prefix", ["objects/", "objects/pods/"])
async def test_watchers_of_one_tenant_get_the_same_batch(cluster: Cluster, prefix: str) -> None:
    """So what one of them derives from it, the others find in its cache."""
    view = cluster.view()
    start = await view.revision()
    async with view.watch(prefix, after=start) as one, view.watch(prefix, after=start) as two:
        taking = [asyncio.ensure_future(anext(aiter(watch))) for watch in (one, two)]
        await asyncio.sleep(0)
        await steps.create(view, "objects/pods/web/p", pod("p"))
        batches = [await batch for batch in taking]
    assert batches[0] is batches[1]
    assert batches[0][0].value == pod("p")


async def test_change_that_cannot_be_shown_is_left_to_the_iterator_by_the_handler(cluster: Cluster) -> None:
    view = cluster.view()
    offered: list[Batch] = []
    async with view.watch("objects/pods/", after=await view.revision()) as watch:
        watch.set_handler(lambda batch: bool(offered.append(batch)))  # type: ignore[func-returns-value]
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        await steps.create(cluster.physical, "objects/pods/111111-web/bad", b'{"metadata":{"name":"bad","ownerReferences":["x"]}}')
        with pytest.raises(errors.Gone, match='pods "bad" in namespace "web"'):
            await taking
    assert offered == []


async def test_previous_version_is_converted(cluster: Cluster) -> None:
    view, key = cluster.view(), "objects/persistentvolumeclaims/web/c"
    values = [orjson.dumps({"metadata": {"name": "c"}, "spec": {"storageClassName": name}}) for name in ("own", "other")]
    created = await steps.create(view, key, values[0])
    updated = await steps.update(view, key, values[1], revision=created)
    deleted = await steps.delete(view, key, updated)
    assert await steps.collect_events(view, "objects/", after=created, last=deleted) == [
        Event(updated, key, values[1], Record(key, values[0], created)),
        Event(deleted, key, None, Record(key, values[1], updated)),
    ]


async def test_errors_of_a_watch_are_in_the_tenants_terms() -> None:
    memory = store_engines.Memory()
    physical = tenant_stores.IndexedStore(await memory.open(buffer=watch_hub.WatchBuffer(events=2)))
    view = TenantStore(physical, "111111", PlatformObjects(physical))
    start = await view.revision()
    async with view.watch("objects/pods/", after=start) as watch:
        taking = asyncio.ensure_future(anext(aiter(watch)))
        await asyncio.sleep(0)
        first = await steps.create(view, "objects/pods/web/0", pod("p"))
        await taking
        for number in range(1, 5):
            await steps.create(view, f"objects/pods/web/{number}", pod("p"))
        with pytest.raises(errors.TooSlow, match="the watch of objects/pods/ fell behind") as caught:
            await steps.take_events(watch, 9)
        assert caught.value.revision == first
    await physical.compact(await view.revision())
    with pytest.raises(errors.Gone) as gone:
        await steps.collect_events(view, "objects/pods/", after=start, last=first)
    assert "111111" not in str(gone.value)
    await physical.close()
