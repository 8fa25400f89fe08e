"""Damaged content of a deleting scope: servers on one store agree about it, and it is read again ever more rarely."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import pytest

from probate.controllers.namespaces.crd_deletion import CustomResourceDefinitions
from probate.controllers.namespaces.scope_deletion import Scope
from probate.core.clock import FakeClock
from probate.store.sqlite.store import open_memory
from support import bootstrap
from support.namespace_controller import NAMESPACES, FailingStore, Site, settle, until, until_is
from support.wait_for_objects import condition

HOLD = ["example.com/hold"]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}
FAILURE = "NamespaceDeletionContentFailure"


@pytest.fixture
async def store() -> AsyncIterator[FailingStore]:
    store = await open_memory()
    yield FailingStore(store)
    await store.close()


@pytest.fixture
async def site(store: FailingStore) -> AsyncIterator[Site]:
    made = Site(store, FakeClock())
    await bootstrap.ensure_namespaces(made.api)
    await made.make(NAMESPACES, "a")
    yield made
    await made.http.aclose()


@pytest.fixture
async def other(site: Site) -> AsyncIterator[Site]:
    """Another server on the same store."""
    made = Site(site.store, site.clock)
    yield made
    await made.http.aclose()


async def run_for(site: Site, seconds: int) -> None:
    for _ in range(seconds):
        await site.clock.advance(1)
        await settle()


async def writes_while(site: Site, seconds: int) -> int:
    before = await site.store.revision()
    await run_for(site, seconds)
    return int(await site.store.revision()) - int(before)


async def test_two_servers_overwrote_a_namespace_status_for_ever_as_one_remembered_a_damaged_object_intact(
    site: Site, other: Site
) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=HOLD)
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
        await site.store.damage("objects/configmaps/a/c")
        async with other.running():
            await run_for(site, 5)
            assert "damaged stored data: configmaps c" in condition(await site.namespace(), FAILURE)["message"]
            assert await writes_while(site, 100) == 0


async def test_two_servers_overwrote_a_crd_status_for_ever_as_one_remembered_a_damaged_object_intact(store: FailingStore) -> None:
    clock = FakeClock()
    sites = [Site(store, clock, scope) for scope in crd_scopes(2)]
    one, another = sites
    await bootstrap.ensure_namespaces(one.api)
    assert (await one.http.post(CRDS, json=CRD)).status_code == 201
    await one.api.kinds.refresh(now=one.api.timestamp())
    path = "/apis/example.com/v1/namespaces/default/things"
    thing = {"metadata": {"name": "t", "finalizers": HOLD}, "apiVersion": "example.com/v1", "kind": "Thing"}
    assert (await one.http.post(path, json=thing)).status_code == 201
    async with one.running():
        await one.http.delete(f"{CRDS}/things.example.com")
        await run_for(one, 3)
        await store.damage("objects/things.example.com/default/t")
        async with another.running():
            await run_for(one, 5)
            crd = (await one.http.get(f"{CRDS}/things.example.com")).json()
            assert "damaged stored data: things.example.com t" in condition(crd, "Terminating")["message"]
            assert await writes_while(one, 100) == 0
    for site in sites:
        await site.http.aclose()


def crd_scopes(count: int) -> Iterable[Scope]:
    return [CustomResourceDefinitions() for _ in range(count)]


async def test_two_servers_that_found_damaged_objects_in_another_order_overwrote_each_other(site: Site, other: Site) -> None:
    for name in ("c", "d"):
        await site.make(f"{NAMESPACES}/a/configmaps", name, finalizers=HOLD)
    async with site.running():
        await site.store.damage("objects/configmaps/a/d")
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, FAILURE, "True")
        await site.store.damage("objects/configmaps/a/c")
        async with other.running():
            await run_for(site, 5)
            assert "damaged stored data: configmaps c, configmaps d" in condition(await site.namespace(), FAILURE)["message"]
            assert await writes_while(site, 100) == 0


async def test_status_that_another_client_keeps_overwriting_is_written_ever_more_rarely(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=HOLD)
    written = 0
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
        for _ in range(60):
            written += "conditions" in (await site.namespace())["status"]
            merge = {"Content-Type": "application/merge-patch+json"}
            await site.http.patch(f"{NAMESPACES}/a/status", json={"status": {"conditions": []}}, headers=merge)
            await run_for(site, 1)
        assert 3 <= written <= 8
        await site.release(f"{NAMESPACES}/a/configmaps/c")
        await until(site, lambda now: now.get("code") == 404)


async def test_damaged_object_is_read_ever_more_rarely(site: Site) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=HOLD)
    await site.store.damage("objects/configmaps/a/c")
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, FAILURE, "True")
        site.store.reads.clear()
        await run_for(site, 100)
        assert 5 <= site.store.reads.count("objects/configmaps/a/c") / 2 <= 12  # one read finds no object, the next one the damage
        unsafe = {"ignoreStoreReadErrorWithClusterBreakingPotential": "true"}
        assert (await site.http.delete(f"{NAMESPACES}/a/configmaps/c", params=unsafe)).status_code == 200
        await run_for(site, 2)  # the removal of damaged data cannot be watched: the controller starts again
        assert (await site.namespace())["code"] == 404


async def test_damaged_namespace_is_tried_ever_more_rarely(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    await site.make(f"{NAMESPACES}/a/configmaps", "c", finalizers=HOLD)
    async with site.running():
        await site.http.delete(f"{NAMESPACES}/a")
        await until_is(site, "NamespaceContentRemaining", "True")
        await run_for(site, 2)
        await site.store.damage("objects/namespaces/-/a")
        await site.release(f"{NAMESPACES}/a/configmaps/c")
        await run_for(site, 100)
    failures = [record for record in caplog.records if record.getMessage() == "reconcile failed, will retry"]
    assert 5 <= len(failures) <= 12
