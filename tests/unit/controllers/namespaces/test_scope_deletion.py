"""The deletion of scopes: when the store fails, while nothing changes, and when a name is reused."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from probate.api.ownership import Finalize, Outcome
from probate.controllers.manager import store_backend
from probate.controllers.namespaces.content_deletion import ContentDeletion
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.contract import CommitResult as Committed
from probate.store.contract import Store, Txn
from probate.store.sqlite.store import open_memory
from support import bootstrap
from support.wait_for_objects import condition

NAMESPACES = "/api/v1/namespaces"
POD = {"containers": [{"name": "c", "image": "i"}]}
CONFIGMAP = "objects/configmaps/a/c"


class Failing:
    """A store that fails to delete one key, and delays writes of others, while the test says so."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.undeletable = ""
        self.slow = ""  # what keys begin with whose writing takes until `goes_on`
        self.is_writing = asyncio.Event()
        self.goes_on = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, txn: Txn) -> Committed:
        self._check(txn)
        if self.slow and txn.key.startswith(self.slow):
            self.is_writing.set()
            await self.goes_on.wait()
        return await self._store.commit(txn)

    async def commit_many(self, txns: list[Txn]) -> list[Committed]:
        for txn in txns:
            self._check(txn)
        return await self._store.commit_many(txns)

    def _check(self, txn: Txn) -> None:
        if txn.key == self.undeletable and txn.value is None:
            raise errors.StoreUnavailable("the store does not answer")


class Site:
    """An API with the controller of namespaces, and their clock."""

    def __init__(self, store: Failing, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        kinds = KindRegistry(store, catalog.load())  # type: ignore[arg-type]
        chooser = random.Random(1)  # noqa: S311
        self.api = ServerContext(store, kinds, clock, new_uid=lambda: str(uuid.uuid4()), random=chooser)  # type: ignore[arg-type]
        self.backend = store_backend(self.api)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(App(self.api)), base_url="http://here")
        self.loop = ChangeFeedLoop("namespaces", ScopeDeletion(Namespaces(), self.backend, clock), self.backend, clock=clock)

    async def make(self, path: str, name: str, **meta: Any) -> None:
        answer = await self.http.post(path, json={"metadata": {"name": name, **meta}})
        assert answer.status_code == 201, answer.text

    async def release(self, path: str) -> None:
        patch, media = {"metadata": {"finalizers": None}}, {"Content-Type": "application/merge-patch+json"}
        assert (await self.http.patch(path, json=patch, headers=media)).status_code == 200

    async def namespace(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.http.get(f"{NAMESPACES}/a")).json()
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        running = asyncio.ensure_future(self.loop.run())
        try:
            yield
        finally:
            await tasks.stop(running)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    store = await open_memory()
    made = Site(Failing(store), FakeClock())
    await bootstrap.ensure_namespaces(made.api)
    await made.make(NAMESPACES, "a")
    yield made
    await made.http.aclose()
    await store.close()


