"""The deletion of a tenant by the controllers of a server with RBAC: their roles are enough, and are needed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.api import tenants
from probate.controllers.manager import run_all
from probate.controllers.registry import BULK_CONTROLLERS
from probate.core.clock import FakeClock
from probate.settings import Settings
from probate.store.sqlite.store import open_memory
from support import bootstrap
from support.in_process_server import InProcessServer, running

ONE = "/apis/tenant.kubezoo.io/v1alpha1/tenants/111111"
MAPS = "/api/v1/namespaces/111111-web/configmaps"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:probate-tenant-deletion"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def house() -> AsyncIterator[InProcessServer]:
    clock = FakeClock()
    store = await open_memory()
    async with running(store, clock, collects=False) as server:
        await bootstrap.ensure_roles(server.api)
        async with run_all(server.api, clock, BULK_CONTROLLERS, settings=Settings()):
            body = {"metadata": {"name": "111111"}, "spec": {"forceFinalizers": ["example.com/hold"]}}
            await server.create("apis/tenant.kubezoo.io/v1alpha1/tenants", "", body)
            await server.create("namespaces", "", {"metadata": {"name": "111111-web"}})
            await server.create("configmaps", "111111-web", {"metadata": {"name": "c", "finalizers": ["example.com/hold"]}})
            await server.create("apis/rbac.authorization.k8s.io/v1/clusterroles", "", {"metadata": {"name": "111111-admin"}})
            yield server


async def pass_time(house: InProcessServer, seconds: int) -> None:
    assert isinstance(house.clock, FakeClock)
    for _ in range(seconds):
        await house.yield_to_loop(400)
        await house.clock.advance(1)


async def test_the_roles_are_enough(house: InProcessServer) -> None:
    assert (await house.request("DELETE", ONE)).code == 200
    await pass_time(house, 10)
    assert (await house.request("GET", ONE)).code == 404
    assert (await house.store.scan(tenants.content_range("111111"), limit=10)).keys == []
    [event] = (await house.request("GET", "/api/v1/namespaces/default/events")).json["items"]
    assert (event["reason"], event["involvedObject"]["name"]) == ("FinalizersRemoved", "111111")


async def test_without_its_role_the_deletion_waits_and_says_so(house: InProcessServer) -> None:
    rules = (await house.request("GET", ROLE)).json["rules"]
    update = [rule for rule in rules if "update" in rule["verbs"]]
    assert (await house.request("PATCH", ROLE, {"rules": update}, media=MERGE)).code == 200
    await house.request("DELETE", ONE)
    await pass_time(house, 3)
    status = (await house.request("GET", ONE)).json["status"]
    assert status["waitingFor"] == "1 configmaps that cannot be deleted"
    assert (await house.request("GET", f"{MAPS}/c")).json["metadata"].get("deletionTimestamp") is None
    await house.request("PATCH", ROLE, {"rules": rules}, media=MERGE)
    await pass_time(house, 20)
    assert (await house.request("GET", ONE)).code == 404
