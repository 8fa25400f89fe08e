"""Status updates are validated, for kinds of most groups."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from support.sample_objects import create_object

MERGE = {"Content-Type": "application/merge-patch+json"}
LABELS = {"app": "a"}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
WORKLOAD = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
JOB = {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}, "suspend": True}
INGRESS = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}

CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = [
    ("apps/v1/deployments", WORKLOAD, {"replicas": 1, "readyReplicas": 1}, {"readyReplicas": 2}, ["status.readyReplicas"]),
    ("apps/v1/statefulsets", WORKLOAD, {"replicas": 1}, {"collisionCount": -1}, ["status.collisionCount"]),
    ("apps/v1/daemonsets", WORKLOAD, {"numberReady": 1}, {"numberReady": -1}, ["status.numberReady"]),
    ("batch/v1/jobs", JOB, {"active": 1, "ready": 1}, {"ready": 2}, ["status.ready"]),
    (
        "policy/v1/poddisruptionbudgets",
        {"selector": {}},
        {"disruptionsAllowed": 1},
        {"disruptionsAllowed": -1},
        ["status.disruptionsAllowed"],
    ),
    (
        "networking.k8s.io/v1/ingresses",
        INGRESS,
        {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
        {"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "1.2.3.4"}]}},
        ["status.loadBalancer.ingress[0].ip", "status.loadBalancer.ingress[1].hostname"],
    ),
]


@pytest.mark.parametrize(("kind", "spec", "good", "bad", "fields"), CASES, ids=[case[0] for case in CASES])
def test_invalid_statuses_were_accepted(
    http: httpx.Client,
    namespace: str,
    kind: str,
    spec: dict[str, Any],
    good: dict[str, Any],
    bad: dict[str, Any],
    fields: list[str],
) -> None:
    group, plural = kind.rsplit("/", 1)
    path = f"/apis/{group}/namespaces/{namespace}/{plural}"
    create_object(http, path, "x", spec=spec)
    taken = http.patch(f"{path}/x/status", content=json.dumps({"status": good}), headers=MERGE)
    assert taken.status_code == 200, taken.text
    refused = http.patch(f"{path}/x/status", content=json.dumps({"status": bad}), headers=MERGE)
    assert refused.status_code == 422, refused.text
    assert {one["field"] for one in refused.json()["details"]["causes"]} == set(fields)
    found = http.get(f"{path}/x").json()["status"]
    assert good.items() <= found.items()


def test_resources_of_a_suspended_job_could_not_be_changed(http: httpx.Client, namespace: str) -> None:
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    create_object(http, path, "x", spec=JOB)
    container = {**TEMPLATE["spec"]["containers"][0], "resources": {"requests": {"cpu": "1"}}}
    change = json.dumps({"spec": {"template": {"spec": {"containers": [container]}}}})
    answer = http.patch(f"{path}/x", content=change, headers={"Content-Type": "application/strategic-merge-patch+json"})
    assert answer.status_code == 200, answer.text
    assert http.patch(f"{path}/x", content=json.dumps({"spec": {"suspend": False}}), headers=MERGE).status_code == 200
    again = change.replace('"1"', '"2"')
    answer = http.patch(f"{path}/x", content=again, headers={"Content-Type": "application/strategic-merge-patch+json"})
    assert [one["field"] for one in answer.json()["details"]["causes"]] == ["spec.template"]
