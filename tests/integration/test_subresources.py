"""Subresources: binding, eviction, ephemeral containers, resize, approval, token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support import certificate_requests
from support.sample_objects import create_object

MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def pod(http: httpx.Client, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/pods"
    labels = {"app": "web"}
    create_object(http, path, "p", metadata={"labels": labels}, spec={"containers": [{"name": "c", "image": "i"}]})
    return f"{path}/p"


def test_pod_is_bound_to_a_node_once(http: httpx.Client, pod: str) -> None:
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    assert http.post(f"{pod}/binding", json=binding).status_code == 201
    now = http.get(pod).json()
    assert now["spec"]["nodeName"] == "n1"
    [told] = [one for one in now["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert (told["status"], told["observedGeneration"]) == ("True", 1)
    assert http.post(f"{pod}/binding", json=binding).status_code == 409


def test_pod_is_bound_by_a_binding_that_names_it(http: httpx.Client, namespace: str, pod: str) -> None:
    bindings = f"/api/v1/namespaces/{namespace}/bindings"
    uid = http.get(pod).json()["metadata"]["uid"]
    notes = {"annotations": {"note": "x"}, "labels": {"app": "other", "zone": "z"}}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", **notes}, "target": {"kind": "Node", "name": "n1"}}
    stale = {**binding, "metadata": {"name": "p", "uid": "another"}}
    assert http.post(bindings, json=stale).status_code == 409
    assert http.post(bindings, json={**binding, "metadata": {"name": "absent"}}).status_code == 404
    assert http.post(bindings, json={**binding, "metadata": {}}).status_code == 400
    assert http.post(bindings, json={**binding, "target": {}}).json()["details"]["causes"][0]["field"] == "target.name"
    assert http.get(pod).json()["spec"].get("nodeName") is None
    done = http.post(bindings, json={**binding, "metadata": {**binding["metadata"], "uid": uid}})  # type: ignore[dict-item]
    assert (done.status_code, done.json()["status"]) == (201, "Success")
    now = http.get(pod).json()
    assert now["spec"]["nodeName"] == "n1"
    assert now["metadata"]["annotations"] == {"note": "x"}
    assert now["metadata"]["labels"] == {"app": "other", "zone": "z"}
    assert http.post(bindings, json=binding).status_code == 409
    assert http.get(bindings).status_code == 405


def fields(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return sorted(cause["field"] for cause in answer.json()["details"]["causes"])


def test_all_errors_of_a_binding_are_reported(http: httpx.Client, pod: str) -> None:
    binding: dict[str, Any] = {"metadata": {"name": "p"}, "target": {"kind": "Pod"}}
    assert fields(http.post(f"{pod}/binding", json=binding)) == ["target.kind", "target.name"]


@pytest.mark.parametrize(
    ("name", "about", "field"),
    [
        ("a/b/../c", {}, "target.name"),
        ("n\u0000", {}, "target.name"),
        ("n", {"labels": {"bad key!!": "x"}}, "metadata.labels"),
        ("n", {"annotations": {"bad key!!": "x"}}, "metadata.annotations"),
    ],
    ids=["path", "nul", "labels", "annotations"],
)
def test_pod_could_not_be_updated_after_a_binding(
    http: httpx.Client, pod: str, name: str, about: dict[str, Any], field: str
) -> None:
    binding = {"metadata": {"name": "p", **about}, "target": {"kind": "Node", "name": name}}
    refused = http.post(f"{pod}/binding", json=binding)
    assert refused.status_code == 422, refused.text
    assert set(fields(refused)) == {field}
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert http.patch(pod, json=patch, headers={"content-type": "application/merge-patch+json"}).status_code == 200


def test_invalid_status_is_rejected(http: httpx.Client, pod: str) -> None:
    wrong = {"status": {"qosClass": "Guaranteed", "podIPs": [{"ip": "here"}]}}
    assert fields(http.patch(f"{pod}/status", content=json.dumps(wrong), headers=MERGE)) == ["status.podIPs[0]", "status.qosClass"]
    fine = {"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}
    assert http.patch(f"{pod}/status", content=json.dumps(fine), headers=MERGE).status_code == 200


def test_namespace_finalizers_are_validated_by_finalize(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}"
    now = http.get(path).json()
    now["spec"]["finalizers"] = ["kubernetes", "mine"]
    assert fields(http.put(f"{path}/finalize", json=now)) == ["spec.finalizers[1]"]


EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}


def covered(http: httpx.Client, namespace: str, pod: str, *, is_ready: bool = True, **spec: Any) -> str:
    """The path of a budget that covers a running pod."""
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    create_object(http, budgets, "b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **spec})
    told = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(is_ready)}]}
    assert http.patch(f"{pod}/status", content=json.dumps({"status": told}), headers=MERGE).status_code == 200
    return f"{budgets}/b"


def allow(http: httpx.Client, budget: str, number: int, healthy: int = 1, desired: int = 1) -> None:
    status = {"disruptionsAllowed": number, "currentHealthy": healthy, "desiredHealthy": desired, "observedGeneration": 1}
    assert http.patch(f"{budget}/status", content=json.dumps({"status": status}), headers=MERGE).status_code == 200


def test_eviction_waits_until_the_budget_status_is_current(http: httpx.Client, namespace: str, pod: str) -> None:
    covered(http, namespace, pod)
    refused = http.post(f"{pod}/eviction", json=EVICTION)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    [cause] = refused.json()["details"]["causes"]
    assert cause == {"reason": "DisruptionBudget", "message": "The disruption budget b is still being processed by the server."}


def test_eviction_is_rejected_if_the_budget_allows_none(http: httpx.Client, namespace: str, pod: str) -> None:
    allow(http, covered(http, namespace, pod), 0)
    refused = http.post(f"{pod}/eviction", json=EVICTION)
    assert refused.status_code == 429
    assert refused.json()["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    [cause] = refused.json()["details"]["causes"]
    assert cause["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"
    assert http.get(pod).status_code == 200


def test_eviction_is_charged_to_the_budget(http: httpx.Client, namespace: str, pod: str) -> None:
    budget = covered(http, namespace, pod)
    allow(http, budget, 1, healthy=2)
    http.patch(pod, content='{"metadata":{"finalizers":["test.example/hold"]}}', headers=MERGE)
    assert http.post(f"{pod}/eviction", params={"dryRun": "All"}, json=EVICTION).status_code == 201
    assert http.get(budget).json()["status"]["disruptionsAllowed"] == 1
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == 201
    status = http.get(budget).json()["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"]) == ("DisruptionAllowed", "False")
    left = http.get(pod).json()
    assert "deletionTimestamp" in left["metadata"]
    assert ("DisruptionTarget", 1) in [(one["type"], one.get("observedGeneration")) for one in left["status"]["conditions"]]
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == 201, "it is on its way out, and costs nothing more"


def test_pending_pod_does_not_charge_the_budget(http: httpx.Client, namespace: str, pod: str) -> None:
    create_object(
        http, f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", "b", spec={"minAvailable": 1, "selector": {}}
    )
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == 201
    assert http.get(pod).status_code == 404


@pytest.mark.parametrize(
    ("policy", "healthy", "code"), [("AlwaysAllow", 0, 201), ("IfHealthyBudget", 0, 429), ("IfHealthyBudget", 1, 201)]
)
def test_unready_pod_does_not_charge_the_budget(
    http: httpx.Client, namespace: str, pod: str, policy: str, healthy: int, code: int
) -> None:
    budget = covered(http, namespace, pod, is_ready=False, unhealthyPodEvictionPolicy=policy)
    allow(http, budget, 0, healthy)
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == code
    assert "disruptedPods" not in http.get(budget).json()["status"]


def test_pod_with_two_budgets_is_not_evicted(http: httpx.Client, namespace: str, pod: str) -> None:
    allow(http, covered(http, namespace, pod), 1)
    create_object(
        http, f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", "c", spec={"minAvailable": 0, "selector": {}}
    )
    refused = http.post(f"{pod}/eviction", json=EVICTION)
    assert (refused.status_code, refused.json()["reason"]) == (500, "InternalError")


def test_eviction_with_a_resource_version_precondition(http: httpx.Client, namespace: str, pod: str) -> None:
    budget = covered(http, namespace, pod)
    allow(http, budget, 1)
    other = {**EVICTION, "deleteOptions": {"preconditions": {"resourceVersion": "1"}}}
    assert http.post(f"{pod}/eviction", json=other).status_code == 409
    assert http.get(budget).json()["status"]["disruptionsAllowed"] == 1, "nothing is charged for it"
    version = http.get(pod).json()["metadata"]["resourceVersion"]
    meant = {**EVICTION, "deleteOptions": {"preconditions": {"resourceVersion": version}}}
    assert http.post(f"{pod}/eviction", json=meant).status_code == 201
    assert http.get(pod).status_code == 404


def test_ephemeral_container_is_added_through_its_subresource_only(http: httpx.Client, pod: str) -> None:
    change = json.dumps({"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}})
    assert http.patch(pod, content=change, headers=MERGE).status_code == 422
    assert http.patch(f"{pod}/ephemeralcontainers", content=change, headers=MERGE).status_code == 200
    assert http.get(pod).json()["spec"]["ephemeralContainers"] == [
        {
            "name": "d",
            "image": "i",
            "imagePullPolicy": "Always",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ]


def test_invalid_ephemeral_container_is_rejected_and_the_pod_can_be_updated(http: httpx.Client, pod: str) -> None:
    wrong = {"name": "c", "image": "x", "ports": [{"containerPort": 80}], "targetContainerName": "zz"}
    change = json.dumps({"spec": {"ephemeralContainers": [wrong]}})
    assert http.patch(f"{pod}/ephemeralcontainers", content=change, headers=MERGE).status_code == 422
    assert http.patch(pod, content=json.dumps({"metadata": {"labels": {"a": "b"}}}), headers=MERGE).status_code == 200


def test_resize_over_the_limit_or_to_another_qos_class_is_rejected(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    amounts = {"cpu": "2", "memory": "1Gi"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    create_object(http, path, "p", spec={"containers": [container]})
    for cpu, told in (("5", "must be less than or equal to cpu limit of 2"), ("500m", "Pod QOS Class may not change")):
        change = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        answer = http.patch(f"{path}/p/resize", content=json.dumps(change), headers=headers)
        assert answer.status_code == 422
        assert told in answer.json()["message"]


def test_node_pod_cidr_changed_in_only_one_of_its_two_fields(http: httpx.Client, namespace: str) -> None:
    node, ranges = f"/api/v1/nodes/{namespace}", {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}
    create_object(http, "/api/v1/nodes", namespace)
    for range_, code in (("10.0.0.0/24", 200), ("10.1.0.0/24", 422)):
        answer = http.patch(node, content=json.dumps({"spec": {"podCIDR": range_}}), headers=MERGE)
        assert answer.status_code == code, answer.text
    told = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    assert told in answer.json()["message"]
    spec = http.get(node).json()["spec"]
    assert {name: spec[name] for name in ranges} == ranges
    http.delete(node)


@pytest.fixture
def signing_request(http: httpx.Client, namespace: str) -> Iterator[str]:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    create_object(http, path, namespace, spec=certificate_requests.SPEC)
    yield f"{path}/{namespace}"
    http.delete(f"{path}/{namespace}")


@pytest.mark.parametrize("part", ["approval", "status"])
def test_annotations_and_labels_written_with_an_approval_were_lost(http: httpx.Client, signing_request: str, part: str) -> None:
    spec = http.get(signing_request).json()["spec"]
    meta = {"annotations": {"patched": "true"}, "labels": {"a": "b"}}
    change = {"metadata": meta, "spec": {"signerName": "x.y/z"}, "status": {"conditions": [{"type": "Patched", "status": "True"}]}}
    answer = http.patch(f"{signing_request}/{part}", content=json.dumps(change), headers=MERGE)
    assert answer.status_code == 200, answer.text
    found = http.get(signing_request).json()
    assert {name: found["metadata"][name] for name in meta} == meta
    assert found["spec"] == spec
    condition = found["status"]["conditions"][0]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] >= found["metadata"]["creationTimestamp"]


def test_applied_annotations_of_an_approval_are_owned_by_their_manager(http: httpx.Client, signing_request: str) -> None:
    document = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    for notes in ({"a": "b", "c": "d"}, {"a": "b"}):
        body = json.dumps({**document, "metadata": {"annotations": notes}})
        headers = {"Content-Type": "application/apply-patch+yaml"}
        answer = http.patch(f"{signing_request}/approval", params={"fieldManager": "m"}, content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert http.get(signing_request).json()["metadata"]["annotations"] == notes


def test_approval_changes_conditions_only_and_cannot_remove_them(http: httpx.Client, signing_request: str) -> None:
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m", "lastUpdateTime": "2020-01-01T00:00:00Z"}
    change = {"status": {"certificate": "AAAA", "conditions": [approved]}}
    answer = http.patch(f"{signing_request}/approval", content=json.dumps(change), headers=MERGE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"].keys() == {"conditions"}
    assert answer.json()["status"]["conditions"][0]["lastUpdateTime"] == approved["lastUpdateTime"]
    back = json.dumps({"status": {"conditions": []}})
    assert http.patch(f"{signing_request}/approval", content=back, headers=MERGE).status_code == 422


ELSEWHERE = {"metadata": {"name": "p", "namespace": "elsewhere"}}


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("eviction", ELSEWHERE),
        ("eviction", {**EVICTION, "apiVersion": "policy/v9"}),
        ("binding", {**ELSEWHERE, "target": {"name": "n"}}),
        ("binding", {"apiVersion": "v9", "kind": "Binding", "target": {"name": "n"}}),
    ],
    ids=["evicted-elsewhere", "eviction-of-another-version", "bound-elsewhere", "binding-of-another-version"],
)
def test_command_that_does_not_match_the_pod_was_executed(http: httpx.Client, pod: str, part: str, body: dict[str, Any]) -> None:
    before = http.get(pod).json()
    answer = http.post(f"{pod}/{part}", json=body)
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert http.get(pod).json() == before


def test_eviction_in_an_old_api_version_is_accepted(http: httpx.Client, pod: str) -> None:
    old = {**EVICTION, "apiVersion": "policy/v1beta1"}
    assert http.post(f"{pod}/eviction", json=old, params={"dryRun": "All"}).status_code == 201


@pytest.mark.parametrize(
    ("body", "code", "fields"),
    [
        ({"metadata": {"name": "other"}}, 422, ["metadata.name"]),
        ({"metadata": {"namespace": "elsewhere"}}, 400, []),
        ({"spec": {"boundObjectRef": {"kind": "Foo", "name": "x"}}}, 400, []),
        ({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "example.com/v1", "name": "x"}}}, 400, []),
        ({"metadata": {"name": "s"}}, 201, []),
    ],
    ids=["other", "elsewhere", "kind", "group", "same"],
)
def test_token_for_another_account_or_with_an_invalid_bound_object_was_issued(
    http: httpx.Client, namespace: str, body: dict[str, Any], code: int, fields: list[str]
) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    create_object(http, accounts, "s")
    answer = http.post(f"{accounts}/s/token", json=body)
    assert answer.status_code == code, answer.text
    assert [one["field"] for one in answer.json().get("details", {}).get("causes", ())] == fields
