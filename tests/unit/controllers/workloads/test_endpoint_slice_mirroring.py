"""EndpointSlices mirrored from Endpoints that a user maintains; EPS-2."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.workloads.endpoints.endpoint_slice_mirror import CONTROLLER_NAME, LEADER_ANNOTATION, SKIP_MIRROR
from probate.controllers.workloads.endpoints.endpoint_slices import MANAGED_BY, SERVICE, SERVICE_NAME, SLICES
from probate.controllers.workloads.endpoints.endpoints_object import ENDPOINTS
from support.workload_cluster import NAMESPACE, WorkloadCluster, workload_cluster

SERVICES = SERVICE.resource
HTTP = {"name": "http", "port": 8080, "protocol": "TCP"}
CONTROLLERS = ("endpointslices", "endpoints", "endpointmirrors")


def subset(*ips: str, not_ready: tuple[str, ...] = (), ports: tuple[Object, ...] = (HTTP,)) -> Object:
    result: Object = {"ports": list(ports)}
    if ips:
        result["addresses"] = [{"ip": ip} for ip in ips]
    if not_ready:
        result["notReadyAddresses"] = [{"ip": ip} for ip in not_ready]
    return result


async def create_endpoints(cluster: WorkloadCluster, *subsets: Object, **meta: Any) -> None:
    await cluster.client.create(ENDPOINTS, NAMESPACE, {"metadata": {"name": "web", **meta}, "subsets": list(subsets)})
    await cluster.settle()


async def mirrors(cluster: WorkloadCluster) -> list[Object]:
    return [
        endpoint_slice
        for endpoint_slice in await cluster.all(SLICES)
        if endpoint_slice["metadata"]["labels"][MANAGED_BY] == CONTROLLER_NAME
    ]


async def ready_by_address(cluster: WorkloadCluster) -> dict[str, bool]:
    """Returns for each address whether it is ready."""
    return {
        endpoint["addresses"][0]: endpoint["conditions"]["ready"]
        for endpoint_slice in await mirrors(cluster)
        for endpoint in endpoint_slice.get("endpoints") or []
    }


async def create_service(cluster: WorkloadCluster) -> None:
    await cluster.create(SERVICES, "web", {"ports": [{"name": "http", "port": 80}]})


async def test_eps_2_endpoints_of_a_service_without_a_selector_are_mirrored() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await create_service(cluster)
        await create_endpoints(
            cluster, subset("10.0.0.1", "10.0.0.2", not_ready=("10.0.0.3",)), labels={"a": "b"}, annotations={"note": "x"}
        )
        [mirror] = await mirrors(cluster)
        assert await ready_by_address(cluster) == {"10.0.0.1": True, "10.0.0.2": True, "10.0.0.3": False}
        assert (mirror["addressType"], mirror["ports"]) == ("IPv4", [HTTP])
        assert mirror["metadata"]["labels"] == {"a": "b", SERVICE_NAME: "web", MANAGED_BY: CONTROLLER_NAME}
        assert mirror["metadata"]["annotations"] == {"note": "x"}
        [owner] = mirror["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Endpoints", "web", True)


async def test_eps_2_each_family_and_port_set_has_its_own_slice() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await create_service(cluster)
        other = {"name": "other", "port": 9090, "protocol": "UDP"}
        await create_endpoints(cluster, subset("10.0.0.1", "fd00::1"), subset("10.0.0.1", ports=(other,)))
        slices = sorted((mirror["addressType"], mirror["ports"][0]["name"]) for mirror in await mirrors(cluster))
        assert slices == [("IPv4", "http"), ("IPv4", "other"), ("IPv6", "http")]


async def test_eps_2_mirrors_are_updated_and_restored() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await create_service(cluster)
        await create_endpoints(cluster, subset("10.0.0.1"))
        [before] = await mirrors(cluster)
        await cluster.change(ENDPOINTS, "web", {"subsets": [subset("10.0.0.1", "10.0.0.9")]})
        [after] = await mirrors(cluster)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert await ready_by_address(cluster) == {"10.0.0.1": True, "10.0.0.9": True}
        await cluster.delete(SLICES, after["metadata"]["name"])
        assert await ready_by_address(cluster) == {"10.0.0.1": True, "10.0.0.9": True}


@pytest.mark.parametrize("cause", ["endpoints", "service", "selector", "skip", "leader", "empty"])
async def test_eps_2_mirrors_are_deleted_when_nothing_is_left_to_mirror(cause: str) -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await create_service(cluster)
        await create_endpoints(cluster, subset("10.0.0.1"))
        assert len(await mirrors(cluster)) == 1
        if cause == "endpoints":
            await cluster.delete(ENDPOINTS, "web")
        elif cause == "service":
            await cluster.delete(SERVICES, "web")
        elif cause == "selector":
            await cluster.change(SERVICES, "web", {"spec": {"selector": {"app": "web"}}})
        elif cause == "empty":
            await cluster.change(ENDPOINTS, "web", {"subsets": None})
        else:
            meta = {"labels": {SKIP_MIRROR: "true"}} if cause == "skip" else {"annotations": {LEADER_ANNOTATION: "me"}}
            await cluster.change(ENDPOINTS, "web", {"metadata": meta})
        assert await mirrors(cluster) == []


async def test_endpoints_of_a_service_with_a_selector_are_not_mirrored() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]})
        assert await mirrors(cluster) == []


async def test_slice_of_another_manager_is_ignored() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await create_service(cluster)
        await create_endpoints(cluster, subset("10.0.0.1"))
        labels = {SERVICE_NAME: "web", MANAGED_BY: "other.example.com"}
        foreign = {"metadata": {"name": "foreign", "labels": labels}, "addressType": "IPv4", "endpoints": [], "ports": []}
        await cluster.client.create(SLICES, NAMESPACE, foreign)
        await cluster.delete(ENDPOINTS, "web")
        assert [endpoint_slice["metadata"]["name"] for endpoint_slice in await cluster.all(SLICES)] == ["foreign"]
