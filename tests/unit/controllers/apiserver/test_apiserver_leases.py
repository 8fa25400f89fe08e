"""Identity Leases of servers."""

from __future__ import annotations

import pytest

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.resources import LEASES
from probate.controllers import manager
from probate.controllers.runtime.context import Server
from support import bootstrap
from support.workload_cluster import WorkloadCluster, workload_cluster

NAMESPACE = "kube-system"
LABEL = "apiserver.kubernetes.io/identity"


async def lease(stage: WorkloadCluster, name: str) -> Object | None:
    return await stage.client.get(LEASES, NAMESPACE, name)


async def create_lease_of_another_server(stage: WorkloadCluster, value: str = "kube-apiserver", **spec: object) -> None:
    new = {"metadata": {"name": "stranger", "labels": {LABEL: value}}, "spec": {"holderIdentity": "x", **spec}}
    await stage.client.create(LEASES, NAMESPACE, new)
    await stage.settle()


def micro(stage: WorkloadCluster) -> str:
    return f"{format_time(stage.server.clock.now())[:-1]}.000000Z"


async def test_al_1_a_server_holds_its_lease_and_renews_it() -> None:
    async with workload_cluster("identities") as stage:
        first = await lease(stage, "here")
        assert first is not None
        assert first["metadata"]["labels"] == {LABEL: "kube-apiserver"}
        assert (first["spec"]["leaseDurationSeconds"], first["spec"]["renewTime"]) == (3600, micro(stage))
        await stage.pass_time(9.9)
        assert await lease(stage, "here") == first
        await stage.pass_time(0.1)
        assert (await lease(stage, "here") or {})["spec"]["renewTime"] == micro(stage)


async def test_al_1_the_lease_of_an_earlier_process_is_replaced_and_deleted_at_the_stop() -> None:
    async with workload_cluster() as stage:
        await bootstrap.ensure_roles(stage.server.api)
        old = {"metadata": {"name": "me"}, "spec": {"holderIdentity": "before"}}
        before = await stage.client.create(LEASES, NAMESPACE, old)
        async with manager.run_all(stage.server.api, stage.server.clock, ["identities"], server=Server("me")):
            await stage.server.yield_to_loop(2000)
            now = await lease(stage, "me")
            assert now is not None
            assert now["metadata"]["uid"] != before["metadata"]["uid"]
        assert await lease(stage, "me") is None


async def test_al_2_the_lease_of_a_crashed_server_is_deleted_when_it_has_expired() -> None:
    async with workload_cluster("identities") as stage:
        await create_lease_of_another_server(stage, renewTime=micro(stage), leaseDurationSeconds=100)
        await stage.pass_time(100)
        assert await lease(stage, "stranger") is not None
        await stage.pass_time(1)
        assert await lease(stage, "stranger") is None
        assert await lease(stage, "here") is not None


async def test_lease_of_a_living_server_was_deleted_when_the_clock_was_set_hours_forward() -> None:
    async with workload_cluster("identities") as stage:
        await create_lease_of_another_server(stage, renewTime=micro(stage), leaseDurationSeconds=3600)
        others = micro(stage)  # what time it is where the other server runs
        stage.server.clock.jump(7200)
        await stage.client.patch(LEASES, NAMESPACE, "stranger", change={"spec": {"renewTime": others, "leaseTransitions": 1}})
        await stage.pass_time(20)
        assert await lease(stage, "stranger") is not None
        await stage.pass_time(20)
        assert await lease(stage, "stranger") is None, "it has expired, and nobody renews it"
        stage.server.clock.jump(-7200)
        await stage.pass_time(60)
        assert await lease(stage, "here") is not None


@pytest.mark.parametrize("spec", [{"leaseDurationSeconds": 100}, {"renewTime": "2030-01-01T00:00:00.000000Z"}])
async def test_al_2_an_incomplete_lease_is_expired(spec: Object) -> None:
    async with workload_cluster("identities") as stage:
        await create_lease_of_another_server(stage, **spec)
        assert await lease(stage, "stranger") is None


async def test_al_2_other_leases_are_left_alone() -> None:
    async with workload_cluster("identities") as stage:
        await create_lease_of_another_server(stage, "something-else", renewTime=micro(stage), leaseDurationSeconds=1)
        await stage.pass_time(7200)
        assert await lease(stage, "stranger") is not None
