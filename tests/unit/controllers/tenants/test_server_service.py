"""Each tenant has the Service `kubernetes` in its namespace `default`, as a new cluster has."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.client.objects import GroupVersionResource
from probate.controllers.tenants.server_service import ENDPOINT_SLICES, ENDPOINTS, NAME, SERVICES
from probate.controllers.tenants.tenant_controller import RESYNC_SECONDS, TENANTS, TITLE
from probate.server.bootstrap import kubernetes_service
from probate.server.local_transport import LocalTransport
from support.workload_cluster import WorkloadCluster, condition, workload_cluster

ID = "team-a"
DEFAULT = f"{ID}-default"
ALL = (SERVICES, ENDPOINT_SLICES, ENDPOINTS)


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(TITLE) as one:
        yield one


async def publish(stage: WorkloadCluster, host: str = "10.1.2.3", port: int = 6443) -> None:
    """Does what a server does when it starts."""
    api = stage.server.api
    await kubernetes_service.ensure(LocalTransport(api), host, port, addresses=api.service_pools.addresses)
    await stage.settle()


async def create_tenant(stage: WorkloadCluster) -> None:
    await stage.client.create(TENANTS, "", {"metadata": {"name": ID}})
    await stage.settle()


async def test_service_has_an_address_of_its_own_and_leads_to_the_server(stage: WorkloadCluster) -> None:
    await publish(stage)
    await create_tenant(stage)
    service, slice_, endpoints = [await stage.client.get(kind, DEFAULT, NAME) for kind in ALL]
    platform = await stage.client.get(SERVICES, "default", NAME)
    assert service is not None
    assert slice_ is not None
    assert endpoints is not None
    assert platform is not None
    assert service["spec"]["ports"] == platform["spec"]["ports"]
    assert service["spec"]["clusterIP"] not in {platform["spec"]["clusterIP"], "None"}
    assert "selector" not in service["spec"]
    assert (slice_["addressType"], slice_["endpoints"][0]["addresses"]) == ("IPv4", ["10.1.2.3"])
    assert slice_["ports"][0]["port"] == 6443
    assert slice_["metadata"]["labels"]["kubernetes.io/service-name"] == NAME
    assert endpoints["subsets"] == kubernetes_service.endpoints("10.1.2.3", 6443)["subsets"]


async def test_all_follow_a_server_that_listens_elsewhere(stage: WorkloadCluster) -> None:
    await publish(stage)
    await create_tenant(stage)
    address = (await stage.client.get(SERVICES, DEFAULT, NAME) or {})["spec"]["clusterIP"]
    await publish(stage, "10.9.9.9", 7443)
    service, slice_, endpoints = [await stage.client.get(kind, DEFAULT, NAME) or {} for kind in ALL]
    assert (service["spec"]["clusterIP"], service["spec"]["ports"][0]["targetPort"]) == (address, 7443)
    assert (slice_["endpoints"][0]["addresses"], slice_["ports"][0]["port"]) == (["10.9.9.9"], 7443)
    assert endpoints["subsets"][0]["addresses"] == [{"ip": "10.9.9.9"}]


async def test_server_that_only_this_machine_can_reach_has_no_endpoints(stage: WorkloadCluster) -> None:
    await publish(stage, "127.0.0.1")
    await create_tenant(stage)
    assert (await stage.client.get(ENDPOINT_SLICES, DEFAULT, NAME) or {"endpoints": "none"})["endpoints"] is None
    revision = await stage.server.store.revision()
    await stage.pass_time(3 * RESYNC_SECONDS)
    assert await stage.server.store.revision() == revision


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.plural)
async def test_deleted_object_comes_back(stage: WorkloadCluster, kind: GroupVersionResource) -> None:
    await publish(stage)
    await create_tenant(stage)
    await stage.client.delete(kind, DEFAULT, NAME)
    await stage.settle()
    assert await stage.client.get(kind, DEFAULT, NAME) is not None


async def test_service_comes_when_the_server_publishes_its_own(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    assert await stage.client.get(SERVICES, DEFAULT, NAME) is None
    assert (await stage.client.get(TENANTS, "", ID) or {})["status"]["phase"] == "Active"
    await publish(stage)
    assert await stage.client.get(SERVICES, DEFAULT, NAME) is not None


async def test_tenant_that_is_being_deleted_gets_none(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    await stage.client.delete(TENANTS, "", ID)
    await publish(stage)
    await stage.pass_time(RESYNC_SECONDS)
    assert await stage.client.get(SERVICES, DEFAULT, NAME) is None


async def test_others_of_its_name_are_left_alone(stage: WorkloadCluster) -> None:
    """And a user's change of what the server does not set stays."""
    await publish(stage)
    await create_tenant(stage)
    await stage.client.patch(SERVICES, DEFAULT, NAME, change={"metadata": {"labels": {"a": "b"}}})
    await stage.client.create(SERVICES, f"{ID}-kube-system", {"metadata": {"name": NAME}, "spec": {"ports": [{"port": 1}]}})
    before = await stage.client.get(SERVICES, f"{ID}-kube-system", NAME)
    await publish(stage, port=7443)
    service = await stage.client.get(SERVICES, DEFAULT, NAME) or {}
    assert (service["metadata"]["labels"]["a"], service["spec"]["ports"][0]["targetPort"]) == ("b", 7443)
    assert await stage.client.get(SERVICES, f"{ID}-kube-system", NAME) == before
    assert condition(await stage.client.get(TENANTS, "", ID) or {}, "Ready")["status"] == "True"
