"""Cluster IPs and node ports: every Service that needs one has its own for as long as it exists."""

from __future__ import annotations

import ipaddress
import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

MERGE = {"Content-Type": "application/merge-patch+json"}
RANGE = ipaddress.ip_network("10.96.0.0/12")
PORTS = range(30000, 32768)
_addresses = itertools.count(2)  # the first is that of the server
_ports = itertools.count(30001)


@pytest.fixture
def services(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services"


def own_address() -> str:
    """An address of the static band, which is only allocated on request."""
    return f"10.96.0.{next(_addresses)}"


def posted(http: httpx.Client, path: str, name: str = "s", /, meta: dict[str, Any] | None = None, **spec: Any) -> httpx.Response:
    return http.post(path, json={"metadata": {"name": name, **(meta or {})}, "spec": {"ports": [{"port": 80}], **spec}})


def made(http: httpx.Client, path: str, name: str = "s", /, meta: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    answer = posted(http, path, name, meta, **spec)
    assert answer.status_code == 201, answer.text
    assert http.get(f"{path}/{name}").json() == answer.json()
    return dict(answer.json()["spec"])


def patched(http: httpx.Client, path: str, **spec: Any) -> dict[str, Any]:
    answer = http.patch(path, content=json.dumps({"spec": spec}), headers=MERGE)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["spec"])


def causes(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {cause["field"]: cause["message"] for cause in answer.json()["details"]["causes"]}


def test_service_gets_an_address_and_its_ip_family(http: httpx.Client, services: str) -> None:
    one, other = made(http, services, "one"), made(http, services, "other")
    assert one["clusterIP"] != other["clusterIP"]
    assert ipaddress.ip_address(one["clusterIP"]) in RANGE
    assert one == {
        "clusterIP": one["clusterIP"],
        "clusterIPs": [one["clusterIP"]],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }


def test_headless_and_external_services_get_no_address(http: httpx.Client, services: str) -> None:
    headless = made(http, services, "headless", clusterIP="None", selector={"a": "b"})
    assert (headless["clusterIP"], headless["clusterIPs"]) == ("None", ["None"])
    external = made(http, services, "external", type="ExternalName", externalName="example.com")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & external.keys()


def test_allocated_address_is_rejected(http: httpx.Client, services: str) -> None:
    address = own_address()
    assert made(http, services, "one", clusterIP=address)["clusterIPs"] == [address]
    refused = posted(http, services, "other", clusterIP=address)
    assert causes(refused) == {
        "spec.clusterIPs": f'Invalid value: ["{address}"]: failed to allocate IP {address}: provided IP is already allocated'
    }
    body = {"metadata": {"name": "other"}, "spec": {"ports": [{"port": 80}], "clusterIP": address}}
    assert causes(http.post(services, params={"dryRun": "All"}, json=body)) == causes(refused)


@pytest.mark.parametrize("address", ["10.95.255.255", "10.96.0.0", "10.111.255.255", "192.0.2.1"])
def test_address_outside_the_range_is_rejected(http: httpx.Client, services: str, address: str) -> None:
    assert "The range of valid IPs is 10.96.0.0/12" in causes(posted(http, services, clusterIP=address))["spec.clusterIPs"]


def test_address_is_stable_and_immutable(http: httpx.Client, services: str) -> None:
    before = made(http, services)
    after = patched(http, f"{services}/s", ports=[{"port": 81}], clusterIP=None, clusterIPs=None)
    assert (after["clusterIP"], after["clusterIPs"]) == (before["clusterIP"], before["clusterIPs"])
    plain: dict[str, Any] = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 82}], "type": "NodePort"}}
    plain["metadata"]["resourceVersion"] = http.get(f"{services}/s").json()["metadata"]["resourceVersion"]
    assert http.put(f"{services}/s", json=plain).json()["spec"]["clusterIP"] == before["clusterIP"]
    moved = http.patch(f"{services}/s", content=json.dumps({"spec": {"clusterIP": own_address()}}), headers=MERGE)
    assert "may not change once set" in causes(moved)["spec.clusterIPs[0]"]


def test_address_is_released_when_its_service_is_removed_and_not_before(http: httpx.Client, services: str) -> None:
    address = own_address()
    made(http, services, "one", {"finalizers": ["example.com/held"]}, clusterIP=address)
    assert http.delete(f"{services}/one").status_code == 200
    assert "already allocated" in causes(posted(http, services, "other", clusterIP=address))["spec.clusterIPs"]
    http.patch(f"{services}/one", content='{"metadata":{"finalizers":null}}', headers=MERGE)
    assert http.get(f"{services}/one").status_code == 404
    made(http, services, "other", clusterIP=address)
    assert http.delete(services).status_code == 200
    made(http, services, "third", clusterIP=address)


