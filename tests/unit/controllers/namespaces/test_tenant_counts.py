"""The number of a tenant's objects in its status: roughly current, and never a write for each object."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api import tenants
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.namespaces.tenant_counts import APART_SECONDS, COUNT_SECONDS, FIRST_SECONDS, CountedTenants, TenantCounts
from probate.controllers.namespaces.tenant_deletion import Tenants
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.store.sqlite.store import open_memory
from support import bootstrap
from support.namespace_controller import NAMESPACES, FailingStore, Site, settle

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
ONE = f"{TENANTS}/111111"
CONFIG_MAPS = f"{NAMESPACES}/111111-web/configmaps"
HOLD = "example.com/hold"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    store = await open_memory()
    made = Site(FailingStore(store), FakeClock(), Tenants())
    await bootstrap.ensure_namespaces(made.api)
    for name in ("111111", "222222"):
        await made.make(TENANTS, name)
        await made.make(NAMESPACES, f"{name}-web")
    yield made
    await made.http.aclose()
    await store.close()


@asynccontextmanager
async def counting(site: Site) -> AsyncIterator[ChangeFeedLoop]:
    reconciler = CountedTenants(ScopeDeletion(Tenants(), site.backend, site.clock), TenantCounts(site.backend, site.clock))
    loop = ChangeFeedLoop("tenants", reconciler, site.backend, clock=site.clock)
    task = tasks.start_supervised(loop.run(), name="tenants", on_failure=lambda _: None)
    try:
        await pass_time(site, 0)
        yield loop
    finally:
        await tasks.stop(task)


async def pass_time(site: Site, seconds: float) -> None:
    await settle()
    await site.clock.advance(seconds)
    await settle()


async def status(site: Site, path: str = ONE) -> dict[str, Any]:
    found: dict[str, Any] = (await site.http.get(path)).json()["status"]
    return found


async def test_tenants_are_counted_after_a_start(site: Site) -> None:
    await site.make(CONFIG_MAPS, "a")
    async with counting(site):
        await pass_time(site, FIRST_SECONDS)
        assert await status(site) == {"phase": "Pending", "objects": 2}
        assert "objects" not in await status(site, f"{TENANTS}/222222")
        await pass_time(site, APART_SECONDS)
        assert (await status(site, f"{TENANTS}/222222"))["objects"] == 1
        assert len((await site.store.scan(tenants.content_range("111111"), limit=9)).records) == 2


async def test_a_new_tenant_is_counted_when_what_it_begins_with_exists(site: Site) -> None:
    async with counting(site):
        await pass_time(site, 2 * COUNT_SECONDS)
        await site.make(TENANTS, "333333")
        await pass_time(site, FIRST_SECONDS / 2)
        for name in ("default", "kube-system"):
            await site.make(NAMESPACES, f"333333-{name}")
        await pass_time(site, FIRST_SECONDS / 2)
        assert (await status(site, f"{TENANTS}/333333"))["objects"] == 2


async def test_many_changes_are_one_write(site: Site) -> None:
    async with counting(site):
        await pass_time(site, 2 * FIRST_SECONDS)
        before = await site.backend.revision()
        for number in range(20):
            await site.make(CONFIG_MAPS, f"c-{number}")
            await pass_time(site, 1)
        assert (await status(site))["objects"] == 1
        await pass_time(site, COUNT_SECONDS)
        assert (await status(site))["objects"] == 21
        assert await site.backend.revision() == before + 21


async def test_a_deleted_object_is_counted_out(site: Site) -> None:
    await site.make(CONFIG_MAPS, "a")
    async with counting(site):
        await pass_time(site, FIRST_SECONDS)
        await site.http.delete(f"{CONFIG_MAPS}/a")
        await pass_time(site, COUNT_SECONDS)
        assert (await status(site))["objects"] == 1


async def test_nothing_is_done_while_nothing_happens_in_a_tenant(site: Site) -> None:
    async with counting(site) as loop:
        await pass_time(site, 2 * FIRST_SECONDS)
        revision = await site.backend.revision()
        site.store.reads.clear()
        await site.make(f"{NAMESPACES}/default/configmaps", "of-the-platform")
        await pass_time(site, 100 * COUNT_SECONDS)
        assert (await site.backend.revision(), site.store.reads, loop.is_idle) == (revision + 1, [], True)


async def test_a_count_that_fails_is_tried_again(site: Site) -> None:
    site.store.cannot_count = True
    async with counting(site):
        await pass_time(site, FIRST_SECONDS)
        assert "objects" not in await status(site)
        site.store.cannot_count = False
        for _ in range(3):
            await pass_time(site, FIRST_SECONDS)
        assert (await status(site))["objects"] == 1


async def test_a_tenant_that_is_being_deleted_is_left_to_its_deletion(site: Site) -> None:
    await site.make(CONFIG_MAPS, "a", finalizers=[HOLD])
    async with counting(site):
        await pass_time(site, FIRST_SECONDS)
        await site.http.delete(ONE)
        for _ in range(3):
            await pass_time(site, 1)
        reported = await status(site)
        assert (reported["phase"], reported["objects"]) == ("Terminating", 2)
        revision = await site.backend.revision()
        await pass_time(site, 10 * COUNT_SECONDS)
        assert await site.backend.revision() == revision
