"""API priority and fairness: the initial FlowSchemas and PriorityLevels, and the headers that name them."""

from __future__ import annotations

import httpx

FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
NAMES = ("x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid")


def exempt(http: httpx.Client) -> list[str]:
    paths = (f"{FLOWS}/flowschemas/exempt", f"{FLOWS}/prioritylevelconfigurations/exempt")
    return [http.get(path).json()["metadata"]["uid"] for path in paths]


def test_response_names_its_flow_schema_and_priority_level(http: httpx.Client) -> None:
    answer = http.get("/api/v1/namespaces/default")
    assert [answer.headers[name] for name in NAMES] == exempt(http)


def test_watch_names_its_flow_schema_and_priority_level(http: httpx.Client) -> None:
    with http.stream("GET", "/api/v1/namespaces", params={"watch": "1"}) as answer:
        told = [answer.headers[name] for name in NAMES]
    assert told == exempt(http)


def test_initial_flow_control_objects_exist(http: httpx.Client) -> None:
    assert http.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes").json()["status"]["conditions"][0]["status"] == "True"
    assert http.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical").json()["value"] == 2_000_001_000
    assert len(http.get(f"{FLOWS}/flowschemas").json()["items"]) >= 13
