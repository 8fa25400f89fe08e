"""What a server keeps in memory does not grow with the number of tenants that it once had."""

from __future__ import annotations

import asyncio
import functools
import gc
from collections import Counter
from typing import Any

import pytest

from probate.core.generational_cache import GenerationalCache
from probate.server.flow_classification import FlowClassifier
from probate.server.objects.list_cache import _Lists
from probate.server.request import RequestInfoResolver
from probate.store.unchanged_since import UnchangedSinceTracker
from probate.tenants.ownership.prefixed_keys import PrefixedKeys
from probate.tenants.ownership.tenant_states import TenantStates
from support.tenant_lifecycle import delete_tenant, serving, wait_until_evicted
from support.tenant_remains import contents
from support.tenant_server import TenantServer, user_of

FIRST = 20
"""Tenants after which everything is there that a server with tenants has."""
TENANTS, ALL_TENANTS = 150, 1_000
MAX_TURNS = 10_000
GROUP = "memory.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIMITED: dict[type, tuple[str, ...]] = {
    FlowClassifier: ("_cached",),
    GenerationalCache: (
        "_newer",
        "_older",
    ),
    _Lists: ("known",),
    PrefixedKeys: ("_by_folder", "free_folders"),
    RequestInfoResolver: ("_target_cache", "_info_cache"),
    TenantStates: ("_cached",),
    UnchangedSinceTracker: ("_last_changes", "_partial_prefixes"),
}
"""Caches that have a limit, and so may keep something of tenants that are gone."""


async def use_and_delete(server: TenantServer, tenant: str) -> None:
    """Creates a tenant, uses it in both views, with a custom kind and an open watch, and deletes it."""
    await server.create_tenant(tenant)
    user = user_of(tenant)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": GROUP, "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [version]}
    foo = {"apiVersion": f"{GROUP}/v1", "kind": "Foo", "metadata": {"name": "x"}}
    for path, body in (
        ("/api/v1/namespaces/web/configmaps", {"metadata": {"name": "a"}}),
        (CRDS, {"metadata": {"name": f"foos.{GROUP}"}, "spec": spec}),
        (f"/apis/{GROUP}/v1/foos", foo),
    ):
        answer = await server.ask(user, "POST", path, body=body)
        assert answer.code == 201, answer.body
    for path in ("/api/v1/namespaces", "/apis", "/openapi/v3"):
        assert (await server.ask(user, "GET", path)).code == 200
    assert (await server.request("GET", f"/api/v1/namespaces/{tenant}-web/configmaps")).code == 200
    async with server.watching(user, "/api/v1/configmaps") as stream:
        assert stream.code == 200
        await delete_tenant(server, tenant)
        await wait_until_evicted(server, tenant)
        await until_over(server, stream)
        assert stream.events[-1]["object"]["code"] == 410


async def until_over(server: TenantServer, stream: Any) -> None:
    for _ in range(MAX_TURNS):
        if stream.is_over:
            return
        await server.yield_to_loop(1)
    raise AssertionError("the watch goes on")


async def counted(server: TenantServer) -> tuple[Counter[str], int]:
    """Returns how many objects of each type there are, and how many tasks run. Caches with a limit are emptied first."""
    await server.yield_to_loop()
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()
        for name in LIMITED.get(type(one), ()):
            getattr(one, name).clear()
    for _ in range(3):
        gc.collect()
    return Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects()), len(asyncio.all_tasks())


@pytest.mark.parametrize("number", [TENANTS, pytest.param(ALL_TENANTS, marks=pytest.mark.long)])
async def test_deleted_tenants_leave_no_objects_and_no_tasks_in_memory(number: int) -> None:
    async with serving(events=100) as server:
        for at in range(FIRST):
            await use_and_delete(server, f"a{at:05}")
        before, tasks = await counted(server)
        for at in range(number):
            await use_and_delete(server, f"t{at:05}")
        after, tasks_now = await counted(server)
        grown = {name: count - before[name] for name, count in after.items() if count - before[name] >= number / 2}
        assert tasks_now == tasks
        assert grown == {}
        assert not [key for key in await contents(server.engine) if "t0" in key and not key.startswith("objects/events/default/")]
