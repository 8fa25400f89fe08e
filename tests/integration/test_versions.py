"""One object in several versions: each version shows all of it in its own form, whichever it was written in."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PREFIX = "autoscaling.alpha.kubernetes.io/"
SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
REQUESTS = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}


def cpu(percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


@pytest.fixture
def v1(namespace: str) -> str:
    return f"/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers"


@pytest.fixture
def v2(namespace: str) -> str:
    return f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"


def made(http: httpx.Client, path: str, **fields: Any) -> dict[str, Any]:
    answer = http.post(path, json={"metadata": {"name": "a", **fields.pop("metadata", {})}, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def watched(http: httpx.Client, path: str, version: str, expected: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with http.stream("GET", path, params={"watch": "1", "resourceVersion": version, "timeoutSeconds": "20"}) as answer:
        for line in answer.iter_lines():
            found.append(json.loads(line))
            if len(found) == expected:
                break
    return found


def test_autoscaler_written_in_v1_is_readable_in_v2(http: httpx.Client, v1: str, v2: str) -> None:
    old = made(http, v1, spec={"scaleTargetRef": SCALED, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50})
    assert (old["apiVersion"], old["kind"]) == ("autoscaling/v1", "HorizontalPodAutoscaler")
    assert old["spec"] == {"scaleTargetRef": SCALED, "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    assert old["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert "annotations" not in old["metadata"]
    new = http.get(f"{v2}/a").json()
    assert new["apiVersion"] == "autoscaling/v2"
    assert new["spec"] == {"scaleTargetRef": SCALED, "minReplicas": 1, "maxReplicas": 3, "metrics": [cpu(50)]}
    assert new["status"] == {"desiredReplicas": 0, "currentMetrics": None}
    assert new["metadata"] == old["metadata"]
    assert http.get(f"{v1}/a").json() == old


def test_autoscaler_without_a_target_keeps_to_eighty_percent_in_both_versions(http: httpx.Client, v1: str, v2: str) -> None:
    assert made(http, v1, spec={"scaleTargetRef": SCALED, "maxReplicas": 3})["spec"]["targetCPUUtilizationPercentage"] == 80
    assert http.get(f"{v2}/a").json()["spec"]["metrics"] == [cpu(80)]


@pytest.fixture
def rich(http: httpx.Client, v2: str) -> dict[str, Any]:
    """An autoscaler with everything that v1 has no fields for."""
    up = {"stabilizationWindowSeconds": 5, "policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}
    spec = {"scaleTargetRef": SCALED, "maxReplicas": 9, "metrics": [REQUESTS, cpu(70)], "behavior": {"scaleUp": up}}
    made(http, v2, metadata={"annotations": {"mine": "x"}}, spec=spec)
    when = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": "m"}
    current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 20, "averageValue": "200m"}}}
    status = {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": [current], "conditions": [when]}
    answer = http.patch(f"{v2}/a/status", content=json.dumps({"status": status}), headers=MERGE)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_fields_that_v1_lacks_are_in_its_annotations(http: httpx.Client, v1: str, rich: dict[str, Any]) -> None:
    old = http.get(f"{v1}/a").json()
    assert old["spec"] == {"scaleTargetRef": SCALED, "minReplicas": 1, "maxReplicas": 9, "targetCPUUtilizationPercentage": 70}
    assert old["status"] == {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 20}
    notes = old["metadata"]["annotations"]
    assert notes.pop("mine") == "x"
    told = {name.removeprefix(PREFIX): json.loads(text) for name, text in notes.items()}
    assert told["metrics"] == [{"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "1k"}}]
    measured = {"name": "cpu", "currentAverageUtilization": 20, "currentAverageValue": "200m"}
    assert told["current-metrics"] == [{"type": "Resource", "resource": measured}]
    assert told["conditions"] == rich["status"]["conditions"]
    assert told["behavior"]["ScaleUp"] == {
        "StabilizationWindowSeconds": 5,
        "SelectPolicy": "Max",
        "Policies": [{"Type": "Pods", "Value": 2, "PeriodSeconds": 60}],
        "Tolerance": None,
    }


def test_write_in_v1_loses_nothing_of_v2(http: httpx.Client, v1: str, v2: str, rich: dict[str, Any]) -> None:
    old = http.get(f"{v1}/a").json()
    old["spec"]["maxReplicas"] = 5
    assert http.put(f"{v1}/a", json=old).status_code == 200
    new = http.get(f"{v2}/a").json()
    assert new["metadata"]["annotations"] == {"mine": "x"}
    assert new["spec"] == {**rich["spec"], "maxReplicas": 5}
    assert new["status"] == rich["status"]
    unchanged = http.put(f"{v1}/a", json=http.get(f"{v1}/a").json()).json()
    assert unchanged["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("media", "change"),
    [
        (MERGE, {"spec": {"targetCPUUtilizationPercentage": 33}}),
        (STRATEGIC, {"spec": {"targetCPUUtilizationPercentage": 33}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/targetCPUUtilizationPercentage", "value": 33}]),
    ],
)
def test_patch_in_v1_applies_to_the_v1_form(
    http: httpx.Client, v1: str, v2: str, rich: dict[str, Any], media: dict[str, str], change: Any
) -> None:
    answer = http.patch(f"{v1}/a", content=json.dumps(change), headers=media)
    assert answer.json()["spec"]["targetCPUUtilizationPercentage"] == 33
    assert http.get(f"{v2}/a").json()["spec"] == {**rich["spec"], "metrics": [REQUESTS, cpu(33)]}


def test_annotations_of_v1_are_ignored_in_v2_and_broken_ones_everywhere(http: httpx.Client, v1: str, v2: str) -> None:
    notes = {f"{PREFIX}{name}": text for name, text in (("metrics", "{["), ("behavior", "[]"), ("conditions", '[{"type": 1}]'))}
    spec = {"scaleTargetRef": SCALED, "maxReplicas": 3}
    assert "annotations" not in made(http, v1, metadata={"name": "broken", "annotations": notes}, spec=spec)["metadata"]
    assert http.get(f"{v2}/broken").json()["spec"]["metrics"] == [cpu(80)]
    metrics = {f"{PREFIX}metrics": '[{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"1k"}}]'}
    new = made(http, v2, metadata={"annotations": {**metrics, "mine": "x"}}, spec=spec)
    assert new["metadata"]["annotations"] == {"mine": "x"}
    assert new["spec"]["metrics"] == [cpu(80)]


def test_invalid_v1_target_is_reported_at_its_v2_path(http: httpx.Client, v1: str) -> None:
    spec = {"scaleTargetRef": SCALED, "maxReplicas": 3, "targetCPUUtilizationPercentage": 0}
    answer = http.post(v1, json={"metadata": {"name": "a"}, "spec": spec})
    assert answer.status_code == 422
    fields = [cause["field"] for cause in answer.json()["details"]["causes"]]
    assert fields == ["spec.metrics[0].resource.target.averageUtilization"]


def test_lists_watches_and_tables_show_each_autoscaler_in_their_own_version(
    http: httpx.Client, v1: str, v2: str, rich: dict[str, Any]
) -> None:
    assert [item["spec"].get("targetCPUUtilizationPercentage") for item in http.get(v1).json()["items"]] == [70]
    assert [item["spec"]["metrics"] for item in http.get(v2).json()["items"]] == [[REQUESTS, cpu(70)]]
    assert http.delete(f"{v1}/a").status_code == 200
    start = str(int(rich["metadata"]["resourceVersion"]) - 1)
    for path, version, has_target in ((v1, "autoscaling/v1", True), (v2, "autoscaling/v2", False)):
        events = watched(http, path, start, 2)
        assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]
        assert {event["object"]["apiVersion"] for event in events} == {version}
        assert all(("targetCPUUtilizationPercentage" in event["object"]["spec"]) == has_target for event in events)


def test_table_of_autoscalers_is_the_same_in_both_versions(http: httpx.Client, v1: str, v2: str, rich: dict[str, Any]) -> None:
    old, new = (
        http.get(path, headers=TABLE).json()["rows"][0]["cells"][:-1] for path in (v1, v2)
    )  # a second may pass between them
    assert old == new
    assert old[2] == "<unknown>/1k, cpu: <unknown>/70%"  # what is measured is told in the metrics' order


POD = {"kind": "Pod", "namespace": "NS", "name": "web"}


@pytest.fixture
def core(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/events"


@pytest.fixture
def events(namespace: str) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


def test_core_event_is_readable_in_events_k8s_io(http: httpx.Client, namespace: str, core: str, events: str) -> None:
    about = {**POD, "namespace": namespace}
    source = {"component": "kubelet", "host": "n1"}
    seen = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:01:00Z", "count": 3}
    old = made(http, core, involvedObject=about, reason="BackOff", message="again", source=source, type="Warning", **seen)
    assert (old["reportingComponent"], old["eventTime"]) == ("", None)
    new = http.get(f"{events}/a").json()
    assert {name: value for name, value in new.items() if name != "metadata"} == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "eventTime": None,
        "reason": "BackOff",
        "regarding": about,
        "note": "again",
        "type": "Warning",
        "deprecatedSource": source,
        "deprecatedFirstTimestamp": seen["firstTimestamp"],
        "deprecatedLastTimestamp": seen["lastTimestamp"],
        "deprecatedCount": 3,
    }
    assert new["metadata"] == old["metadata"]


def new_event(namespace: str, **changes: Any) -> dict[str, Any]:
    event = {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {**POD, "namespace": namespace},
        "note": "done",
        "type": "Normal",
    }
    return {**event, **changes}


def test_events_k8s_io_event_is_readable_in_core(http: httpx.Client, namespace: str, core: str, events: str) -> None:
    new = made(http, events, **new_event(namespace))
    assert new["deprecatedSource"] == {}
    old = http.get(f"{core}/a").json()
    assert (old["message"], old["reportingComponent"], old["involvedObject"]["name"]) == ("done", "example.com/c", "web")
    assert (old["source"], old["firstTimestamp"], old["lastTimestamp"]) == ({}, None, None)
    assert not {"note", "regarding", "deprecatedSource", "count"} & old.keys()
    again = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:02:00.000000Z"}}
    assert http.patch(f"{events}/a", content=json.dumps(again), headers=MERGE).json()["series"] == again["series"]
    assert http.get(f"{core}/a").json()["series"] == again["series"]


def test_events_are_listed_selected_and_watched_in_both_groups(http: httpx.Client, namespace: str, core: str, events: str) -> None:
    first = made(http, events, **new_event(namespace))
    made(http, core, metadata={"name": "b"}, involvedObject={**POD, "namespace": namespace, "name": "other"}, message="m")
    by_core = http.get(core, params={"fieldSelector": "involvedObject.name=web,reportingComponent=example.com/c"}).json()["items"]
    assert [(item["metadata"]["name"], item["message"]) for item in by_core] == [("a", "done")]
    found = http.get(events, params={"fieldSelector": "regarding.name=web,reportingController=example.com/c"}).json()
    assert (found["apiVersion"], [item["note"] for item in found["items"]]) == ("events.k8s.io/v1", ["done"])
    assert http.get(events, params={"fieldSelector": "involvedObject.name=web"}).status_code == 400
    start = str(int(first["metadata"]["resourceVersion"]) - 1)
    assert [event["object"]["message"] for event in watched(http, core, start, 2)] == ["done", "m"]
    assert [event["object"]["note"] for event in watched(http, events, start, 2)] == ["done", "m"]
    cells = [[row["cells"] for row in http.get(path, headers=TABLE).json()["rows"]] for path in (core, events)]
    assert cells[0] == cells[1]
    assert http.delete(f"{core}/a").status_code == 200
    assert http.get(f"{events}/a").status_code == 404


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"eventTime": None}, {"eventTime"}),
        ({"type": "Bad"}, {"type"}),
        ({"reportingController": ""}, {"reportingController"}),
        ({"action": "", "reason": ""}, {"action", "reason"}),
        ({"note": "x" * 1025}, {"message"}),
        ({"deprecatedCount": 1, "deprecatedSource": {"host": "n"}}, {"count", "source"}),
        ({"series": {"count": 1, "lastObservedTime": None}}, {"series.count", "series.lastObservedTime"}),
    ],
)
def test_events_group_requires_complete_new_events(
    http: httpx.Client, namespace: str, events: str, changes: dict[str, Any], fields: set[str]
) -> None:
    answer = http.post(events, json={"metadata": {"name": "a"}, **new_event(namespace, **changes)})
    assert answer.status_code == 422, answer.text
    assert {cause["field"] for cause in answer.json()["details"]["causes"]} >= fields


def test_only_the_series_of_an_event_is_mutable_in_events_k8s_io(
    http: httpx.Client, namespace: str, core: str, events: str
) -> None:
    made(http, events, **new_event(namespace))
    answer = http.patch(f"{events}/a", content='{"note":"other","reportingController":"example.com/d"}', headers=MERGE)
    assert {cause["field"] for cause in answer.json()["details"]["causes"]} == {"message", "reportingController"}
    assert http.patch(f"{core}/a", content='{"message":"other"}', headers=MERGE).status_code == 200
