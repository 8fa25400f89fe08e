"""EndpointSlices and Endpoints of Services: who can be reached where; EPS-1 and EPS-3."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.timestamps import timestamp
from probate.client.informers import Name
from probate.controllers.workloads.endpoints import endpoint_slices, endpoints_object
from probate.controllers.workloads.endpoints.endpoint_slices import SERVICE, SLICES
from probate.controllers.workloads.endpoints.endpoints_object import ENDPOINTS
from probate.controllers.workloads.endpoints.trigger_time import CHANGED, Triggers
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import LABELS, NAMESPACE, NODES, Object, Stage, name_of, owners_of, staged

SERVICES = SERVICE.resource
BOTH = ("endpointslices", "endpoints")
HTTP = {"name": "http", "port": 80, "targetPort": 8080}


def service_of(*ports: Object, **spec: Any) -> Object:
    return {"selector": LABELS, "ports": list(ports or (HTTP,)), **spec}


async def pod(stage: Stage, name: str, ip: str, *, is_ready: bool = True, **spec: Any) -> Object:
    labels = spec.pop("labels", LABELS)
    containers = spec.pop("containers", [{"name": "c", "image": "one"}])
    made = await stage.make(PODS, name, {"containers": containers, **spec}, labels=labels)
    ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": "2023-01-01T00:00:00Z"}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [ready]}
    await stage.change(PODS, name, {"status": status}, "status")
    return made


async def the_slice(stage: Stage) -> Object:
    [one] = await stage.all(SLICES)
    return one


async def reached(stage: Stage) -> dict[str, tuple[bool, bool, bool]]:
    """Of each address: ready, serving, terminating."""
    found: dict[str, tuple[bool, bool, bool]] = {}
    for one in await stage.all(SLICES):
        for each in one.get("endpoints") or []:
            said = each["conditions"]
            found[each["addresses"][0]] = (said["ready"], said["serving"], said["terminating"])
    return found


async def subsets(stage: Stage, name: str = "web") -> list[Object]:
    found: list[Object] = (await stage.get(ENDPOINTS, name)).get("subsets") or []
    return found


def ips(subset: Object, which: str = "addresses") -> list[str]:
    return [one["ip"] for one in subset.get(which) or []]


async def test_slice_and_endpoints_say_where_the_pods_of_a_service_are() -> None:
    async with staged(*BOTH) as stage:
        await stage.client.create(NODES, "", {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}})
        made = await pod(stage, "web-0", "10.0.0.1", nodeName="n", hostname="web-0", subdomain="web")
        service = await stage.make(SERVICES, "web", service_of(), labels={"team": "x"})
        one = await the_slice(stage)
        reference = {"kind": "Pod", "namespace": NAMESPACE, "name": "web-0", "uid": made["metadata"]["uid"]}
        assert name_of(one).startswith("web-")
        assert one["metadata"]["labels"] == {
            "team": "x",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        [owner] = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
            "Service",
            service["metadata"]["uid"],
            True,
            True,
        )
        assert (one["addressType"], one["ports"]) == ("IPv4", [{"name": "http", "protocol": "TCP", "port": 8080}])
        assert one["endpoints"] == [
            {
                "addresses": ["10.0.0.1"],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "hostname": "web-0",
                "targetRef": reference,
                "nodeName": "n",
                "zone": "z",
            }
        ]
        all_ = await stage.get(ENDPOINTS, "web")
        assert owners_of(all_) == []
        assert all_["metadata"]["labels"] == {"team": "x", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        assert all_["subsets"] == [
            {
                "addresses": [{"ip": "10.0.0.1", "hostname": "web-0", "nodeName": "n", "targetRef": reference}],
                "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
            }
        ]


async def test_conditions_follow_the_pods() -> None:
    async with staged(*BOTH) as stage:
        await stage.make(SERVICES, "web", service_of())
        assert await reached(stage) == {}
        one = await pod(stage, "a", "10.0.0.1", is_ready=False)
        assert await reached(stage) == {"10.0.0.1": (False, False, False)}
        assert [(ips(each), ips(each, "notReadyAddresses")) for each in await subsets(stage)] == [([], ["10.0.0.1"])]
        await stage.run(one)
        assert await reached(stage) == {"10.0.0.1": (True, True, False)}
        assert [ips(each) for each in await subsets(stage)] == [["10.0.0.1"]]
        await stage.bind(one)
        await stage.delete(PODS, "a")
        assert await reached(stage) == {"10.0.0.1": (False, True, True)}
        assert await subsets(stage) == [], "on its way out"
        await stage.delete(PODS, "a", grace=0)
        assert await reached(stage) == {}


async def triggers(stage: Stage) -> list[str | None]:
    """What the slice and the Endpoints say of when that was which they tell."""
    both = (await the_slice(stage), await stage.get(ENDPOINTS, "web"))
    return [(one["metadata"].get("annotations") or {}).get(CHANGED) for one in both]


async def test_time_of_what_is_told_is_that_of_the_first_pod_that_is_news() -> None:
    async with staged(*BOTH) as stage:
        made = (await stage.make(SERVICES, "web", service_of()))["metadata"]["creationTimestamp"]
        assert await triggers(stage) == [made, made]
        await stage.pass_time(60)
        first = await pod(stage, "a", "10.0.0.1", is_ready=False)
        assert await triggers(stage) == ["2023-01-01T00:00:00Z"] * 2
        await stage.pass_time(60)
        await stage.run(first)
        ready = timestamp(stage.cluster.clock.now())
        assert await triggers(stage) == [ready] * 2
        await stage.change(SERVICES, "web", {"metadata": {"labels": {"more": "x"}}})
        assert await triggers(stage) == [None, None], "a change that comes from no pod"


def test_time_of_several_pods_is_the_earliest_and_what_was_told_is_no_news() -> None:
    told, service = Triggers(), {"metadata": {"name": "s", "namespace": "n", "creationTimestamp": "2023-01-01T00:00:00Z"}}

    def ready(name: str, since: str) -> Object:
        return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "lastTransitionTime": since}]}}

    assert told.note(service, [ready("a", "2023-01-01T00:00:05Z")]) == "2023-01-01T00:00:00Z", "a service that was not known"
    assert told.note(service, [ready("a", "2023-01-01T00:00:05Z")]) == ""
    several = [ready("a", "2023-01-01T00:00:05Z"), ready("c", "2023-01-01T00:00:09Z"), ready("b", "2023-01-01T00:00:07Z")]
    assert told.note(service, several) == "2023-01-01T00:00:07Z"
    told.forget(Name("n", "s"))
    assert told.note(service, several) == "2023-01-01T00:00:00Z"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_pod_that_has_ended_cannot_be_reached(phase: str) -> None:
    async with staged(*BOTH) as stage:
        await stage.make(SERVICES, "web", service_of())
        one = await pod(stage, "a", "10.0.0.1")
        await stage.end(one, phase=phase)
        assert await reached(stage) == {}
        assert await subsets(stage) == []


async def test_pods_that_are_not_selected_or_have_no_address_are_not_there() -> None:
    async with staged(*BOTH) as stage:
        await stage.make(SERVICES, "web", service_of())
        await stage.pod("no-address")
        await pod(stage, "other", "10.0.0.2", labels={"app": "else"})
        assert await reached(stage) == {}
        await stage.change(PODS, "other", {"metadata": {"labels": LABELS}})
        assert list(await reached(stage)) == ["10.0.0.2"]
        await stage.change(PODS, "other", {"metadata": {"labels": {"app": "else"}}})
        assert await reached(stage) == {}


async def test_headless_service_may_show_pods_that_are_not_ready() -> None:
    async with staged(*BOTH) as stage:
        await stage.make(SERVICES, "web", service_of(clusterIP="None", publishNotReadyAddresses=True))
        await pod(stage, "a", "10.0.0.1", is_ready=False)
        assert await reached(stage) == {"10.0.0.1": (True, False, False)}
        assert (await the_slice(stage))["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
        assert [ips(each) for each in await subsets(stage)] == [["10.0.0.1"]]


async def test_port_that_is_meant_by_name_is_where_each_pod_says() -> None:
    async with staged(*BOTH) as stage:
        await stage.make(SERVICES, "web", service_of({"port": 80, "targetPort": "web"}))
        for name, ip, port in (("a", "10.0.0.1", 8001), ("b", "10.0.0.2", 8002)):
            ports = [{"name": "admin", "containerPort": 9000}, {"name": "web", "containerPort": port}]
            await pod(stage, name, ip, containers=[{"name": "c", "image": "one", "ports": ports}])
        found = {
            one["ports"][0]["port"]: one["endpoints"][0]["addresses"] for one in await stage.all(SLICES) if one.get("endpoints")
        }
        assert found == {8001: ["10.0.0.1"], 8002: ["10.0.0.2"]}
        assert [(each["ports"][0]["port"], ips(each)) for each in await subsets(stage)] == [
            (8001, ["10.0.0.1"]),
            (8002, ["10.0.0.2"]),
        ]


@pytest.mark.parametrize("spec", [{"selector": None}, {"type": "ExternalName", "externalName": "example.test"}])
async def test_service_that_somebody_else_places_gets_nothing(spec: Object) -> None:
    async with staged(*BOTH) as stage:
        await pod(stage, "a", "10.0.0.1")
        await stage.make(SERVICES, "web", {**service_of(), **spec})
        assert await stage.all(SLICES) == []
        assert await stage.all(ENDPOINTS) == []


async def test_eps_1_slices_go_with_their_service() -> None:
    async with staged(*BOTH) as stage:
        await stage.make(SERVICES, "web", service_of())
        await stage.delete(SERVICES, "web")
        assert await stage.all(SLICES) == []


async def test_eps_1_slice_of_a_former_service_is_replaced() -> None:
    async with staged("endpointslices") as stage:
        former = await stage.pod("former")
        meta = {
            "name": "web-old",
            "labels": {endpoint_slices.NAME: "web", endpoint_slices.MANAGED_BY: endpoint_slices.US},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "former", "uid": former["metadata"]["uid"]}],
        }
        await stage.client.create(SLICES, NAMESPACE, {"metadata": meta, "addressType": "IPv4", "endpoints": [], "ports": []})
        service = await stage.make(SERVICES, "web", service_of())
        assert owners_of(await the_slice(stage)) == [service["metadata"]["uid"]]


async def test_slice_that_somebody_changes_or_deletes_comes_back() -> None:
    async with staged("endpointslices") as stage:
        await pod(stage, "a", "10.0.0.1")
        await stage.make(SERVICES, "web", service_of())
        await stage.change(SLICES, name_of(await the_slice(stage)), {"endpoints": []})
        assert list(await reached(stage)) == ["10.0.0.1"]
        await stage.delete(SLICES, name_of(await the_slice(stage)))
        assert list(await reached(stage)) == ["10.0.0.1"]


async def test_eps_3_endpoints_go_when_their_service_is_gone() -> None:
    async with staged("endpoints") as stage:
        await stage.make(SERVICES, "web", service_of())
        assert name_of(await stage.get(ENDPOINTS, "web")) == "web"
        await stage.delete(SERVICES, "web")
        assert await stage.all(ENDPOINTS) == []


async def test_eps_3_endpoints_of_nobody_are_left_alone() -> None:
    async with staged("endpoints") as stage:
        await stage.client.create(ENDPOINTS, NAMESPACE, {"metadata": {"name": "by-hand"}})
        await stage.settle()
        assert [name_of(one) for one in await stage.all(ENDPOINTS)] == ["by-hand"]


SERVICE_X: Object = {"metadata": {"name": "web", "uid": "s"}, "spec": {"selector": LABELS, "ports": [HTTP]}}


def many(number: int) -> list[Object]:
    ready = [{"type": "Ready", "status": "True"}]
    return [
        {
            "metadata": {"name": f"p{each:04}", "uid": f"{each}", "namespace": "x", "labels": LABELS},
            "spec": {},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": ready if each % 2 else []},
        }
        for each in range(number)
    ]


def test_slice_holds_a_hundred_and_what_is_in_one_stays_there() -> None:
    pods = many(250)
    made = endpoint_slices.compare(SERVICE_X, endpoint_slices.wanted(SERVICE_X, pods, {}), []).creates
    assert [len(one["endpoints"]) for one in made] == [100, 100, 50]
    there = [{**one, "metadata": {**one["metadata"], "name": f"web-{number}"}} for number, one in enumerate(made)]
    fewer = endpoint_slices.compare(SERVICE_X, endpoint_slices.wanted(SERVICE_X, pods[1:], {}), there)
    assert ([name_of(one) for one in fewer.updates], fewer.creates, fewer.deletes) == (["web-0"], [], [])
    two = endpoint_slices.compare(SERVICE_X, endpoint_slices.wanted(SERVICE_X, pods[:200], {}), there)
    assert (two.updates, two.creates, [name_of(one) for one in two.deletes]) == ([], [], ["web-2"])
    none = endpoint_slices.compare(SERVICE_X, endpoint_slices.wanted(SERVICE_X, [], {}), there)
    assert [len(one["endpoints"]) for one in none.creates] == [0], "one that says that there are none"
    assert len(none.deletes) == 3


def test_endpoints_hold_a_thousand_those_that_are_ready_first() -> None:
    whole = endpoints_object.described(SERVICE_X, None, many(1000))
    assert "annotations" not in whole["metadata"]
    cut = endpoints_object.described(SERVICE_X, whole, many(1200))
    assert cut["metadata"]["annotations"] == {"endpoints.kubernetes.io/over-capacity": "truncated"}
    [subset] = cut["subsets"]
    assert (len(subset["addresses"]), len(subset["notReadyAddresses"])) == (600, 400)
    assert endpoints_object.described(SERVICE_X, cut, many(1000)) == whole
