"""PlatformObjects: what is shared is known at once, for the revisions for which it is certain, and again after a failure."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from probate.api import tenants
from probate.api.gvk import GroupKind, GroupResource
from probate.core import errors
from probate.core.aio import tasks
from probate.store.contract import Revision, Store, Watch
from probate.tenants.store_view.platform_objects import PlatformObjects
from support import store_engines, tenant_stores
from support import store_operations as steps

CLASSES = GroupResource("storage.k8s.io", "storageclasses")
FAST = f"objects/{CLASSES}/-/fast"
CRD = "objects/customresourcedefinitions.apiextensions.k8s.io/-/bars.b.com"


def shared(name: str, **spec: object) -> bytes:
    return orjson.dumps({"metadata": {"name": name, "labels": {tenants.SHARED_LABEL: "true"}}, "spec": spec})


def shared_crd(scope: str) -> bytes:
    return shared(
        "bars.b.com", group="b.com", scope=scope, names={"plural": "bars", "kind": "Bar"}, versions=[{"name": "v1", "served": True}]
    )


async def test_nothing_is_known_before_the_first_read() -> None:
    async with store_engines.open_store(store_engines.Memory()) as store:
        platform = PlatformObjects(store)
        assert platform.records(CLASSES, Revision(1)) is None
        assert platform.snapshot.is_shared_object(GroupResource("", "nodes"), "any")
        assert platform.snapshot.is_shared_object(GroupResource("scheduling.k8s.io", "priorityclasses"), "system-cluster-critical")


async def test_shared_objects_are_known_from_their_last_change_to_the_revision_that_was_read() -> None:
    async with store_engines.open_store(store_engines.Memory()) as store:
        created = await steps.create(store, FAST, shared("fast"))
        platform = PlatformObjects(store)
        assert await platform.load() == created
        later = await steps.create(store, "objects/pods/a/x")
        known = [platform.records(CLASSES, revision) for revision in (Revision(created - 1), created, later)]
        assert [None if one is None else list(one) for one in known] == [None, ["fast"], None]


async def test_followed_objects_are_known_up_to_now() -> None:
    async with tenant_stores.cluster() as cluster:
        platform, store = cluster.platform, cluster.physical
        created = await steps.create(store, FAST, shared("fast"))
        later = await steps.create(store, "objects/pods/a/x")
        before = platform.snapshot
        deleted = await steps.delete(store, FAST, created)
        assert before is not platform.snapshot
        assert before.is_shared_object(CLASSES, "fast"), "a snapshot never changes"
        assert not platform.snapshot.is_shared_object(CLASSES, "fast")
        assert [platform.records(CLASSES, revision) for revision in (created, later, deleted)] == [None, None, {}]


async def test_changes_of_what_is_not_shared_keep_the_snapshot() -> None:
    async with tenant_stores.cluster() as cluster:
        before = cluster.platform.snapshot
        await steps.create(cluster.view(), FAST, orjson.dumps({"metadata": {"name": "fast"}}))
        await steps.create(cluster.physical, f"objects/{CLASSES}/-/plain", orjson.dumps({"metadata": {"name": "plain"}}))
        assert cluster.platform.snapshot is before
        assert cluster.platform.records(CLASSES, await cluster.physical.revision()) == {}


async def test_kinds_of_shared_crds_and_their_changes_are_reported() -> None:
    async with tenant_stores.cluster() as cluster:
        platform, store, resource = cluster.platform, cluster.physical, GroupResource("b.com", "bars")
        reported: list[object] = []
        platform.add_listener(reported.append)
        revision = await steps.create(store, CRD, shared_crd("Cluster"))
        snapshot = platform.snapshot
        assert snapshot.is_namespaced(resource) is False
        assert snapshot.kinds[GroupKind("b.com", "Bar")] == resource
        assert "b.com" in snapshot.groups
        revision = await steps.update(store, CRD, shared_crd("Cluster").replace(b"}}", b"}  }"), revision=revision)
        await steps.update(store, CRD, b'{"metadata":{"name":"bars.b.com"}}', revision=revision)
        assert platform.snapshot.is_namespaced(resource) is None
        platform.remove_listener(reported.append)
        await steps.delete(store, CRD, await store.revision())
        assert reported == [[resource], [resource]]


async def test_shared_crd_without_a_readable_spec_defines_nothing() -> None:
    async with tenant_stores.cluster() as cluster:
        await steps.create(cluster.physical, CRD, shared("bars.b.com", group=7))
        assert cluster.platform.snapshot.crds == {}
        assert cluster.platform.snapshot.is_shared_object(
            GroupResource("apiextensions.k8s.io", "customresourcedefinitions"), "bars.b.com"
        )


class UnavailableOnce:
    """A store of which the first watch cannot be opened."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_available = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        if not self._is_available:
            self._is_available = True
            raise errors.StoreUnavailable("try again")
        return self._store.watch(prefix, after=after)


async def test_following_starts_again_after_a_failure() -> None:
    async with store_engines.open_store(store_engines.Memory()) as store:
        unavailable: Any = UnavailableOnce(store)
        platform, failed, goes_on = PlatformObjects(unavailable), asyncio.Event(), asyncio.Event()

        async def pause() -> None:
            failed.set()
            await goes_on.wait()

        task = asyncio.create_task(platform.follow(pause))
        await failed.wait()
        created = await steps.create(store, FAST, shared("fast"))
        assert platform.records(CLASSES, created) is None
        goes_on.set()
        await steps.wait_until(store, lambda: platform.reached >= created)
        assert list(platform.records(CLASSES, created) or ()) == ["fast"]
        await tasks.stop(task)
