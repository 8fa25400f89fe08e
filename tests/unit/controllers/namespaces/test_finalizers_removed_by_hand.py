"""Namespaces whose finalizers somebody takes off by hand: they are deleted, and still stay for their content."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from probate.controllers.manager import IN_BULK, at_work
from support.in_process_server import OPEN, FakeClock, House, running

SPACE = "/api/v1/namespaces/forced"
HOLD = "example.com/hold"


@asynccontextmanager
async def forced() -> AsyncGenerator[tuple[House, FakeClock], None]:
    """A server with a namespace that nothing keeps for its content, which is one object that is held."""
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house, at_work(house.api, clock, IN_BULK, OPEN):
        made = await house.create("namespaces", "", {"metadata": {"name": "forced"}})
        await house.create("configmaps", "forced", {"metadata": {"name": "held", "finalizers": [HOLD]}})
        assert (await house.ask("PUT", f"{SPACE}/finalize", {**made, "spec": {"finalizers": []}})).code == 200
        yield house, clock


async def let_go(house: House, clock: FakeClock) -> None:
    """Take the hold off the content, and let everybody do what is left to do."""
    await house.turns()
    await clock.advance(1)
    await house.turns()
    assert (await house.ask("GET", f"{SPACE}/configmaps/held")).json["metadata"].get("deletionTimestamp"), "it was not deleted"
    patch = {"metadata": {"finalizers": None}}
    await house.ask("PATCH", f"{SPACE}/configmaps/held", patch, media="application/merge-patch+json")
    await house.turns()
    await clock.advance(10)
    await house.turns()


async def test_delete_of_a_living_forced_namespace_closes_it_and_takes_its_content_along() -> None:
    async with forced() as (house, clock):
        told = await house.ask("DELETE", SPACE)
        assert told.code == 200
        assert told.json["metadata"]["deletionTimestamp"]
        assert told.json["status"]["phase"] == "Terminating"
        refused = await house.ask("POST", f"{SPACE}/configmaps", {"metadata": {"name": "late"}})
        assert refused.code == 403
        await let_go(house, clock)
        assert (await house.ask("GET", SPACE)).code == 404


async def test_forced_namespace_whose_owner_is_gone_is_collected() -> None:
    gone = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "gone", "uid": "gone"}
    async with forced() as (house, clock):
        patch = {"metadata": {"ownerReferences": [gone]}}
        assert (await house.ask("PATCH", SPACE, patch, media="application/merge-patch+json")).code == 200
        await let_go(house, clock)
        assert (await house.ask("GET", SPACE)).code == 404


async def test_forced_namespace_that_is_to_orphan_does_not_keep_the_collector_busy_until_it_is_empty() -> None:
    async with forced() as (house, clock):
        told = await house.ask("DELETE", SPACE, {"propagationPolicy": "Orphan"})
        assert told.json["metadata"]["finalizers"] == ["orphan"]
        await house.turns()
        assert "finalizers" not in (await house.ask("GET", SPACE)).json["metadata"]
        await let_go(house, clock)
        assert (await house.ask("GET", SPACE)).code == 404