def test_address_of_a_collected_service_is_released(http: httpx.Client, namespace: str, services: str) -> None:
    address = own_address()
    owners = f"/api/v1/namespaces/{namespace}/configmaps"
    uid = http.post(owners, json={"metadata": {"name": "owner"}}).json()["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    made(http, services, "owned", {"ownerReferences": [owner]}, clusterIP=address)
    assert http.delete(f"{owners}/owner").status_code == 200
    deadline = time.monotonic() + 60
    while http.get(f"{services}/owned").status_code != 404:
        assert time.monotonic() < deadline, "the service was never collected"
    made(http, services, "other", clusterIP=address)


def test_addresses_of_a_deleted_namespace_are_released(http: httpx.Client, namespace: str, services: str) -> None:
    address = own_address()
    made(http, services, clusterIP=address)
    assert http.delete(f"/api/v1/namespaces/{namespace}").status_code == 200
    deadline = time.monotonic() + 60
    while http.get(f"/api/v1/namespaces/{namespace}").status_code != 404:
        assert time.monotonic() < deadline, "the namespace never went"
    assert posted(http, "/api/v1/namespaces/default/services", namespace, clusterIP=address).status_code == 201


def test_address_is_released_when_the_service_type_changes(http: httpx.Client, services: str) -> None:
    address = own_address()
    made(http, services, "one", clusterIP=address)
    assert "clusterIP" not in patched(http, f"{services}/one", type="ExternalName", externalName="example.com")
    made(http, services, "other", clusterIP=address)
    back = patched(http, f"{services}/one", type="ClusterIP", externalName=None)
    assert back["clusterIP"] not in {address, "None"}


def test_dry_run_shows_an_address_and_allocates_none(http: httpx.Client, services: str) -> None:
    address = own_address()
    for wanted in ({}, {"clusterIP": address}):
        body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **wanted}}
        shown = http.post(services, params={"dryRun": "All"}, json=body).json()["spec"]["clusterIP"]
        assert ipaddress.ip_address(shown) in RANGE
    made(http, services, clusterIP=address)


def test_concurrently_created_services_share_nothing(http: httpx.Client, server: str, services: str) -> None:
    def create(worker: int) -> list[dict[str, Any]]:
        with httpx.Client(base_url=server, timeout=60) as client:
            return [made(client, services, f"s{worker}-{number}", type="NodePort") for number in range(20)]

    with ThreadPoolExecutor(8) as pool:
        found = [spec for batch in pool.map(create, range(8)) for spec in batch]
    assert len({spec["clusterIP"] for spec in found}) == 160
    assert len({spec["ports"][0]["nodePort"] for spec in found}) == 160


def test_node_ports_are_allocated_kept_and_released(http: httpx.Client, services: str) -> None:
    spec = made(http, services, type="NodePort", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    first, second = (port["nodePort"] for port in spec["ports"])
    assert first != second
    assert {first, second} <= set(PORTS)
    assert spec["externalTrafficPolicy"] == "Cluster"
    again = patched(http, f"{services}/s", ports=[{"name": "b", "port": 81}, {"name": "c", "port": 82}])
    assert again["ports"][0]["nodePort"] == second
    assert again["ports"][1]["nodePort"] in PORTS
    made(http, services, "other", type="NodePort", ports=[{"port": 80, "nodePort": first}])
    inner = patched(http, f"{services}/s", type="ClusterIP")
    assert all("nodePort" not in port for port in inner["ports"])
    made(http, services, "third", type="NodePort", ports=[{"port": 80, "nodePort": second}])


def test_allocated_node_port_is_rejected(http: httpx.Client, services: str) -> None:
    taken, free = next(_ports), next(_ports)
    made(http, services, "one", type="NodePort", ports=[{"port": 80, "nodePort": taken}])
    ports = [{"name": "a", "port": 80, "nodePort": free}, {"name": "b", "port": 81, "nodePort": taken}]
    refused = causes(posted(http, services, "other", type="NodePort", ports=ports))
    assert refused == {"spec.ports[1].nodePort": f"Invalid value: {taken}: provided port is already allocated"}
    made(http, services, "other", type="NodePort", ports=[{"port": 80, "nodePort": free}])
    change = json.dumps({"spec": {"ports": [{"port": 80, "nodePort": taken}]}})
    assert "spec.ports[0].nodePort" in causes(http.patch(f"{services}/other", content=change, headers=MERGE))


def test_node_port_outside_the_range_is_rejected(http: httpx.Client, services: str) -> None:
    refused = causes(posted(http, services, type="NodePort", ports=[{"port": 80, "nodePort": 80}]))
    message = "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
    assert refused == {"spec.ports[0].nodePort": message}


def test_port_of_two_protocols_has_one_node_port(http: httpx.Client, services: str) -> None:
    ports = [{"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "tcp", "port": 53, "nodePort": next(_ports)}]
    spec = made(http, services, type="NodePort", ports=ports)
    assert {port["nodePort"] for port in spec["ports"]} == {ports[1]["nodePort"]}


def test_load_balancer_has_node_ports_unless_disabled(http: httpx.Client, services: str) -> None:
    usual = made(http, services, "usual", type="LoadBalancer", externalTrafficPolicy="Local")
    assert usual["ports"][0]["nodePort"] in PORTS
    assert usual["healthCheckNodePort"] in set(PORTS) - {usual["ports"][0]["nodePort"]}
    wanted = posted(http, services, "other", type="NodePort", ports=[{"port": 1, "nodePort": usual["healthCheckNodePort"]}])
    assert "spec.ports[0].nodePort" in causes(wanted)
    without = made(http, services, "without", type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert "nodePort" not in without["ports"][0]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy"),
        ({"clusterIP": "fd00::1"}, "spec.clusterIPs[0]"),
    ],
)
def test_unsupported_ip_families_are_rejected(http: httpx.Client, services: str, spec: dict[str, Any], field: str) -> None:
    assert field in causes(posted(http, services, **spec))


def test_service_without_selector_and_address_may_have_any_family(http: httpx.Client, services: str) -> None:
    spec = made(http, services, clusterIP="None", ipFamilies=["IPv6"], ipFamilyPolicy="SingleStack")
    assert (spec["clusterIPs"], spec["ipFamilies"]) == (["None"], ["IPv6"])
