"""Namespaces whose finalizers a client has removed: they are deleted, and still stay for their content."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from probate.controllers.manager import run_all
from probate.controllers.registry import BULK_CONTROLLERS
from support.in_process_server import INSECURE, FakeClock, InProcessServer, running

SPACE = "/api/v1/namespaces/forced"
HOLD = "example.com/hold"


@asynccontextmanager
async def namespace_without_finalizers() -> AsyncGenerator[tuple[InProcessServer, FakeClock], None]:
    """Runs a server with a namespace without finalizers, whose content is one object with a finalizer."""
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house, run_all(house.api, clock, BULK_CONTROLLERS, settings=INSECURE):
        made = await house.create("namespaces", "", {"metadata": {"name": "forced"}})
        await house.create("configmaps", "forced", {"metadata": {"name": "held", "finalizers": [HOLD]}})
        assert (await house.request("PUT", f"{SPACE}/finalize", {**made, "spec": {"finalizers": []}})).code == 200
        yield house, clock


async def release_content(house: InProcessServer, clock: FakeClock) -> None:
    """Removes the finalizer of the content, and lets all controllers finish."""
    await house.yield_to_loop()
    await clock.advance(1)
    await house.yield_to_loop()
    assert (await house.request("GET", f"{SPACE}/configmaps/held")).json["metadata"].get("deletionTimestamp"), "it was not deleted"
    patch = {"metadata": {"finalizers": None}}
    await house.request("PATCH", f"{SPACE}/configmaps/held", patch, media="application/merge-patch+json")
    await house.yield_to_loop()
    await clock.advance(10)
    await house.yield_to_loop()


async def test_delete_of_a_namespace_without_finalizers_closes_it_and_deletes_its_content() -> None:
    async with namespace_without_finalizers() as (house, clock):
        response = await house.request("DELETE", SPACE)
        assert response.code == 200
        assert response.json["metadata"]["deletionTimestamp"]
        assert response.json["status"]["phase"] == "Terminating"
        refused = await house.request("POST", f"{SPACE}/configmaps", {"metadata": {"name": "late"}})
        assert refused.code == 403
        await release_content(house, clock)
        assert (await house.request("GET", SPACE)).code == 404


async def test_namespace_without_finalizers_is_collected_after_its_owner() -> None:
    gone = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "gone", "uid": "gone"}
    async with namespace_without_finalizers() as (house, clock):
        patch = {"metadata": {"ownerReferences": [gone]}}
        assert (await house.request("PATCH", SPACE, patch, media="application/merge-patch+json")).code == 200
        await release_content(house, clock)
        assert (await house.request("GET", SPACE)).code == 404


async def test_orphaning_namespace_without_finalizers_does_not_keep_the_collector_busy_until_it_is_empty() -> None:
    async with namespace_without_finalizers() as (house, clock):
        response = await house.request("DELETE", SPACE, {"propagationPolicy": "Orphan"})
        assert response.json["metadata"]["finalizers"] == ["orphan"]
        await house.yield_to_loop()
        assert "finalizers" not in (await house.request("GET", SPACE)).json["metadata"]
        await release_content(house, clock)
        assert (await house.request("GET", SPACE)).code == 404
