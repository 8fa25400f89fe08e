"""EndpointSlices and Endpoints of Services: which pods are reachable at which addresses; EPS-1 and EPS-3."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName
from probate.controllers.workloads.endpoints import endpoint_slices, endpoints_object
from probate.controllers.workloads.endpoints.endpoint_slices import SERVICE, SLICES
from probate.controllers.workloads.endpoints.endpoints_object import ENDPOINTS
from probate.controllers.workloads.endpoints.trigger_time import LAST_CHANGE_TRIGGER_TIME, TriggerTimeTracker
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import LABELS, NAMESPACE, NODES, WorkloadCluster, name_of, owners_of, workload_cluster

SERVICES = SERVICE.resource
CONTROLLERS = ("endpointslices", "endpoints")
HTTP = {"name": "http", "port": 80, "targetPort": 8080}


def service_of(*ports: Object, **spec: Any) -> Object:
    return {"selector": LABELS, "ports": list(ports or (HTTP,)), **spec}


async def create_pod(cluster: WorkloadCluster, name: str, ip: str, *, is_ready: bool = True, **spec: Any) -> Object:
    labels = spec.pop("labels", LABELS)
    containers = spec.pop("containers", [{"name": "c", "image": "one"}])
    created = await cluster.create(PODS, name, {"containers": containers, **spec}, labels=labels)
    ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": "2023-01-01T00:00:00Z"}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [ready]}
    await cluster.change(PODS, name, {"status": status}, part="status")
    return created


async def only_slice(cluster: WorkloadCluster) -> Object:
    [endpoint_slice] = await cluster.all(SLICES)
    return endpoint_slice


async def conditions_by_address(cluster: WorkloadCluster) -> dict[str, tuple[bool, bool, bool]]:
    """Returns for each address: ready, serving, terminating."""
    result: dict[str, tuple[bool, bool, bool]] = {}
    for endpoint_slice in await cluster.all(SLICES):
        for endpoint in endpoint_slice.get("endpoints") or []:
            conditions = endpoint["conditions"]
            result[endpoint["addresses"][0]] = (conditions["ready"], conditions["serving"], conditions["terminating"])
    return result


async def subsets(cluster: WorkloadCluster, name: str = "web") -> list[Object]:
    result: list[Object] = (await cluster.get(ENDPOINTS, name)).get("subsets") or []
    return result


def ips(subset: Object, field: str = "addresses") -> list[str]:
    return [address["ip"] for address in subset.get(field) or []]


async def test_slice_and_endpoints_list_the_pods_of_a_service() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.client.create(NODES, "", {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}})
        created = await create_pod(cluster, "web-0", "10.0.0.1", nodeName="n", hostname="web-0", subdomain="web")
        service = await cluster.create(SERVICES, "web", service_of(), labels={"team": "x"})
        endpoint_slice = await only_slice(cluster)
        reference = {"kind": "Pod", "namespace": NAMESPACE, "name": "web-0", "uid": created["metadata"]["uid"]}
        assert name_of(endpoint_slice).startswith("web-")
        assert endpoint_slice["metadata"]["labels"] == {
            "team": "x",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        [owner] = endpoint_slice["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
            "Service",
            service["metadata"]["uid"],
            True,
            True,
        )
        assert (endpoint_slice["addressType"], endpoint_slice["ports"]) == (
            "IPv4",
            [{"name": "http", "protocol": "TCP", "port": 8080}],
        )
        assert endpoint_slice["endpoints"] == [
            {
                "addresses": ["10.0.0.1"],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "hostname": "web-0",
                "targetRef": reference,
                "nodeName": "n",
                "zone": "z",
            }
        ]
        endpoints = await cluster.get(ENDPOINTS, "web")
        assert owners_of(endpoints) == []
        assert endpoints["metadata"]["labels"] == {"team": "x", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        assert endpoints["subsets"] == [
            {
                "addresses": [{"ip": "10.0.0.1", "hostname": "web-0", "nodeName": "n", "targetRef": reference}],
                "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
            }
        ]


async def test_conditions_follow_the_pods() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", service_of())
        assert await conditions_by_address(cluster) == {}
        created = await create_pod(cluster, "a", "10.0.0.1", is_ready=False)
        assert await conditions_by_address(cluster) == {"10.0.0.1": (False, False, False)}
        assert [(ips(subset), ips(subset, "notReadyAddresses")) for subset in await subsets(cluster)] == [([], ["10.0.0.1"])]
        await cluster.run(created)
        assert await conditions_by_address(cluster) == {"10.0.0.1": (True, True, False)}
        assert [ips(subset) for subset in await subsets(cluster)] == [["10.0.0.1"]]
        await cluster.bind(created)
        await cluster.delete(PODS, "a")
        assert await conditions_by_address(cluster) == {"10.0.0.1": (False, True, True)}
        assert await subsets(cluster) == [], "the pod is being deleted"
        await cluster.delete(PODS, "a", grace=0)
        assert await conditions_by_address(cluster) == {}


async def trigger_times(cluster: WorkloadCluster) -> list[str | None]:
    """Returns the trigger times of the slice and of the Endpoints."""
    objects = (await only_slice(cluster), await cluster.get(ENDPOINTS, "web"))
    return [(object_["metadata"].get("annotations") or {}).get(LAST_CHANGE_TRIGGER_TIME) for object_ in objects]


async def test_trigger_time_is_that_of_the_first_changed_pod() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        created = (await cluster.create(SERVICES, "web", service_of()))["metadata"]["creationTimestamp"]
        assert await trigger_times(cluster) == [created, created]
        await cluster.pass_time(60)
        first = await create_pod(cluster, "a", "10.0.0.1", is_ready=False)
        assert await trigger_times(cluster) == ["2023-01-01T00:00:00Z"] * 2
        await cluster.pass_time(60)
        await cluster.run(first)
        ready = format_time(cluster.server.clock.now())
        assert await trigger_times(cluster) == [ready] * 2
        await cluster.change(SERVICES, "web", {"metadata": {"labels": {"more": "x"}}})
        assert await trigger_times(cluster) == [None, None], "the change did not come from a pod"


def test_trigger_time_is_the_earliest_new_time() -> None:
    tracker, service = (
        TriggerTimeTracker(),
        {"metadata": {"name": "s", "namespace": "n", "creationTimestamp": "2023-01-01T00:00:00Z"}},
    )

    def ready(name: str, since: str) -> Object:
        return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "lastTransitionTime": since}]}}

    assert tracker.compute(service, [ready("a", "2023-01-01T00:00:05Z")]) == "2023-01-01T00:00:00Z", "the service is new"
    assert tracker.compute(service, [ready("a", "2023-01-01T00:00:05Z")]) == ""
    several = [ready("a", "2023-01-01T00:00:05Z"), ready("c", "2023-01-01T00:00:09Z"), ready("b", "2023-01-01T00:00:07Z")]
    assert tracker.compute(service, several) == "2023-01-01T00:00:07Z"
    tracker.forget(NamespacedName("n", "s"))
    assert tracker.compute(service, several) == "2023-01-01T00:00:00Z"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_finished_pod_has_no_endpoint(phase: str) -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", service_of())
        created = await create_pod(cluster, "a", "10.0.0.1")
        await cluster.finish(created, phase=phase)
        assert await conditions_by_address(cluster) == {}
        assert await subsets(cluster) == []


async def test_unselected_pods_and_pods_without_an_address_have_no_endpoint() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", service_of())
        await cluster.pod("no-address")
        await create_pod(cluster, "other", "10.0.0.2", labels={"app": "else"})
        assert await conditions_by_address(cluster) == {}
        await cluster.change(PODS, "other", {"metadata": {"labels": LABELS}})
        assert list(await conditions_by_address(cluster)) == ["10.0.0.2"]
        await cluster.change(PODS, "other", {"metadata": {"labels": {"app": "else"}}})
        assert await conditions_by_address(cluster) == {}


async def test_headless_service_can_publish_pods_that_are_not_ready() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", service_of(clusterIP="None", publishNotReadyAddresses=True))
        await create_pod(cluster, "a", "10.0.0.1", is_ready=False)
        assert await conditions_by_address(cluster) == {"10.0.0.1": (True, False, False)}
        assert (await only_slice(cluster))["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
        assert [ips(subset) for subset in await subsets(cluster)] == [["10.0.0.1"]]


async def test_named_target_port_is_resolved_for_each_pod() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", service_of({"port": 80, "targetPort": "web"}))
        for name, ip, port in (("a", "10.0.0.1", 8001), ("b", "10.0.0.2", 8002)):
            ports = [{"name": "admin", "containerPort": 9000}, {"name": "web", "containerPort": port}]
            await create_pod(cluster, name, ip, containers=[{"name": "c", "image": "one", "ports": ports}])
        addresses_by_port = {
            endpoint_slice["ports"][0]["port"]: endpoint_slice["endpoints"][0]["addresses"]
            for endpoint_slice in await cluster.all(SLICES)
            if endpoint_slice.get("endpoints")
        }
        assert addresses_by_port == {8001: ["10.0.0.1"], 8002: ["10.0.0.2"]}
        assert [(subset["ports"][0]["port"], ips(subset)) for subset in await subsets(cluster)] == [
            (8001, ["10.0.0.1"]),
            (8002, ["10.0.0.2"]),
        ]


@pytest.mark.parametrize("spec", [{"selector": None}, {"type": "ExternalName", "externalName": "example.test"}])
async def test_service_without_selector_or_with_external_name_gets_no_endpoints(spec: Object) -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await create_pod(cluster, "a", "10.0.0.1")
        await cluster.create(SERVICES, "web", {**service_of(), **spec})
        assert await cluster.all(SLICES) == []
        assert await cluster.all(ENDPOINTS) == []


async def test_eps_1_slices_are_deleted_with_their_service() -> None:
    async with workload_cluster(*CONTROLLERS) as cluster:
        await cluster.create(SERVICES, "web", service_of())
        await cluster.delete(SERVICES, "web")
        assert await cluster.all(SLICES) == []


async def test_eps_1_slice_of_another_owner_is_replaced() -> None:
    async with workload_cluster("endpointslices") as cluster:
        other_owner = await cluster.pod("former")
        meta = {
            "name": "web-old",
            "labels": {endpoint_slices.SERVICE_NAME: "web", endpoint_slices.MANAGED_BY: endpoint_slices.CONTROLLER_NAME},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "former", "uid": other_owner["metadata"]["uid"]}],
        }
        await cluster.client.create(SLICES, NAMESPACE, {"metadata": meta, "addressType": "IPv4", "endpoints": [], "ports": []})
        service = await cluster.create(SERVICES, "web", service_of())
        assert owners_of(await only_slice(cluster)) == [service["metadata"]["uid"]]


async def test_slice_changed_or_deleted_by_a_client_is_restored() -> None:
    async with workload_cluster("endpointslices") as cluster:
        await create_pod(cluster, "a", "10.0.0.1")
        await cluster.create(SERVICES, "web", service_of())
        await cluster.change(SLICES, name_of(await only_slice(cluster)), {"endpoints": []})
        assert list(await conditions_by_address(cluster)) == ["10.0.0.1"]
        await cluster.delete(SLICES, name_of(await only_slice(cluster)))
        assert list(await conditions_by_address(cluster)) == ["10.0.0.1"]


async def test_eps_3_endpoints_are_deleted_when_their_service_is_gone() -> None:
    async with workload_cluster("endpoints") as cluster:
        await cluster.create(SERVICES, "web", service_of())
        assert name_of(await cluster.get(ENDPOINTS, "web")) == "web"
        await cluster.delete(SERVICES, "web")
        assert await cluster.all(ENDPOINTS) == []


async def test_eps_3_endpoints_without_a_service_are_ignored() -> None:
    async with workload_cluster("endpoints") as cluster:
        await cluster.client.create(ENDPOINTS, NAMESPACE, {"metadata": {"name": "by-hand"}})
        await cluster.settle()
        assert [name_of(endpoints) for endpoints in await cluster.all(ENDPOINTS)] == ["by-hand"]


SERVICE_X: Object = {"metadata": {"name": "web", "uid": "s"}, "spec": {"selector": LABELS, "ports": [HTTP]}}


def pods_of(count: int) -> list[Object]:
    ready = [{"type": "Ready", "status": "True"}]
    return [
        {
            "metadata": {"name": f"p{index:04}", "uid": f"{index}", "namespace": "x", "labels": LABELS},
            "spec": {},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": ready if index % 2 else []},
        }
        for index in range(count)
    ]


def test_slice_holds_100_endpoints_and_keeps_them() -> None:
    pods = pods_of(250)
    created = endpoint_slices.diff_slices(SERVICE_X, endpoint_slices.desired_endpoints(SERVICE_X, pods, {}), []).creates
    assert [len(endpoint_slice["endpoints"]) for endpoint_slice in created] == [100, 100, 50]
    existing = [
        {**endpoint_slice, "metadata": {**endpoint_slice["metadata"], "name": f"web-{number}"}}
        for number, endpoint_slice in enumerate(created)
    ]
    fewer = endpoint_slices.diff_slices(SERVICE_X, endpoint_slices.desired_endpoints(SERVICE_X, pods[1:], {}), existing)
    assert ([name_of(endpoint_slice) for endpoint_slice in fewer.updates], fewer.creates, fewer.deletes) == (["web-0"], [], [])
    shrunk = endpoint_slices.diff_slices(SERVICE_X, endpoint_slices.desired_endpoints(SERVICE_X, pods[:200], {}), existing)
    assert (shrunk.updates, shrunk.creates, [name_of(endpoint_slice) for endpoint_slice in shrunk.deletes]) == ([], [], ["web-2"])
    empty = endpoint_slices.diff_slices(SERVICE_X, endpoint_slices.desired_endpoints(SERVICE_X, [], {}), existing)
    assert [len(endpoint_slice["endpoints"]) for endpoint_slice in empty.creates] == [0], (
        "one empty slice says that there are no endpoints"
    )
    assert len(empty.deletes) == 3


def test_endpoints_hold_1000_addresses_ready_ones_first() -> None:
    complete = endpoints_object.desired_object(SERVICE_X, None, pods_of(1000))
    assert "annotations" not in complete["metadata"]
    truncated = endpoints_object.desired_object(SERVICE_X, complete, pods_of(1200))
    assert truncated["metadata"]["annotations"] == {"endpoints.kubernetes.io/over-capacity": "truncated"}
    [subset] = truncated["subsets"]
    assert (len(subset["addresses"]), len(subset["notReadyAddresses"])) == (600, 400)
    assert endpoints_object.desired_object(SERVICE_X, truncated, pods_of(1000)) == complete