async def until(site: Site, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Returns the namespace, or the Status of a failed GET, once `holds` is true for it."""
    async with asyncio.timeout(60), site.store.watch("objects/", after=await site.store.revision()) as changes:
        while not holds(now := await site.namespace()):
            await anext(aiter(changes))
        return now


async def until_is(site: Site, kind: str, status: str) -> dict[str, Any]:
    return condition(await until(site, lambda now: condition(now, kind).get("status") == status), kind)


async def until_gone(site: Site) -> None:
    await until(site, lambda now: now.get("code") == 404)


async def settle() -> None:
    """Lets all tasks run that are ready."""
    for _ in range(200):
        await asyncio.sleep(0)


async def test_content_that_cannot_be_deleted_is_reported_and_retried(site: Site) -> None:
    """The other content is deleted all the same. (NS-7, NS-14)"""
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    await site.make(f"{NAMESPACES}/a/configmaps", "d")
    site.store.undeletable = CONFIGMAP
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        failure = await until_is(site, "NamespaceDeletionContentFailure", "True")
        assert failure["reason"] == "ContentDeletionFailed"
        assert failure["message"] == "Some content could not be deleted: configmaps. has 1 resource instances"
        assert (await site.http.get(f"{NAMESPACES}/a/configmaps/d")).status_code == 404
        site.store.undeletable = ""
        await site.clock.advance(1)
        await until_gone(site)


async def test_ns_13_while_a_pod_cannot_be_deleted_nothing_else_is(site: Site) -> None:
    """Kubernetes deletes the rest then, although the pod may need it."""
    made = await site.http.post(f"{NAMESPACES}/a/pods", json={"metadata": {"name": "p"}, "spec": POD})
    assert made.status_code == 201
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    site.store.undeletable = "objects/pods/a/p"
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        failure = await until_is(site, "NamespaceDeletionContentFailure", "True")
        assert failure["message"] == "Some content could not be deleted: pods. has 1 resource instances"
        await settle()
        assert "deletionTimestamp" not in (await site.http.get(f"{NAMESPACES}/a/configmaps/c")).json()["metadata"]
        site.store.undeletable = ""
        await site.clock.advance(1)
        await until_gone(site)


async def test_ns_9_the_phase_of_a_deleting_namespace_cannot_be_overwritten(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=["example.com/hold"])
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
        await site.clock.advance(1)
        wrong, media = {"status": {"phase": "Active"}}, {"Content-Type": "application/merge-patch+json"}
        answer = await site.http.patch(f"{NAMESPACES}/a/status", json=wrong, headers=media)
        assert (answer.status_code, answer.json()["details"]["causes"][0]["field"]) == (422, "status.Phase")
        assert (await site.namespace())["status"]["phase"] == "Terminating"


async def test_ns_6_an_active_namespace_is_left_alone(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    async with site.running():
        changed = {**await site.namespace(), "metadata": {"name": "a", "labels": {"is": "looked-at"}}}
        before = (await site.http.put(f"{NAMESPACES}/a", json=changed)).json()
        await site.clock.advance(3600)
        await settle()
        assert await site.namespace() == before
        assert (await site.http.get(f"{NAMESPACES}/a/configmaps/c")).status_code == 200


async def test_namespace_with_held_content_causes_no_work(site: Site) -> None:
    """It is not polled. (NS-7)"""
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=["example.com/hold"])
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
        await site.clock.advance(1)
        await settle()
        assert site.loop.is_idle
        revision = await site.backend.revision()
        await site.clock.advance(3600)
        await settle()
        assert site.loop.is_idle
        assert await site.backend.revision() == revision


async def test_namespace_that_empties_slowly_is_not_written_for_each_object(site: Site) -> None:
    names = [f"c{number}" for number in range(5)]
    for name in names:
        await site.make(f"{NAMESPACES}/a/configmaps", name, finalizers=["example.com/hold"])
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
        before = (await site.namespace())["metadata"]["resourceVersion"]
        for name in names[:3]:
            await site.release(f"{NAMESPACES}/a/configmaps/{name}")
            await settle()
        assert (await site.namespace())["metadata"]["resourceVersion"] == before
        await site.clock.advance(1)
        await until(site, lambda now: "has 2 " in condition(now, "NamespaceContentRemaining")["message"])


async def test_missed_changes_are_found_after_a_restart(site: Site) -> None:
    """The controller is stopped while the content is released."""
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=["example.com/hold"])
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
    await site.release(f"{NAMESPACES}/a/configmaps/c")
    async with site.running():
        await until_gone(site)


async def test_deletion_of_a_removed_namespace_spares_a_new_one_of_its_name(site: Site) -> None:
    """NS-9: only the namespace of that uid is being deleted."""
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    await site.http.delete(f"{NAMESPACES}/a")
    dying = await site.backend.get_object("namespaces", "", "a")
    assert dying is not None
    kind = Namespaces()
    sweep = ContentDeletion(site.backend, dying.item.meta.uid, kind.method, stages=kind.stages(site.backend, "a"))
    await site.http.delete(f"{NAMESPACES}/a/configmaps/c")
    assert await site.backend.execute([Finalize(dying.item, {}, "it is empty")]) == [Outcome.DONE]
    await site.make(NAMESPACES, "a")
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    for _ in range(10):  # it has nothing to go by but what it knew
        await sweep.step(dying.item, "its namespace goes")
    assert (await site.http.get(f"{NAMESPACES}/a/configmaps/c")).status_code == 200


async def delete_during_a_write(site: Site) -> None:
    """Deletes the namespace while a write is delayed, and lets the write continue once the namespace is gone."""
    async with site.running():
        await site.store.is_writing.wait()
        await site.http.delete(f"{NAMESPACES}/a")
        await until_gone(site)
    site.store.goes_on.set()


async def test_create_that_arrives_after_its_namespace_is_removed_leaves_nothing(site: Site) -> None:
    site.store.slow = CONFIGMAP
    creating = asyncio.ensure_future(site.http.post(f"{NAMESPACES}/a/configmaps", json={"metadata": {"name": "c"}}))
    await delete_during_a_write(site)
    assert (await creating).status_code == 404
    assert (await site.backend.list_namespace("a", "", limit=10)).keys == []


async def test_event_that_arrives_after_its_namespace_is_removed_leaves_nothing(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    about = await site.backend.get_object("configmaps", "a", "c")
    assert about is not None
    site.store.slow = "objects/events/"
    warning = asyncio.ensure_future(site.backend.record_warning(about.item, "Odd", "something is odd"))
    await delete_during_a_write(site)
    await warning
    assert (await site.backend.list_namespace("a", "", limit=10)).keys == []


async def test_event_about_an_object_in_a_deleting_namespace_is_not_left_behind(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    await site.http.delete(f"{NAMESPACES}/a")
    about = await site.backend.get_object("configmaps", "a", "c")
    assert about is not None
    await site.backend.record_warning(about.item, "Odd", "something is odd")
    assert (await site.backend.list_namespace("a", "", limit=10)).keys == [CONFIGMAP]


async def test_namespace_with_content_cannot_be_finalized(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c")
    await site.http.delete(f"{NAMESPACES}/a")
    dying = await site.backend.get_object("namespaces", "", "a")
    assert dying is not None
    assert await site.backend.execute([Finalize(dying.item, {}, "it is said to be empty")]) == [Outcome.HELD]
    assert (await site.namespace())["spec"]["finalizers"] == ["kubernetes"]
