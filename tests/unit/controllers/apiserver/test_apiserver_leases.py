"""Leases of servers."""

from __future__ import annotations

import pytest

from probate.api.timestamps import timestamp
from probate.client.resources import LEASES
from probate.controllers import manager
from probate.controllers.runtime.context import Server
from probate.server.bootstrap import rbac_roles
from support.workload_cluster import Object, Stage, staged

NAMESPACE = "kube-system"
LABEL = "apiserver.kubernetes.io/identity"


async def lease(stage: Stage, name: str) -> Object | None:
    return await stage.client.get(LEASES, NAMESPACE, name)


async def stranger(stage: Stage, value: str = "kube-apiserver", **spec: object) -> None:
    new = {"metadata": {"name": "stranger", "labels": {LABEL: value}}, "spec": {"holderIdentity": "x", **spec}}
    await stage.client.create(LEASES, NAMESPACE, new)
    await stage.settle()


def micro(stage: Stage) -> str:
    return f"{timestamp(stage.cluster.clock.now())[:-1]}.000000Z"


async def test_al_1_a_server_holds_its_lease_and_renews_it() -> None:
    async with staged("identities") as stage:
        first = await lease(stage, "here")
        assert first is not None
        assert first["metadata"]["labels"] == {LABEL: "kube-apiserver"}
        assert (first["spec"]["leaseDurationSeconds"], first["spec"]["renewTime"]) == (3600, micro(stage))
        await stage.pass_time(9.9)
        assert await lease(stage, "here") == first
        await stage.pass_time(0.1)
        assert (await lease(stage, "here") or {})["spec"]["renewTime"] == micro(stage)


async def test_al_1_the_lease_of_a_predecessor_is_replaced_and_it_goes_with_the_server() -> None:
    async with staged() as stage:
        await rbac_roles.ensure_roles(stage.cluster.api)
        old = {"metadata": {"name": "me"}, "spec": {"holderIdentity": "before"}}
        before = await stage.client.create(LEASES, NAMESPACE, old)
        async with manager.at_work(stage.cluster.api, stage.cluster.clock, ["identities"], server=Server("me")):
            await stage.cluster.turns(2000)
            now = await lease(stage, "me")
            assert now is not None
            assert now["metadata"]["uid"] != before["metadata"]["uid"]
        assert await lease(stage, "me") is None


async def test_al_2_the_lease_of_a_server_that_is_no_more_goes_when_it_has_expired() -> None:
    async with staged("identities") as stage:
        await stranger(stage, renewTime=micro(stage), leaseDurationSeconds=100)
        await stage.pass_time(100)
        assert await lease(stage, "stranger") is not None
        await stage.pass_time(1)
        assert await lease(stage, "stranger") is None
        assert await lease(stage, "here") is not None


async def test_lease_of_a_living_server_was_deleted_when_the_clock_was_set_hours_forward() -> None:
    async with staged("identities") as stage:
        await stranger(stage, renewTime=micro(stage), leaseDurationSeconds=3600)
        others = micro(stage)  # what time it is where the other server runs
        stage.cluster.clock.jump(7200)
        await stage.client.patch(LEASES, NAMESPACE, "stranger", {"spec": {"renewTime": others, "leaseTransitions": 1}})
        await stage.pass_time(20)
        assert await lease(stage, "stranger") is not None
        await stage.pass_time(20)
        assert await lease(stage, "stranger") is None, "it has expired, and nobody renews it"
        stage.cluster.clock.jump(-7200)
        await stage.pass_time(60)
        assert await lease(stage, "here") is not None


@pytest.mark.parametrize("spec", [{"leaseDurationSeconds": 100}, {"renewTime": "2030-01-01T00:00:00.000000Z"}])
async def test_al_2_a_lease_that_does_not_tell_is_expired(spec: Object) -> None:
    async with staged("identities") as stage:
        await stranger(stage, **spec)
        assert await lease(stage, "stranger") is None


async def test_al_2_other_leases_are_left_alone() -> None:
    async with staged("identities") as stage:
        await stranger(stage, "something-else", renewTime=micro(stage), leaseDurationSeconds=1)
        await stage.pass_time(7200)
        assert await lease(stage, "stranger") is not None
